/* tools.c - the tools: what they are, and those that answer at once. */
#include "server.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t BIG_LIMIT = UINT64_C(1) << 32;

struct tool {
    const char *name;
    void (*run)(const struct request *rq);
    const char *title, *description;
    const char *input, *hints, *output; /* JSON with ' for "; `output` may be NULL */
};

/* ---- results ---- */

static json_t *text_result(json_t *text)
{
    return must(json_pack("{s[{ssso}]}", "content", "type", "text", "text", text));
}

void tool_string(const struct request *rq, json_t *text)
{
    reply(rq, text_result(text));
}

static json_t *text_from(const char *format, va_list ap)
{
    char *text = NULL;

    if (vasprintf(&text, format, ap) < 0)
        text = NULL;
    json_t *value = text_of(must(text));
    free(text);
    return value;
}

void tool_text(const struct request *rq, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    tool_string(rq, text_from(format, ap));
    va_end(ap);
}

void tool_fail(const struct request *rq, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    json_t *result = text_result(text_from(format, ap));
    va_end(ap);
    json_object_set_new(result, "isError", json_true());
    reply(rq, result);
}

/* ---- arguments ---- */

json_t *args_of(const struct request *rq)
{
    return json_object_get(rq->params, "arguments");
}

json_t *arg(const struct request *rq, const char *name, json_type type)
{
    json_t *value = json_object_get(args_of(rq), name);

    if (value && json_typeof(value) == type)
        return value;
    tool_fail(rq, "Argument %s must be %s.", name,
              type == JSON_STRING ? "a string" : "an integer");
    return NULL;
}

/* ---- the tools ---- */

static void tool_echo(const struct request *rq)
{
    json_t *text = arg(rq, "text", JSON_STRING);

    if (text)
        tool_string(rq, json_incref(text));
}

/* Integers stay integers as long as the sum is one that every reader of JSON
 * keeps exactly. */
static json_t *sum_of(json_t *a, json_t *b)
{
    double sum = json_number_value(a) + json_number_value(b);

    if (json_is_integer(a) && json_is_integer(b) && fabs(sum) < 9007199254740992.0)
        return json_integer(json_integer_value(a) + json_integer_value(b));
    return json_real(sum);
}

static void tool_add(const struct request *rq)
{
    json_t *a = json_object_get(args_of(rq), "a");
    json_t *b = json_object_get(args_of(rq), "b");

    if (!json_is_number(a) || !json_is_number(b)) {
        tool_fail(rq, "Arguments a and b must be numbers.");
        return;
    }
    json_t *sum = sum_of(a, b);
    if (!sum) {
        tool_fail(rq, "The sum is too large.");
        return;
    }
    json_t *structured = must(json_pack("{so}", "sum", sum));
    char *text = must(json_dumps(structured, JSON_COMPACT | JSON_REAL_PRECISION(15)));
    json_t *result = text_result(json_string(text));
    if (since(rq, "2025-06-18"))
        json_object_set(result, "structuredContent", structured);
    json_decref(structured);
    free(text);
    reply(rq, result);
}

static void tool_failing(const struct request *rq)
{
    json_t *message = json_object_get(args_of(rq), "message");

    tool_fail(rq, "%s",
              json_is_string(message) ? json_string_value(message) : "It failed.");
}

/* Writes the answer with the text replaced by a pattern that never is in
 * memory: what stands before the text, the pattern, what stands after it. */
static void tool_big(const struct request *rq)
{
    static const char slot[] = "\"text\":\"@\"";
    json_t *bytes = arg(rq, "bytes", JSON_INTEGER);

    if (!bytes)
        return;
    if (json_integer_value(bytes) < 0 ||
        (uint64_t)json_integer_value(bytes) > BIG_LIMIT) {
        tool_fail(rq, "Argument bytes must be from 0 to %" PRIu64 ".", BIG_LIMIT);
        return;
    }
    json_t *message = answer_of(rq, text_result(json_string("@")));
    char *text = must(json_dumps(message, JSON_COMPACT));
    char *cut = must(strstr(text, slot)); /* no string in it holds bare quotes */
    cut = strchr(cut, '@');

    peer_put(rq->peer, text, (size_t)(cut - text));
    peer_put_pattern(rq->peer, (uint64_t)json_integer_value(bytes));
    peer_put(rq->peer, cut + 1, strlen(cut + 1));
    peer_put(rq->peer, "\n", 1);
    free(text);
    json_decref(message);
}

static void tool_log(const struct request *rq)
{
    json_t *name = arg(rq, "level", JSON_STRING);
    json_t *text = name ? arg(rq, "text", JSON_STRING) : NULL;
    int level = level_of(name);

    if (!text)
        return;
    if (level < 0) {
        tool_fail(rq, "No such level: %s", json_string_value(name));
        return;
    }
    if (level >= rq->log_level) {
        notify(rq->peer, "notifications/message",
               must(json_pack("{sOsssO}", "level", name, "logger", "example", "data",
                              text)));
    }
    tool_text(rq, level >= rq->log_level ? "logged" : "not wanted");
}

