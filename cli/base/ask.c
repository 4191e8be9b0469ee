#include "cli/base/ask.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/base/by_name.h"
#include "cli/base/form_field.h"
#include "cli/base/message.h"
#include "cli/base/out.h"
#include "cli/base/tree.h"
#include "plugins/common/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ASKED_MAX ((size_t)1 << 16) /* of what is shown at once, as of cli_tell() */
#define LINE_MAX_BYTES 16384

struct question {
    struct question *next;
    mcplug_input *input;
    int fd; /* of the terminal */
    char *server;
    bool url;
    struct url page;                /* where that leads */
    enum { FIELDS, CONSENT } stage; /* what is being asked for */
    json_t *params;
    json_t *content;            /* the answers so far */
    struct cli_numbers numbers; /* of both */
    const char *name;    /* of the field that is being asked for; NULL: there is none */
    const json_t *field; /* its schema */
    bool has_default;    /* which was shown */
    void *at;            /* iterator of jansson's over the properties */
};

struct cli_ask {
    struct question *first, **last;
    int fd;
    bool stopped, held;
    size_t len;
    bool too_long; /* the rest of this line is to be dropped */
    char line[LINE_MAX_BYTES];
};

struct cli_ask *cli_ask_new(int fd)
{
    struct cli_ask *ask = mp_alloc(sizeof *ask);
    if (ask) {
        ask->last = &ask->first;
        ask->fd = fd;
    }
    return ask;
}

bool cli_ask_waits(const struct cli_ask *ask)
{
    return ask && ask->first && !ask->stopped && !ask->held;
}

/* ---- showing ---- */

/* What a question says is the server's, and so are the names, titles, choices and
 * defaults of its fields: all of it is quoted, line by line. Our own lines have none of
 * its words. A prompt names the server, whatever has scrolled away above it. */

static void quote(struct mp_str *out, const char *text, size_t len)
{
    cli_quote(out, CLI_SERVERS, text, len, cli_width(STDERR_FILENO));
}

static void quote_member(struct mp_str *out, const struct question *q, const char *name)
{
    const json_t *value = json_object_get(q->params, name);
    if (json_is_string(value))
        quote(out, json_string_value(value), json_string_length(value));
}

