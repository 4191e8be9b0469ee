#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/skip.h"

#include <strings.h>

/* Arguments of a tool call that a transport sends beside the request, as headers.
 * Which ones, the server says in the schema of the tool: x-mcp-header. */

enum {
    HEADER_MISMATCH = -32020,
    NAME_LENGTH_MAX = 256,
    PATH_LENGTH_MAX = 4096,
    TABLE_MAX = 4 * 1024 * 1024, /* of all tools of a server */
    VALUES_MAX = 1024 * 1024,    /* of one call */
    WARNINGS_MAX = 100           /* of one list; the rest is only counted */
};

/* A tool with headers. `text` is C strings, one behind the other: for each header
 * "param:NAME" and the path to its argument, a JSON array of names as they are written in
 * the schema; at last the name of the tool. */
struct tool {
    struct tool *next;
    char *text;
    const char *name;
    unsigned n_headers;
};

struct mp_mirror {
    struct tool *first, **last;
    size_t bytes; /* of all texts */
    size_t dropped;
};

bool mp_mirror_wanted(const struct mp_session *s)
{
    const struct mcplug_transport_ops *ops = s->wire.transport->feature.ops;
    return s->era == MP_ERA_MODERN && (ops->caps & MCPLUG_MIRRORS_PARAMS);
}

/* ---- looking through a schema ---- */

/* Where a value of a schema stands. */
enum place {
    REACHED,   /* a schema to which `properties` alone lead */
    ELSEWHERE, /* a schema on another way */
    DATA       /* no schema: its members mean nothing to us */
};

/* The way to it, from its end. */
struct step {
    const struct step *up;
    mp_view key;
};

struct look {
    const unsigned char *end;
    struct mp_str *out; /* "param:NAME" and path of each header */
    unsigned n;
    struct mcplug_error *err;
    int r;
};

static size_t path_len(const struct step *at)
{
    size_t len = 2;
    for (; at; at = at->up)
        len += at->key.len + 1;
    return len;
}

static void add_steps(struct mp_str *s, const struct step *at)
{
    if (!at)
        return;
    add_steps(s, at->up);
    if (at->up)
        mp_str_addc(s, ',');
    mp_str_add(s, at->key.data, at->key.len);
}

/* RFC 9110: 1*tchar */
static bool is_token(const char *text, size_t len)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
              memchr(marks, c, sizeof marks - 1)))
            return false;
    }
    return len > 0;
}

static const char *behind(const char *text)
{
    return text + strlen(text) + 1;
}

/* What is wrong with a header of that name and type; NULL: nothing. */
static const char *fault_of(const struct look *l, mp_view header, const char *name,
                            size_t len, mp_view type)
{
    const char *known = l->out->data;

    if (!mp_view_is_string(header))
        return "is not a string";
    if (len == 0)
        return "is empty";
    if (len > NAME_LENGTH_MAX)
        return "is longer than 256 bytes";
    if (!is_token(name, len))
        return "is not a valid header name";
    if (!mp_view_equals(type, "string") && !mp_view_equals(type, "integer") &&
        !mp_view_equals(type, "boolean"))
        return "is on a property whose type is not string, integer or boolean";
    for (unsigned i = 0; i < l->n; i++, known = behind(behind(known)))
        if (strcasecmp(known + sizeof MP_PARAM - 1, name) == 0)
            return "is a name that another property has";
    if (l->n == MP_HEADERS_MAX)
        return "is one of more than 64";
    return NULL;
}

static void refuse(struct look *l, const struct step *at, const char *fault)
{
    struct mp_str path;

    mp_str_init(&path, PATH_LENGTH_MAX);
    if (path_len(at) < PATH_LENGTH_MAX)
        add_steps(&path, at);
    l->r = mp_fail(l->err, MCPLUG_EPROTO, "x-mcp-header%s%.200s %s",
                   path.len ? " at " : "", path.len ? path.data : "", fault);
    mp_str_clear(&path);
}

static void on_header(struct look *l, enum place where, const struct step *at,
                      mp_view header, mp_view type)
{
    struct mp_str name;

    if (where != REACHED || !at) {
        refuse(l, at, "is not reached by \"properties\" alone");
        return;
    }
    if (path_len(at) >= PATH_LENGTH_MAX) {
        refuse(l, NULL, "is below names longer than 4096 bytes");
        return;
    }
    mp_str_init(&name, header.len + 1);
    if (mp_view_is_string(header))
        mp_str_add_view(&name, header);
    const char *fault = fault_of(l, header, name.data, name.len, type);
    if (name.failed) {
        l->r = mp_fail_nomem(l->err);
    } else if (fault) {
        refuse(l, at, fault);
    } else {
        mp_str_adds(l->out, MP_PARAM);
        mp_str_add(l->out, name.data, name.len + 1);
        mp_str_addc(l->out, '[');
        add_steps(l->out, at);
        mp_str_add(l->out, "]", 2);
        l->n++;
        if (l->out->failed)
            l->r = mp_fail_nomem(l->err);
    }
    mp_str_clear(&name);
}