static void tool_grow(const struct request *rq)
{
    struct world *w = rq->peer->world;

    if (w->grown >= TOOL_LIMIT) {
        tool_fail(rq, "There are enough tools.");
        return;
    }
    json_t *tool = literal("{'description':'A tool that was not there at first.',"
                           "'inputSchema':{'type':'object','properties':{}}}");
    w->grown++;
    json_object_set_new(tool, "name", json_sprintf("grown_%zu", w->grown));
    json_array_append_new(w->tools, tool);
    announce_tools(rq->peer);
    tool_text(rq, "grown_%zu", w->grown);
}

static void tool_touch(const struct request *rq)
{
    json_t *uri = arg(rq, "uri", JSON_STRING);
    unsigned revision;

    if (!uri)
        return;
    if (!resource_touch(rq->peer->world, json_string_value(uri), &revision)) {
        tool_fail(rq, "No text resource %s", json_string_value(uri));
        return;
    }
    announce_resource(rq->peer, json_string_value(uri));
    tool_text(rq, "%s is at revision %u", json_string_value(uri), revision);
}

static void tool_env(const struct request *rq)
{
    json_t *name = arg(rq, "name", JSON_STRING);
    const char *value = name ? getenv(json_string_value(name)) : NULL;

    if (value)
        tool_text(rq, "%s", value);
    else if (name)
        tool_fail(rq, "%s is not set", json_string_value(name));
}

static void tool_meta(const struct request *rq)
{
    char *text = rq->meta ? json_dumps(rq->meta, JSON_COMPACT) : NULL;

    tool_text(rq, "%s", text ? text : "{}");
    free(text);
}

/* Ends the program as a crash would: what was answered before gets out if the
 * client takes it, this call gets no answer. */
static void tool_exit(const struct request *rq)
{
    json_t *code = arg(rq, "code", JSON_INTEGER);

    if (!code)
        return;
    peer_flush(rq->peer);
    _Exit((int)json_integer_value(code));
}

/* ---- the list ---- */

#define READ_ONLY "{'readOnlyHint':true,'openWorldHint':false}"
#define ADDS "{'readOnlyHint':false,'destructiveHint':false}"
#define DESTROYS "{'readOnlyHint':false,'destructiveHint':true}"

#define NOTHING "{'type':'object','properties':{},'additionalProperties':false}"
#define OBJECT(required, properties)                                                     \
    "{'type':'object','properties':{" properties "},'required':[" required "]}"
#define FIELD(name, type, text) "'" name "':{'type':'" type "','description':'" text "'}"
#define WHOLE(name, most, text)                                                          \
    "'" name "':{'type':'integer','minimum':0,'maximum':" most ",'description':'" text   \
    "'}"
#define LEVELS                                                                           \
    "'level':{'type':'string','enum':['debug','info','notice','warning','error',"        \
    "'critical','alert','emergency']}"

#define ADD_INPUT FIELD("a", "number", "One") "," FIELD("b", "number", "The other")
#define ADD_OUTPUT OBJECT("'sum'", FIELD("sum", "number", "a plus b"))

static const struct tool tools[] = {
    {"echo", tool_echo, "Echo", "Returns the text it was given.",
     OBJECT("'text'", FIELD("text", "string", "What to return")), READ_ONLY, NULL},
    {"add", tool_add, "Add", "Adds two numbers.", OBJECT("'a','b'", ADD_INPUT), READ_ONLY,
     ADD_OUTPUT},
    {"fail", tool_failing, "Fail", "Fails as a tool does: with a result that says so.",
     OBJECT("", FIELD("message", "string", "What to complain of")), READ_ONLY, NULL},
    {"sleep", tool_sleep, "Sleep",
     "Answers after a while, tells progress, is cancellable.",
     OBJECT("'ms'", WHOLE("ms", "3600000", "Milliseconds to wait")), READ_ONLY, NULL},
    {"big", tool_big, "Big result", "Returns a text of so many bytes.",
     OBJECT("'bytes'", WHOLE("bytes", "4294967296", "Its length")), READ_ONLY, NULL},
    {"ask_name", tool_ask_name, "Ask for a name", "Asks the user for a name, and greets.",
     NOTHING, READ_ONLY, NULL},
    {"ask_model", tool_ask_model, "Ask the model", "Lets the client's model answer.",
     OBJECT("'prompt'", FIELD("prompt", "string", "What to ask")), READ_ONLY, NULL},
    {"list_roots", tool_list_roots, "List roots",
     "Names the folders the client works in.", NOTHING, READ_ONLY, NULL},
    {"log", tool_log, "Log", "Sends a log message if its level is wanted.",
     OBJECT("'level','text'", LEVELS "," FIELD("text", "string", "The message")),
     READ_ONLY, NULL},
    {"grow", tool_grow, "Grow", "Adds one more tool to the list.", NOTHING, ADDS, NULL},
    {"touch", tool_touch, "Touch", "Changes a text resource.",
     OBJECT("'uri'", FIELD("uri", "string", "Which resource")), ADDS, NULL},
    {"env", tool_env, "Environment", "Tells the value of an environment variable.",
     OBJECT("'name'", FIELD("name", "string", "Which variable")), READ_ONLY, NULL},
    {"meta", tool_meta, "Metadata", "Returns the _meta of this very request.", NOTHING,
     READ_ONLY, NULL},
    {"exit", tool_exit, "Exit", "Ends the server at once, without an answer.",
     OBJECT("'code'", WHOLE("code", "255", "Exit status")), DESTROYS, NULL},
};
enum { TOOL_COUNT = sizeof tools / sizeof *tools };

