#include "cli/run/run.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/base/key_value.h"
#include "cli/base/message.h"
#include "content/image.h"
#include "plugins/common/base64.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 3000 /* of standard input, before we say that we wait for it */

static int no_memory(void)
{
    cli_error("out of memory");
    return CLI_INTERNAL;
}

/* ---- reading ---- */

/* Whoever forgot that standard input is open would wait for ever without a word. */
static void note_silence(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    if (poll(&p, 1, PATIENCE_MS) == 0)
        cli_note("waiting for standard input; </dev/null says that there is none");
}

int cli_run_read(int fd, const char *name, size_t max, struct mp_str *out)
{
    if (fd == STDIN_FILENO)
        note_silence(fd);
    for (ssize_t n = 1; n != 0;) {
        if (!mp_str_reserve(out, CLI_RUN_STEP))
            return no_memory();
        n = read(fd, out->data + out->len, CLI_RUN_STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            cli_error("cannot read %s: %s", name, strerror(errno));
            return CLI_IO_ERROR;
        }
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (out->len > max) {
            cli_error("%s is too large: at most %zu MiB are read", name, max >> 20);
            return CLI_TOO_BIG;
        }
    }
    return CLI_OK;
}

/* ---- adding ---- */

static int add_item(struct cli_run *run, const struct mcplug_item *item)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (mcplug_thread_add(run->thread, item, &err) == MCPLUG_OK) {
        run->n_said++;
        return CLI_OK;
    }
    cli_error("%s", err.text);
    return err.code == MCPLUG_ETOOBIG ? CLI_TOO_BIG : CLI_INTERNAL;
}

static int add_text(struct cli_run *run, const char *text, size_t len)
{
    struct mcplug_item item = {.struct_size = sizeof item,
                               .kind = MCPLUG_ITEM_TEXT,
                               .text = mp_bytes(text, len)};
    return add_item(run, &item);
}

static int add_data(struct cli_run *run, enum mcplug_item_kind kind, const char *mime,
                    const char *name, const char *data, size_t len)
{
    char *text = mp_alloc(len / 3 * 4 + 5);
    struct mcplug_item item = {
        .struct_size = sizeof item, .kind = kind, .mime = mime, .name = name};

    if (!text)
        return no_memory();
    item.text = mp_bytes(text, base64_encode((const unsigned char *)data, len, text));
    int code = add_item(run, &item);
    mp_free(text);
    return code;
}

/* What is larger than models take is made smaller, as images of tools are. */
static int add_image(struct cli_run *run, const struct mp_image *image, const char *name,
                     const struct mp_str *content)
{
    const struct mcplug_convert_options o = {.struct_size = sizeof o,
                                             .mime = image->mime,
                                             .max_bytes = MP_IMAGE_BYTES,
                                             .max_width = MP_IMAGE_SIDE,
                                             .max_height = MP_IMAGE_SIDE};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const mcplug_converted *smaller = NULL;
    const char *mime = image->mime, *data = content->data;
    size_t len = content->len;

    if (len > MP_IMAGE_BYTES || image->width > MP_IMAGE_SIDE ||
        image->height > MP_IMAGE_SIDE) {
        if (mcplug_convert_wait(run->host, data, len, &o, &smaller, &err) != MCPLUG_OK) {
            cli_error("%s is too large for a model, and cannot be made smaller: %s", name,
                      err.text);
            return CLI_TOO_BIG;
        }
        mime = mcplug_converted_mime(smaller);
        data = mcplug_converted_data(smaller, &len);
    }
    int code = add_data(run, MCPLUG_ITEM_IMAGE, mime, NULL, data, len);
    mcplug_converted_unref(smaller);
    return code;
}

static bool is_text(const struct mp_str *content)
{
    return !memchr(content->data, 0, content->len) && mp_is_utf8(content->data);
}

/* Images and PDF by their bytes, whatever they are called. A text says where it begins
 * and ends, unless it has no name. */
static int add_content(struct cli_run *run, const char *name, bool is_file,
                       const struct mp_str *content)
{
    struct mp_image image = mp_image_look(content->data, content->len);
    const char *slash = strrchr(name, '/');
    struct mp_str text;

    if (image.mime)
        return add_image(run, &image, name, content);
    if (content->len >= 5 && memcmp(content->data, "%PDF-", 5) == 0)
        return add_data(run, MCPLUG_ITEM_DOCUMENT, "application/pdf",
                        !is_file ? NULL
                        : slash  ? slash + 1
                                 : name,
                        content->data, content->len);
    if (!is_text(content)) {
        cli_error(
            "%s is neither an image (PNG, JPEG, GIF, WebP), a PDF nor text in UTF-8",
            name);
        return CLI_BAD_ARGUMENTS;
    }
    if (!is_file)
        return add_text(run, content->data, content->len);
    mp_str_init(&text, CLI_RUN_FILE_MAX + ((size_t)1 << 17));
    mp_str_addf(&text, "File %s:\n", name);
    mp_str_add(&text, content->data, content->len);
    mp_str_addf(&text, "%sEnd of %s.",
                content->len && content->data[content->len - 1] == '\n' ? "" : "\n",
                name);
    int code = text.failed ? no_memory() : add_text(run, text.data, text.len);
    mp_str_clear(&text);
    return code;
}

/* ---- its parts ---- */

/* Who talks to us waits, and cannot stop a read: a pipe or a device may never end. */
static bool may_hang(const struct cli_run *run, int fd)
{
    struct stat st;
    return run->talk && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode));
}