enum keyword { SCHEMA, HEADER, TYPE, PROPERTIES, NAMES, PLAIN };

static enum keyword keyword_of(mp_view key)
{
    static const struct {
        const char *name;
        enum keyword is;
    } words[] = {
        {"x-mcp-header", HEADER},
        {"type", TYPE},
        {"properties", PROPERTIES},
        {"patternProperties", NAMES},
        {"$defs", NAMES},
        {"definitions", NAMES},
        {"dependentSchemas", NAMES},
        {"dependencies", NAMES},
        {"const", PLAIN},
        {"enum", PLAIN},
        {"default", PLAIN},
        {"examples", PLAIN},
    };
    for (size_t i = 0; i < MP_COUNT(words); i++)
        if (mp_view_equals(key, words[i].name))
            return words[i].is;
    return SCHEMA; /* or nothing of the kind: what is in it decides */
}

/* To the next value of the object that `*p` is in; false when it is over, with `*p`
 * behind it. Each byte is looked at once, however deep it lies: the walk of walk.h would
 * skip a value before it goes into it, again on each level. */
static bool next_member(const struct look *l, const unsigned char **p, mp_view *key)
{
    const unsigned char *q = mp_skip_space(*p, l->end);

    if (q < l->end && *q == ',')
        q = mp_skip_space(q + 1, l->end);
    if (l->r != MCPLUG_OK || q == l->end || *q != '"') {
        *p = l->r != MCPLUG_OK || q == l->end ? l->end : q + 1;
        return false;
    }
    const unsigned char *over = mp_skip_string(q, l->end);
    *key = mp_bytes(q, (size_t)(over - q));
    q = mp_skip_space(over, l->end);
    if (q < l->end && *q == ':')
        q = mp_skip_space(q + 1, l->end);
    *p = q;
    return q < l->end;
}

/* These three call each other, as deep as the scan let the text be: 64. */
static const unsigned char *pass_value(struct look *l, const unsigned char *p,
                                       enum place where, const struct step *at);

/* An object whose keys are names, and whose values stand at `where`. */
static const unsigned char *pass_names(struct look *l, const unsigned char *p,
                                       enum place where, const struct step *at)
{
    struct step step = {.up = at};

    p++;
    while (next_member(l, &p, &step.key))
        p = pass_value(l, p, where, &step);
    return p;
}

static const unsigned char *pass_schema(struct look *l, const unsigned char *p,
                                        enum place where, const struct step *at)
{
    mp_view header = mp_bytes(NULL, 0), type = header;
    struct step step = {.up = at};

    p++;
    while (next_member(l, &p, &step.key)) {
        enum keyword is = keyword_of(step.key);
        const unsigned char *from = p;
        if (is == PROPERTIES && *p == '{')
            p = pass_names(l, p, where, where == REACHED ? at : &step);
        else if (is == NAMES && *p == '{')
            p = pass_names(l, p, ELSEWHERE, &step);
        else if (is == HEADER || is == TYPE || is == PLAIN)
            p = pass_value(l, p, DATA, &step);
        else
            p = pass_value(l, p, ELSEWHERE, &step);
        if (is == HEADER)
            header = mp_bytes(from, (size_t)(p - from));
        else if (is == TYPE)
            type = mp_bytes(from, (size_t)(p - from));
    }
    if (header.len && l->r == MCPLUG_OK)
        on_header(l, where, at, header, type);
    return p;
}

static const unsigned char *pass_value(struct look *l, const unsigned char *p,
                                       enum place where, const struct step *at)
{
    if (l->r != MCPLUG_OK)
        return l->end;
    if (*p == '{')
        return where == DATA ? pass_names(l, p, DATA, at) : pass_schema(l, p, where, at);
    if (*p == '[') {
        for (p = mp_skip_space(p + 1, l->end); p < l->end && *p != ']';) {
            p = *p == ',' ? p + 1
                          : pass_value(l, p, where == DATA ? DATA : ELSEWHERE, at);
            p = mp_skip_space(p, l->end);
        }
        return p < l->end ? p + 1 : p;
    }
    if (*p == '"')
        return mp_skip_string(p, l->end);
    for (p++; p < l->end && *p != ',' && *p != ']' && *p != '}' && !mp_is_space(*p);)
        p++;
    return p;
}

/* ---- the tools of a server ---- */

struct mp_mirror *mp_mirror_new(void)
{
    struct mp_mirror *m = mp_alloc(sizeof *m);
    if (m)
        m->last = &m->first;
    return m;
}