static json_t *builtin(const struct tool *t)
{
    json_t *tool = must(json_pack("{sssssssoso}", "name", t->name, "title", t->title,
                                  "description", t->description, "inputSchema",
                                  literal(t->input), "annotations", literal(t->hints)));
    if (t->output)
        json_object_set_new(tool, "outputSchema", literal(t->output));
    return tool;
}

/* Tool number `n` of many, as large as the tools of real servers are. */
static json_t *generated(size_t n)
{
    static const char *const verbs[] = {"List", "Search", "Update", "Archive", "Export"};
    static const char *const nouns[] = {"issues",     "invoices", "customers",
                                        "branches",   "messages", "calendar entries",
                                        "deployments"};
    const char *verb = verbs[n % 5], *noun = nouns[n % 7];
    json_t *tool = literal(
        "{'inputSchema':{'type':'object','properties':{"
        "'query':{'type':'string','description':'Words to look for, quotes keep a phrase "
        "together','minLength':1,'maxLength':256},"
        "'status':{'type':'string','enum':['open','closed','all'],'default':'open'},"
        "'labels':{'type':'array','items':{'type':'string'},'description':'Only with all "
        "of these labels'},"
        "'since':{'type':'string','format':'date-time','description':'Changed at or "
        "after "
        "this time'},"
        "'limit':{'type':'integer','minimum':1,'maximum':100,'default':30}},"
        "'required':['query'],'additionalProperties':false}}");
    json_object_set_new(tool, "name", json_sprintf("gen_%04zu", n));
    json_object_set_new(tool, "title", json_sprintf("%s %s", verb, noun));
    json_object_set_new(tool, "description",
                        json_sprintf("%s the %s of project %zu.", verb, noun, n));
    return tool;
}

void world_init(struct world *w)
{
    w->tools = must(json_array());
    for (size_t i = 0; i < TOOL_COUNT; i++)
        json_array_append_new(w->tools, builtin(&tools[i]));
    for (size_t i = 0; i < w->opt.tools; i++)
        json_array_append_new(w->tools, generated(i));
}

void world_clear(struct world *w)
{
    json_decref(w->tools);
}

/* The list as an older revision knows it. */
static json_t *older_tools(const struct request *rq, json_t *all)
{
    json_t *list = must(json_array()), *tool;
    size_t i;

    json_array_foreach(all, i, tool)
    {
        json_t *copy = must(json_copy(tool));
        json_object_del(copy, "title");
        json_object_del(copy, "outputSchema");
        if (!since(rq, "2025-03-26"))
            json_object_del(copy, "annotations");
        json_array_append_new(list, copy);
    }
    return list;
}

void on_tools_list(const struct request *rq)
{
    json_t *all = rq->peer->world->tools;
    json_t *list = since(rq, "2025-06-18") ? json_incref(all) : older_tools(rq, all);

    reply_page(rq, "tools", list);
    json_decref(list);
}

/* Is `name` the prefix and a number from `first` on, `count` of them? */
static bool numbered(const char *name, const char *prefix, size_t first, size_t count)
{
    size_t len = strlen(prefix);
    char *end;

    if (strncmp(name, prefix, len) != 0 || name[len] < '0' || name[len] > '9')
        return false;
    unsigned long n = strtoul(name + len, &end, 10);
    return *end == '\0' && n >= first && n - first < count;
}

void on_tools_call(const struct request *rq)
{
    const struct world *w = rq->peer->world;
    const char *name = param_string(rq, "name");
    json_t *args = args_of(rq);

    if (!name || (args && !json_is_object(args))) {
        refuse(rq, INVALID_PARAMS, "tools/call needs a name, and arguments as an object");
        return;
    }
    for (size_t i = 0; i < TOOL_COUNT; i++) {
        if (!strcmp(tools[i].name, name)) {
            tools[i].run(rq);
            return;
        }
    }
    if (numbered(name, "gen_", 0, w->opt.tools) || numbered(name, "grown_", 1, w->grown))
        tool_text(rq, "This is %s.", name);
    else
        refuse(rq, INVALID_PARAMS, "Unknown tool: %s", name);
}
