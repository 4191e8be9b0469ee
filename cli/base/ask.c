#include "cli/base/ask.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/base/form_field.h"
#include "cli/base/tree.h"
#include "cli/base/message.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define ASKED_MAX ((size_t)1 << 18) /* of what is shown for one question */
#define LINE_MAX_BYTES 16384

struct question {
    struct question *next;
    mcplug_input *input;
    char *server;
    bool url;
    bool yes_or_no; /* nothing to fill in: only consent is wanted */
    json_t *params;
    json_t *content;            /* the answers so far */
    struct cli_numbers numbers; /* of both */
    const char *name;    /* of the field that is being asked for */
    const json_t *field; /* its schema */
    void *at;            /* iterator of jansson's over the properties */
};

struct cli_ask {
    struct question *first, **last;
    bool stopped;
    size_t len;
    bool too_long; /* the rest of this line is to be dropped */
    char line[LINE_MAX_BYTES];
};

struct cli_ask *cli_ask_new(void)
{
    struct cli_ask *ask = mp_alloc(sizeof *ask);
    if (ask)
        ask->last = &ask->first;
    return ask;
}

bool cli_ask_waits(const struct cli_ask *ask)
{
    return ask && ask->first && !ask->stopped;
}

/* ---- showing ---- */

/* A prompt stands on a line without an end, so it bypasses what ends lines. */
static void prompt(const char *words)
{
    ssize_t ignored = write(STDERR_FILENO, words, strlen(words));
    (void)ignored;
}

static void show_host(const char *url, struct mp_str *out)
{
    const char *host = strstr(url, "://");
    if (!host)
        return;
    host += 3;
    size_t len = strcspn(host, "/?#");
    for (size_t i = len; i > 0; i--)
        if (host[i - 1] == '@') { /* what stands before it only looks like a host */
            host += i;
            len -= i;
            break;
        }
    mp_str_addf(out, "  Host: %.*s\n", (int)(len < 512 ? len : 512), host);
}

static void show_question(const struct question *q)
{
    struct mp_str out;
    const char *message = json_string_value(json_object_get(q->params, "message"));
    const char *url = json_string_value(json_object_get(q->params, "url"));

    mp_str_init(&out, ASKED_MAX);
    mp_str_addf(&out, "Server \"%s\" asks: %s\n", q->server, message ? message : "");
    if (q->url && url) {
        mp_str_adds(&out, "  It asks you to visit this page yourself:\n");
        mp_str_addf(&out, "  %s\n", url);
        show_host(url, &out);
    } else if (!q->yes_or_no) {
        mp_str_adds(&out, "  (an empty line means the default; !d declines, !c cancels)");
    }
    cli_tell("", out.data, out.len);
    mp_str_clear(&out);
}

static bool is_required(const struct question *q)
{
    const json_t *schema = json_object_get(q->params, "requestedSchema"), *name;
    const json_t *list = json_object_get(schema, "required");
    size_t i;
    json_array_foreach(list, i, name)
    {
        if (json_is_string(name) && strcmp(json_string_value(name), q->name) == 0)
            return true;
    }
    return false;
}

static void show_prompt(struct question *q)
{
    struct mp_str out;
    mp_str_init(&out, ASKED_MAX);
    if (q->yes_or_no) {
        mp_str_adds(&out, q->url ? "  Will you? [y/N] " : "  Agree? [y/N] ");
    } else {
        char *fallback = cli_field_default(q->field, &q->numbers);
        mp_str_adds(&out, "  ");
        mp_str_add_escaped(&out, q->name, strlen(q->name), false);
        if (fallback) {
            mp_str_adds(&out, " [");
            mp_str_add_escaped(&out, fallback, strlen(fallback), false);
            mp_str_adds(&out, "]");
        }
        mp_str_adds(&out, ": ");
        mp_free(fallback);
    }
    if (out.data)
        prompt(out.data);
    mp_str_clear(&out);
}

static void show_field(struct question *q)
{
    struct mp_str out;
    mp_str_init(&out, ASKED_MAX);
    if (!q->yes_or_no) {
        cli_field_describe(q->name, q->field, is_required(q), &out);
        cli_tell("", out.data, out.len);
    }
    mp_str_clear(&out);
    show_prompt(q);
}

/* ---- going on ---- */

static json_t *properties(const struct question *q)
{
    return json_object_get(json_object_get(q->params, "requestedSchema"), "properties");
}

static void look_at(struct question *q)
{
    q->name = q->at ? json_object_iter_key(q->at) : NULL;
    q->field = q->at ? json_object_iter_value(q->at) : NULL;
}

