#include "cli/base/consent.h"

#include "base/mem.h"
#include "cli/base/by_name.h"
#include "cli/base/message.h"
#include "cli/base/packages.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ROWS 24 /* where the terminal does not say */

bool cli_consent_possible(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

struct cli_consent *cli_consent_new(void)
{
    struct cli_consent *c = mp_alloc(sizeof *c);
    if (c)
        cli_out_init(&c->out, STDERR_FILENO);
    return c;
}

/* ---- what it is about ---- */

void cli_consent_line(struct cli_consent *c, const char *mark, const char *text,
                      size_t len)
{
    for (size_t i = 0; !c->foreign && i < len; i++)
        c->foreign = (unsigned char)text[i] > 0x7f;
    cli_out_quoted(&c->out, mark, text, len);
}

void cli_consent_lines(struct cli_consent *c, const char *mark, const char *text)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        cli_consent_line(c, mark, text, n);
    }
}

char *cli_consent_form(mp_view json)
{
    char *plain = mcplug_json_canonical((const char *)json.data, json.len);
    char *text = plain ? mcplug_json_layout(plain, strlen(plain)) : NULL;
    mcplug_text_free(plain);
    return text;
}

void cli_consent_entry(struct cli_consent *c, mp_view json)
{
    char *text = cli_consent_form(json);
    if (text)
        cli_consent_lines(c, CLI_FILES, text);
    c->is_cut = c->is_cut || !text;
    mcplug_text_free(text);
}

/* ---- what it starts ---- */

static bool is_transport(const char *type)
{
    json_t *packages = cli_packages();
    bool is = packages && cli_package_of(packages, "transport", type);
    json_decref(packages);
    return is;
}

bool cli_consent_is_program(mp_view json)
{
    char type[MCPLUG_TYPE_MAX];

    if (mp_view_get(json, "command").len || mp_view_get(json, "cleanUp").len)
        return true;
    mcplug_json_type((const char *)json.data, json.len, type);
    if (!*type || cli_is_program_type(type))
        return true;
    return mp_view_get(json, "type").len && !is_transport(type);
}

/* give: the variables that alone are passed on, "" for none; NULL: all of them, or who
 * knows: what is no literal is decided later. */
static char *inherited(mp_view json)
{
    char type[MCPLUG_TYPE_MAX];
    mp_view v = mp_view_get(json, "inheritEnv");

    mcplug_json_type((const char *)json.data, json.len, type);
    if (!v.len || !cli_is_program_type(type) || mp_view_true(v))
        return NULL;
    char *list = mp_view_is_string(v) ? mp_view_strdup(v)
                                      : mp_strndup((const char *)v.data, v.len);
    if (list && strcmp(list, "false") == 0)
        *list = '\0';
    if (list && (strcmp(list, "true") == 0 || strpbrk(list, "${[\"*"))) {
        mp_free(list);
        list = NULL;
    }
    return list;
}

void cli_consent_environment(struct cli_consent *c, mp_view json)
{
    char *list = NULL;

    if (!cli_consent_is_program(json))
        return;
    list = inherited(json);
    if (!list)
        cli_out_s(&c->out, "It starts a program on this computer. Like any program that "
                           "you start, it also sees your whole environment.\n");
    else if (!*list)
        cli_out_s(&c->out, "It starts a program on this computer.\n");
    else
        cli_out_s(&c->out, "It starts a program on this computer, which also sees these "
                           "variables of your environment:\n");
    if (list && *list)
        cli_consent_line(c, CLI_FILES, list, strlen(list));
    mp_free(list);
}

/* ---- the question ---- */

void cli_drop_typed(int fd)
{
    tcflush(fd, TCIFLUSH);
}

bool cli_is_yes(const char *line, size_t len)
{
    return (len == 1 && strncasecmp(line, "y", 1) == 0) ||
           (len == 3 && strncasecmp(line, "yes", 3) == 0);
}

/* Reads a line of the terminal: is it consent? */
static bool said_yes(void)
{
    char line[64];
    size_t n = 0;
    for (;;) { /* byte by byte: what comes behind the line is not for us */
        ssize_t got = read(STDIN_FILENO, line + n, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        if (line[n] == '\n')
            break;
        if (n + 1 < sizeof line)
            n++;
    }
    return cli_is_yes(line, n);
}

/* Will something have left the screen when all of it and `more` is shown? */
static bool scrolls(const struct cli_out *out, const char *const *more)
{
    struct winsize size;
    size_t rows = out->rows, width = out->width ? out->width : 1, there = ROWS;

    if (ioctl(out->fd, TIOCGWINSZ, &size) == 0 && size.ws_row)
        there = size.ws_row;
    for (; *more; more++)
        rows += strlen(*more) / width + 1;
    return rows > there;
}

bool cli_consent_show(struct cli_consent *c, const char *question)
{
    static const char scroll[] =
        "That is more than this terminal shows at once: scroll up to see all of it.\n";
    const char *const more[] = {scroll, question, NULL};

    if (c->foreign)
        cli_out_s(&c->out,
                  "It has characters beyond ASCII, which may look like others.\n");
    if (scrolls(&c->out, more))
        cli_out_s(&c->out, scroll);
    cli_out_flush(&c->out); /* what is typed while it is shown is no answer either */
    if (c->is_cut || c->out.failed) {
        cli_error("this is too long to be shown whole, so nothing is asked or changed");
        return false;
    }
    cli_drop_typed(STDIN_FILENO);
    cli_out_s(&c->out, question);
    cli_out_flush(&c->out);
    return !c->out.failed;
}

bool cli_consent_ask(struct cli_consent *c, const char *question)
{
    return cli_consent_show(c, question) && said_yes();
}