static int add_file(struct cli_run *run, const char *path)
{
    struct mp_str content;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (run->talk ? O_NONBLOCK : 0));

    if (fd >= 0 && may_hang(run, fd)) {
        cli_error("%s is not a regular file", path);
        close(fd);
        return CLI_IO_ERROR;
    }
    if (fd < 0) {
        cli_error("cannot open %s: %s", path, strerror(errno));
        cli_hint("A word that begins with @ names a file; @@ stands for an @.");
        return CLI_IO_ERROR;
    }
    mp_str_init(&content, CLI_RUN_FILE_MAX + 2 * CLI_RUN_STEP);
    mp_str_adds(&content, "");
    int code = cli_run_read(fd, path, CLI_RUN_FILE_MAX, &content);
    if (code == CLI_OK)
        code = add_content(run, path, true, &content);
    close(fd);
    mp_str_clear(&content);
    return code;
}

static int add_stdin(struct cli_run *run, bool *any)
{
    struct mp_str content;

    if (isatty(STDIN_FILENO))
        return CLI_OK;
    mp_str_init(&content, CLI_RUN_FILE_MAX + 2 * CLI_RUN_STEP);
    mp_str_adds(&content, "");
    int code = cli_run_read(STDIN_FILENO, "standard input", CLI_RUN_FILE_MAX, &content);
    *any = code == CLI_OK && content.len > 0;
    if (*any)
        code = add_content(run, "standard input", false, &content);
    mp_str_clear(&content);
    return code;
}

/* take what is in `text`, which is used again */
static int end_text(struct cli_run *run, struct mp_str *text)
{
    int code = text->failed ? no_memory() : CLI_OK;

    if (code == CLI_OK && text->len && !mp_is_utf8(text->data)) {
        cli_error("the prompt is not text in UTF-8");
        code = CLI_USAGE;
    }
    if (code == CLI_OK && text->len)
        code = add_text(run, text->data, text->len);
    mp_str_reset(text);
    return code;
}

/* Words that follow each other are one text. */
static int add_words(struct cli_run *run)
{
    const struct cli_list *words = &run->cli->args.words;
    struct mp_str text;
    int code = CLI_OK;

    mp_str_init(&text, CLI_RUN_FILE_MAX);
    for (size_t i = 0; code == CLI_OK && i < words->n; i++) {
        const char *word = words->items[i];
        bool is_file = word[0] == '@' && word[1] && word[1] != '@';
        if (is_file) {
            code = end_text(run, &text);
            if (code == CLI_OK)
                code = add_file(run, word + 1);
            continue;
        }
        mp_str_adds(&text, text.len ? " " : "");
        mp_str_adds(&text, word + (word[0] == '@' && word[1] == '@'));
    }
    if (code == CLI_OK)
        code = end_text(run, &text);
    mp_str_clear(&text);
    return code;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* give: the name of the file at `*at`, which is moved behind it */
static char *file_name(const char **at)
{
    struct mp_str name;
    const char *p = *at;

    mp_str_init(&name, CLI_RUN_STEP);
    for (; *p && !is_blank(*p); p++) {
        p += p[0] == '\\' && p[1];
        mp_str_addc(&name, *p);
    }
    *at = p;
    return mp_str_take(&name);
}

/* What stands between two files, without the blanks around it. */
static int add_between(struct cli_run *run, const char *from, const char *to)
{
    struct mp_str text;
    bool is_begin = true; /* of a word */

    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    mp_str_init(&text, CLI_RUN_FILE_MAX);
    for (; from < to; from++) {
        from += is_begin && from[0] == '@' && from + 1 < to && from[1] == '@';
        mp_str_addc(&text, *from);
        is_begin = is_blank(*from);
    }
    int code = end_text(run, &text);
    mp_str_clear(&text);
    return code;
}

int cli_run_say(struct cli_run *run, const char *line)
{
    const char *from = line, *at = line;
    int code = CLI_OK;

    run->n_said = 0;
    while (code == CLI_OK && *at) {
        bool is_file = at[0] == '@' && (at == line || is_blank(at[-1])) && at[1] &&
                       at[1] != '@' && !is_blank(at[1]);
        if (!is_file) {
            at++;
            continue;
        }
        code = add_between(run, from, at++);
        char *name = code == CLI_OK ? file_name(&at) : NULL;
        if (code == CLI_OK)
            code = name ? add_file(run, name) : no_memory();
        mp_free(name);
        from = at;
    }
    return code == CLI_OK ? add_between(run, from, at) : code;
}

static int read_system(struct cli_run *run)
{
    const char *system = run->cli->args.system;
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!system)
        return CLI_OK;
    run->system = system[0] == '@' ? cli_read_value(system, &err) : mp_strdup(system);
    if (run->system && mp_is_utf8(run->system))
        return CLI_OK;
    cli_error("--system: %s", run->system   ? "the text is not UTF-8"
                              : err.text[0] ? err.text
                                            : "out of memory");
    return err.code == MCPLUG_EIO ? CLI_IO_ERROR : CLI_USAGE;
}

int cli_run_read_prompt(struct cli_run *run)
{
    const struct cli_args *args = &run->cli->args;
    bool any = false;
    int code = read_system(run);

    if (code == CLI_OK && args->resume)
        code = cli_run_resume(run, args->resume);
    else if (code == CLI_OK && !(run->thread = mcplug_thread_new()))
        code = no_memory();
    if (code == CLI_OK)
        code = add_stdin(run, &any);
    if (code == CLI_OK)
        code = add_words(run);
    if (code != CLI_OK || any || args->words.n || args->resume || run->talk)
        return code;
    cli_error("no prompt given");
    if (args->json && isatty(STDIN_FILENO))
        cli_hint("Write it behind the options: with --json there is no conversation.");
    else
        cli_hint("Write it behind the options, or pass it on standard input.");
    return CLI_USAGE;
}