static void question_free(struct question *q)
{
    json_decref(q->params);
    json_decref(q->content);
    cli_numbers_clear(&q->numbers);
    mp_free(q->server);
    mp_free(q);
}

static void begin(struct question *q)
{
    q->at = q->url ? NULL : json_object_iter(properties(q));
    q->yes_or_no = q->at == NULL;
    look_at(q);
    show_question(q);
    show_field(q);
}

/* The first question has its answer; on to the next one. */
static void finish(struct cli_ask *ask, const char *action)
{
    struct question *q = ask->first;
    json_t *answer = json_pack("{s:s}", "action", action);
    if (answer && strcmp(action, "accept") == 0 && !q->url)
        json_object_set(answer, "content", q->content);
    char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    if (!text || mcplug_input_answer(q->input, text) != MCPLUG_OK)
        mcplug_input_refuse(q->input, -32603, "out of memory");
    free(text);
    json_decref(answer);

    ask->first = q->next;
    if (!ask->first)
        ask->last = &ask->first;
    question_free(q);
}

static void finish_and_go_on(struct cli_ask *ask, const char *action)
{
    finish(ask, action);
    if (ask->first)
        begin(ask->first);
}

static void next_field(struct cli_ask *ask)
{
    struct question *q = ask->first;
    q->at = json_object_iter_next(properties(q), q->at);
    look_at(q);
    if (q->at)
        show_field(q);
    else
        finish_and_go_on(ask, "accept");
}

static void take_value(struct cli_ask *ask, const char *line)
{
    struct question *q = ask->first;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *value = NULL;

    if (!*line) {
        value = json_incref(json_object_get(q->field, "default"));
        if (!value && is_required(q)) {
            cli_hint("an answer is required; !d declines, !c cancels");
            show_prompt(q);
            return;
        }
    } else if (cli_field_parse(q->field, line, &q->numbers, &value, &err) != MCPLUG_OK) {
        cli_hint("%s", err.text);
        show_prompt(q);
        return;
    }
    if (value)
        json_object_set_new(q->content, q->name, value);
    next_field(ask);
}

static void take_line(struct cli_ask *ask, const char *line)
{
    struct question *q = ask->first;
    if (!q)
        return;
    if (strcmp(line, "!d") == 0)
        finish_and_go_on(ask, "decline");
    else if (strcmp(line, "!c") == 0)
        finish_and_go_on(ask, "cancel");
    else if (q->yes_or_no)
        finish_and_go_on(ask, *line == 'y' || *line == 'Y' ? "accept" : "decline");
    else
        take_value(ask, line[0] == '!' && line[1] == '!' ? line + 1 : line);
}

/* ---- the edges ---- */

void cli_ask_put(struct cli_ask *ask, mcplug_input *input, const char *params, size_t len,
                 bool url)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct question *q = mp_alloc(sizeof *q);

    if (q) {
        q->input = input;
        q->url = url;
        q->server = mp_strdup(mcplug_server_name(mcplug_input_server(input)));
        q->params = cli_tree(mp_bytes(params, len), &q->numbers, &err);
        q->content = json_object();
    }
    if (!q || !q->server || !q->params || !q->content) {
        mcplug_input_refuse(input, -32602, err.text[0] ? err.text : "out of memory");
        if (q)
            question_free(q);
        return;
    }
    *ask->last = q;
    ask->last = &q->next;
    if (ask->first == q)
        begin(q);
}

static void take_byte(struct cli_ask *ask, char c)
{
    if (c != '\n') {
        ask->too_long |= ask->len + 1 >= sizeof ask->line;
        if (!ask->too_long)
            ask->line[ask->len++] = c;
        return;
    }
    ask->line[ask->len] = '\0';
    bool dropped = ask->too_long;
    ask->len = 0;
    ask->too_long = false;
    if (dropped && ask->first) {
        cli_hint("the line is too long");
        show_prompt(ask->first);
    } else {
        take_line(ask, ask->line);
    }
}

void cli_ask_read(struct cli_ask *ask)
{
    char piece[4096];
    ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        cli_ask_abandon(ask);
        return;
    }
    for (ssize_t i = 0; i < n; i++)
        take_byte(ask, piece[i]);
}

void cli_ask_stop(struct cli_ask *ask)
{
    if (cli_ask_waits(ask)) {
        prompt("\n");
        ask->stopped = true;
    }
}

void cli_ask_abandon(struct cli_ask *ask)
{
    cli_ask_stop(ask);
    while (ask && ask->first)
        finish(ask, "cancel");
    if (ask)
        ask->stopped = false;
}

void cli_ask_free(struct cli_ask *ask)
{
    if (ask)
        cli_ask_abandon(ask);
    mp_free(ask);
}