void mp_mirror_free(struct mp_mirror *m)
{
    while (m && m->first) {
        struct tool *tool = m->first;
        m->first = tool->next;
        mp_free(tool->text);
        mp_free(tool);
    }
    mp_free(m);
}

static int add_tool(struct mp_mirror *m, const char *name, struct mp_str *found,
                    unsigned n, struct mcplug_error *err)
{
    size_t at = found->len, len = at + strlen(name) + 1;

    if (len > TABLE_MAX - m->bytes)
        return mp_fail(err, MCPLUG_EPROTO,
                       "x-mcp-header in all tools takes more than 4 MiB");
    mp_str_adds(found, name);
    char *text = mp_str_take(found);
    struct tool *tool = text ? mp_alloc(sizeof *tool) : NULL;
    if (!tool) {
        mp_free(text);
        return mp_fail_nomem(err);
    }
    *tool = (struct tool){NULL, text, text + at, n};
    *m->last = tool;
    m->last = &tool->next;
    m->bytes += len;
    return MCPLUG_OK;
}

/* Could there be a header in it? Most tools have none, and need not be taken apart. The
 * name may be written with escapes, of which \u alone yields letters and hyphens. */
static bool mentions_header(mp_view tool)
{
    static const char name[] = "x-mcp-header";
    const unsigned char *p = tool.data, *end = p + tool.len;

    while (p < end && (p = memchr(p, '\\', (size_t)(end - p)))) {
        if (p + 1 < end && p[1] == 'u')
            return true;
        p += 2;
    }
    return memmem(tool.data, tool.len, name, sizeof name - 1);
}

int mp_mirror_note(struct mp_session *s, struct mp_mirror *table, const char *name,
                   mp_view tool, bool *valid, struct mcplug_error *err)
{
    if (!mentions_header(tool)) {
        *valid = true;
        return MCPLUG_OK;
    }
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mp_view schema = mp_view_get(tool, "inputSchema");
    struct mp_str found;
    struct look l = {schema.data + schema.len, &found, 0, &why, MCPLUG_OK};

    mp_str_init(&found, 2 * TABLE_MAX);
    if (mp_view_is_object(schema))
        pass_schema(&l, schema.data, REACHED, NULL);
    if (l.r == MCPLUG_OK && l.n)
        l.r = add_tool(table, name, &found, l.n, &why);
    mp_str_clear(&found);
    if (l.r == MCPLUG_ENOMEM)
        return mp_fail_nomem(err);
    if (l.r != MCPLUG_OK && table->dropped++ < WARNINGS_MAX)
        mp_log(s->cfg.log, MCPLUG_LOG_WARN, s->source, "tool \"%.200s\" ignored: %s",
               name, why.text);
    *valid = l.r == MCPLUG_OK;
    return MCPLUG_OK;
}

void mp_mirror_adopt(struct mp_session *s, struct mp_mirror *table)
{
    if (!table)
        return;
    if (table->dropped > WARNINGS_MAX)
        mp_log(s->cfg.log, MCPLUG_LOG_WARN, s->source,
               "ignored %zu more tools because of their x-mcp-header",
               table->dropped - WARNINGS_MAX);
    mp_mirror_free(s->lists.mirror);
    s->lists.mirror = table;
}

/* ---- the values of a call ---- */

/* `name` has quotes. */
static mp_view member_in(struct mp_walk w, mp_view name)
{
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value))
        if (mp_view_same(key, name))
            return value;
    return mp_bytes(NULL, 0);
}

static mp_view member_of(mp_view members, const char *name_in_quotes)
{
    struct mp_walk w = {members.data, members.data + members.len};
    return member_in(w, mp_text(name_in_quotes));
}

/* Adds the value as a C string. False when it is not one that is sent, or has a NUL. */
static bool add_value(struct mp_str *s, mp_view v)
{
    size_t at = s->len;

    if (!v.len || mp_view_is_null(v) || mp_view_is_object(v) || mp_view_is_array(v))
        return false;
    if (mp_view_is_string(v))
        mp_str_add_view(s, v);
    else
        mp_str_add(s, v.data, v.len);
    if (s->failed)
        return false;
    if (memchr(s->data + at, '\0', s->len - at)) {
        s->len = at;
        return false;
    }
    return mp_str_addc(s, '\0');
}

static bool is_tool_call(const struct mp_request *call)
{
    return call->tool || strcmp(call->method, "tools/call") == 0;
}

int mp_mirror_pairs(const struct mp_request *call, const char *name,
                    struct mp_str *values, struct mcplug_pair *pairs, size_t *n,
                    struct mcplug_error *err)
{
    const struct mp_mirror *m = call->session->lists.mirror;
    const struct tool *tool = m && name && is_tool_call(call) ? m->first : NULL;
    size_t count = 0;