/* Other messages are held back while a question waits, so this bypasses them. */
static void put(const char *words)
{
    size_t left = strlen(words);
    while (left) {
        ssize_t n = write(STDERR_FILENO, words, left);
        if (n < 0 && errno != EINTR)
            return;
        words += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
}

/* Whole, or not at all: nobody answers what they did not see. take `out` */
static bool tell(struct mp_str *out)
{
    bool whole = !out->failed;
    if (whole && out->len)
        put(out->data);
    mp_str_clear(out);
    return whole;
}

static bool show_question(const struct question *q)
{
    struct mp_str out;
    char site[URL_HOST_MAX + 32];

    mp_str_init(&out, ASKED_MAX);
    mp_str_adds(&out, "Server \"");
    mp_str_add_escaped(&out, q->server, strlen(q->server), false);
    mp_str_adds(&out, "\" asks:\n");
    quote_member(&out, q, "message");
    if (q->url) {
        mp_str_adds(&out, "It asks you to visit this page yourself:\n");
        quote_member(&out, q, "url");
        mp_str_adds(&out, "The page belongs to:\n");
        url_origin(&q->page, site, sizeof site);
        quote(&out, site, strlen(site));
    }
    return tell(&out);
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

static void show_prompt(const struct question *q)
{
    struct mp_str out;

    mp_str_init(&out, ASKED_MAX);
    if (q->stage == CONSENT && q->url)
        mp_str_adds(&out, "Tell server \"");
    else if (q->stage == CONSENT)
        mp_str_adds(&out, q->name ? "Send these answers to server \""
                                  : "Answer yes to server \"");
    else
        mp_str_adds(&out, "Your answer to server \"");
    mp_str_add_escaped(&out, q->server, strlen(q->server), false);
    if (q->stage == CONSENT)
        mp_str_adds(&out, q->url ? "\" that you will visit it? [y/N] " : "\"? [y/N] ");
    else if (q->has_default)
        mp_str_adds(&out, "\" (empty: its default; !d declines, !c cancels): ");
    else
        mp_str_adds(&out, is_required(q) ? "\" (!d declines, !c cancels): "
                                         : "\" (empty: none; !d declines, !c cancels): ");
    cli_drop_typed(q->fd);
    put(out.data ? out.data : "");
    mp_str_clear(&out);
}

/* What is wrong with what was typed; then the prompt again. */
static void ask_again(const struct question *q, const char *why)
{
    struct mp_str out;

    mp_str_init(&out, ASKED_MAX);
    cli_quote_line(&out, "        ", "          ", why, strlen(why),
                   cli_width(STDERR_FILENO));
    tell(&out);
    show_prompt(q);
}

static const char secret_text[] =
    "The MCP specification forbids servers to ask for passwords and other secrets in a "
    "form. !d declines.";

static bool show_field(struct question *q)
{
    char *fallback = cli_field_default(q->field, &q->numbers);
    struct mp_str text, out;

    mp_str_init(&text, ASKED_MAX);
    mp_str_init(&out, ASKED_MAX);
    cli_field_describe(q->name, q->field, is_required(q), &text);
    q->has_default = fallback;
    if (fallback)
        mp_str_addf(&text, "  default: %s\n", fallback);
    quote(&out, text.data ? text.data : "", text.len);
    if (cli_field_is_secret(q->name, q->field))
        cli_quote_line(&out, "", "", secret_text, sizeof secret_text - 1,
                       cli_width(STDERR_FILENO));
    out.failed = out.failed || text.failed;
    mp_free(fallback);
    mp_str_clear(&text);
    return tell(&out);
}

/* All that would be sent, also what a default gave. */
static bool show_answers(struct question *q)
{
    struct mp_str out;
    const char *name;
    json_t *value;

    mp_str_init(&out, ASKED_MAX);
    mp_str_adds(&out, json_object_size(q->content) ? "These are the answers:\n"
                                                   : "No field has an answer.\n");
    json_object_foreach(q->content, name, value)
    {
        char *text = cli_tree_text(value, &q->numbers);
        struct mp_str line;

        mp_str_init(&line, ASKED_MAX);
        mp_str_addf(&line, "%s = %s", name, text ? text : "");
        cli_quote_line(&out, CLI_SERVERS, CLI_SERVERS, line.data ? line.data : "",
                       line.len, cli_width(STDERR_FILENO));
        out.failed = out.failed || line.failed || !text;
        mp_str_clear(&line);
        mp_free(text);
    }
    return tell(&out);
}

/* ---- going on ---- */

static json_t *properties(const struct question *q)
{
    return json_object_get(json_object_get(q->params, "requestedSchema"), "properties");
}

static void question_free(struct question *q)
{
    json_decref(q->params);
    json_decref(q->content);
    cli_numbers_clear(&q->numbers);
    mp_free(q->server);
    mp_free(q);
}

/* The first question is done with, in whatever way. */
static void drop_first(struct cli_ask *ask)
{
    struct question *q = ask->first;
    ask->first = q->next;
    if (!ask->first)
        ask->last = &ask->first;
    question_free(q);
    cli_hold(false);
}

/* The server is told, and so is the user: else the call fails for no reason to be seen.
 */
static void refuse(struct cli_ask *ask, const char *why)
{
    struct question *q = ask->first;
    cli_note("a question of server \"%s\" was refused: %s", q->server, why);
    mcplug_input_refuse(q->input, -32602, why);
    drop_first(ask);
}

/* Shows the next field, or asks whether what was typed is to be sent. */
static bool show_next(struct question *q)
{
    if (q->at) {
        q->name = json_object_iter_key(q->at);
        q->field = json_object_iter_value(q->at);
    } else {
        q->stage = CONSENT;
    }
    bool whole = q->stage == FIELDS ? show_field(q) : !q->name || show_answers(q);
    if (whole)
        show_prompt(q);
    return whole;
}

/* Why the user is not asked at all; NULL: they are. */
static const char *check(struct question *q, char *why, size_t size)
{
    const json_t *value = json_object_get(q->params, "url");
    const char *url = json_string_value(value);
    const char *wrong = q->url ? url_parse(url, &q->page) : NULL;

    if (q->url && !wrong && strlen(url) != json_string_length(value))
        wrong = "has a NUL character";
    if (q->url && !wrong && q->page.scheme[0] != 'h')
        wrong = "does not begin with http:// or https://";
    if (!wrong)
        return NULL;
    snprintf(why, size, "the address of the page %s", wrong);
    return why;
}

static const char too_long[] = "it is longer than what is shown at once";

/* Asks the first question, or the first of them that can be asked. */
static void begin(struct cli_ask *ask)
{
    char text[256];

    ask->len = 0;
    ask->too_long = false;
    while (ask->first) {
        struct question *q = ask->first;
        cli_hold(true);
        const char *why = check(q, text, sizeof text);
        q->at = q->url ? NULL : json_object_iter(properties(q));
        if (!why && show_question(q) && show_next(q))
            return;
        refuse(ask, why ? why : too_long);
    }
}

/* The first question has its answer. */
static void finish(struct cli_ask *ask, const char *action)
{
    struct question *q = ask->first;
    bool accepted = strcmp(action, "accept") == 0;
    json_t *answer = json_pack("{s:s}", "action", action);
    if (answer && accepted && !q->url)
        json_object_set(answer, "content", q->content);
    char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    if (!text || mcplug_input_answer(q->input, text) != MCPLUG_OK)
        mcplug_input_refuse(q->input, -32603, "out of memory");
    free(text);
    json_decref(answer);
    if (accepted && q->url) {
        struct mp_str out;
        mp_str_init(&out, ASKED_MAX);
        mp_str_adds(&out, "The page, which you open yourself:\n");
        quote_member(&out, q, "url");
        tell(&out);
    }
    drop_first(ask);
}

static void finish_and_go_on(struct cli_ask *ask, const char *action)
{
    finish(ask, action);
    begin(ask);
}

static void next_field(struct cli_ask *ask)
{
    struct question *q = ask->first;
    q->at = json_object_iter_next(properties(q), q->at);
    if (!show_next(q)) {
        refuse(ask, too_long);
        begin(ask);
    }
}

static void take_value(struct cli_ask *ask, const char *line)
{
    struct question *q = ask->first;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *value = NULL;

    if (!*line) {
        value = q->has_default ? json_incref(json_object_get(q->field, "default")) : NULL;
        if (!value && is_required(q)) {
            ask_again(q, "an answer is required; !d declines, !c cancels");
            return;
        }
    } else if (cli_field_parse(q->field, line, &q->numbers, &value, &err) != MCPLUG_OK) {
        ask_again(q, err.text);
        return;
    }
    if (value)
        json_object_set_new(q->content, q->name, value);
    next_field(ask);
}

static void take_line(struct cli_ask *ask, const char *line, size_t len)
{
    struct question *q = ask->first;
    if (!q)
        return;
    if (strcmp(line, "!d") == 0)
        finish_and_go_on(ask, "decline");
    else if (strcmp(line, "!c") == 0)
        finish_and_go_on(ask, "cancel");
    else if (q->stage == CONSENT)
        finish_and_go_on(ask, cli_is_yes(line, len) ? "accept" : "decline");
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
        q->fd = ask->fd;
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
    if (ask->first == q && !ask->held)
        begin(ask);
}

void cli_ask_hold(struct cli_ask *ask, bool hold)
{
    bool begins = ask && ask->held && !hold;

    if (ask)
        ask->held = hold;
    if (begins)
        begin(ask);
}

/* Returns whether it ended a line. */
static bool take_byte(struct cli_ask *ask, char c)
{
    if (c != '\n') {
        ask->too_long |= ask->len + 1 >= sizeof ask->line;
        if (!ask->too_long)
            ask->line[ask->len++] = c;
        return false;
    }
    size_t len = ask->len;
    ask->line[len] = '\0';
    bool dropped = ask->too_long;
    ask->len = 0;
    ask->too_long = false;
    if (dropped && ask->first) {
        ask_again(ask->first, "the line is too long");
    } else {
        take_line(ask, ask->line, len);
    }
    return true;
}

void cli_ask_read(struct cli_ask *ask)
{
    char piece[4096];
    bool ended = false;
    ssize_t n = read(ask->fd, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        cli_ask_abandon(ask);
        return;
    }
    /* What a terminal gives behind the line was typed before the next question. */
    for (ssize_t i = 0; i < n && !ended; i++)
        ended = take_byte(ask, piece[i]);
}

void cli_ask_stop(struct cli_ask *ask)
{
    if (cli_ask_waits(ask)) {
        put("\n");
        cli_hold(false);
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