    mp_str_init(values, VALUES_MAX + MP_HEADERS_MAX + 1);
    *n = 0;
    while (tool && strcmp(tool->name, name) != 0)
        tool = tool->next;
    if (!tool)
        return MCPLUG_OK;
    mp_view arguments =
        member_of(mp_bytes(call->members, call->members_len), "\"arguments\"");
    const char *header = tool->text;
    for (unsigned i = 0; i < tool->n_headers; i++, header = behind(behind(header))) {
        struct mp_walk steps = mp_walk_into(mp_text(behind(header)));
        mp_view step, v = arguments;
        while (mp_walk_element(&steps, &step)) {
            struct mcplug_error twice = MCPLUG_ERROR_INIT;
            int r = mp_view_unique(v, &twice); /* a header has one of them only */
            if (r != MCPLUG_OK)
                return mp_fail(err, r == MCPLUG_EPROTO ? MCPLUG_EINVAL : r,
                               "arguments: %s", twice.text);
            v = mp_view_is_object(v) ? member_in(mp_walk_into(v), step)
                                     : mp_bytes(NULL, 0);
        }
        size_t at = values->len;
        if (at + v.len > VALUES_MAX && !mp_view_is_object(v) && !mp_view_is_array(v))
            return mp_fail(
                err, MCPLUG_ETOOBIG,
                "the arguments that tool '%.200s' takes as headers are longer than 1 MiB",
                name);
        if (add_value(values, v)) /* the text still moves: offsets for now */
            pairs[count++] = (struct mcplug_pair){header, (const char *)at};
        if (values->failed)
            return mp_fail_nomem(err);
    }
    for (size_t i = 0; i < count; i++)
        pairs[i].value = values->data + (size_t)pairs[i].value;
    *n = count;
    return MCPLUG_OK;
}

int mp_mirror_name(const char *method, mp_view members, char **out,
                   struct mcplug_error *err)
{
    static const char *const sources[][2] = {
        {"tools/call", "\"name\""},     {"prompts/get", "\"name\""},
        {"resources/read", "\"uri\""},  {"tasks/get", "\"taskId\""},
        {"tasks/update", "\"taskId\""}, {"tasks/cancel", "\"taskId\""},
    };
    mp_view v = mp_bytes(NULL, 0);
    struct mp_str name;

    for (size_t i = 0; i < MP_COUNT(sources) && !v.len; i++)
        if (strcmp(method, sources[i][0]) == 0)
            v = member_of(members, sources[i][1]);
    if (!mp_view_is_string(v))
        return MCPLUG_OK;
    mp_str_init(&name, v.len + 1);
    bool whole = add_value(&name, v), failed = name.failed;
    char *text = whole ? mp_str_take(&name) : NULL;
    mp_str_clear(&name);
    if (failed || (whole && !text))
        return mp_fail_nomem(err);
    *out = text;
    return MCPLUG_OK;
}

/* ---- a refusal ---- */

/* A call that was refused for its headers and waits for the tools as they are now. */
struct mp_again {
    struct mp_request *call; /* NULL: it has ended meanwhile */
    mp_message *reply;       /* the refusal */
    struct mcplug_error why;
};

static void on_tools(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    struct mp_again *a = arg;
    struct mp_request *call = a->call;
    (void)list;

    if (call)
        call->again = NULL;
    if (call && !call->cancel_job.queued) { /* a cancelled one waits for its end */
        mp_timer_stop(call->session->cfg.loop, &call->patience);
        if (why)
            mp_request_finish(call, a->reply, &a->why);
        else
            mp_request_answered(call);
    }
    mp_message_unref(a->reply);
    mp_free(a);
}

bool mp_mirror_again(struct mp_request *call, mp_message *reply,
                     const struct mcplug_error *why)
{
    struct mp_session *s = call->session;

    if (why->code != MCPLUG_EPEER || why->peer_status != HEADER_MISMATCH ||
        call->refetched || !is_tool_call(call) || !mp_mirror_wanted(s))
        return false;
    struct mp_again *a = mp_alloc(sizeof *a);
    if (!a || mp_request_wait_for_answers(call, NULL) != MCPLUG_OK ||
        mp_lists_refetch(s, MCPLUG_TOOLS, on_tools, a, NULL) != MCPLUG_OK) {
        mp_timer_stop(s->cfg.loop, &call->patience);
        mp_free(a);
        return false;
    }
    a->call = call;
    a->reply = reply ? mp_message_ref(reply) : NULL;
    mp_error_copy(&a->why, why);
    call->again = a;
    call->refetched = true;
    return true;
}

void mp_mirror_forget_call(struct mp_request *call)
{
    if (call->again)
        call->again->call = NULL; /* the list that is under way frees it */
    call->again = NULL;
}
