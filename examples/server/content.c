/* content.c - resources, prompts, and completion of their arguments. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define README "example:///readme"
#define COUNTER "example:///counter"
#define PIXEL "example:///pixel.png"
#define FILES "example:///file/"

/* One red pixel, as a PNG, as Base64. */
static const char pixel_png[] =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAA"
    "AElFTkSuQmCC";

/* The files behind the template. */
static const struct file {
    const char *name, *mime, *text;
} files[] = {
    {"hello.txt", "text/plain", "Hello from a file that is not one.\n"},
    {"notes.md", "text/markdown", "# Notes\n\n- resources may come from a template\n"},
    {"numbers.json", "application/json", "{\"numbers\": [1, 2, 3]}\n"},
};
enum { FILE_COUNT = sizeof files / sizeof *files };

bool resource_touch(struct world *w, const char *uri, unsigned *revision)
{
    unsigned *at = NULL;

    if (!strcmp(uri, README))
        at = &w->readme;
    else if (!strcmp(uri, COUNTER))
        at = &w->counter;
    if (at)
        *revision = ++*at;
    return at != NULL;
}

/* Titles came with 2025-06-18. */
static void without_titles(const struct request *rq, json_t *items)
{
    json_t *item;
    size_t i;

    json_array_foreach(items, i, item)
    {
        if (!since(rq, "2025-06-18"))
            json_object_del(item, "title");
    }
}

static void reply_list(const struct request *rq, const char *key, const char *text)
{
    json_t *items = literal(text);

    without_titles(rq, items);
    reply_page(rq, key, items);
    json_decref(items);
}

void on_resources_list(const struct request *rq)
{
    reply_list(rq, "resources",
               "[{'uri':'" README "','name':'readme','title':'Read me',"
               "'description':'What this server is','mimeType':'text/plain'},"
               "{'uri':'" COUNTER "','name':'counter','title':'Counter',"
               "'description':'Counts how often it was touched','mimeType':'text/plain'},"
               "{'uri':'" PIXEL "','name':'pixel.png','title':'Pixel',"
               "'description':'The smallest picture','mimeType':'image/png'}]");
}

void on_templates_list(const struct request *rq)
{
    reply_list(rq, "resourceTemplates",
               "[{'uriTemplate':'" FILES "{name}','name':'file','title':'File',"
               "'description':'A file by its name'}]");
}

/* What is behind a URI, or NULL. `*ttl_ms` says how long it keeps. */
static json_t *content_of(const struct world *w, const char *uri, int *ttl_ms)
{
    json_t *text;

    *ttl_ms = 60000;
    if (!strcmp(uri, PIXEL))
        return must(json_pack("{ssssss}", "uri", uri, "mimeType", "image/png", "blob",
                              pixel_png));
    for (size_t i = 0; i < FILE_COUNT; i++) {
        size_t prefix = strlen(FILES);
        if (!strncmp(uri, FILES, prefix) && !strcmp(uri + prefix, files[i].name))
            return must(json_pack("{ssssss}", "uri", uri, "mimeType", files[i].mime,
                                  "text", files[i].text));
    }
    if (!strcmp(uri, README))
        text = json_sprintf("An MCP server to try hosts against.\nRevision %u.\n",
                            w->readme);
    else if (!strcmp(uri, COUNTER))
        text = json_sprintf("%u", w->counter);
    else
        return NULL;
    *ttl_ms = 0; /* may be touched any time */
    return must(
        json_pack("{ssssso}", "uri", uri, "mimeType", "text/plain", "text", must(text)));
}

void on_resources_read(const struct request *rq)
{
    const char *uri = param_string(rq, "uri");
    int ttl_ms;
    json_t *content = uri ? content_of(rq->peer->world, uri, &ttl_ms) : NULL;

    if (!uri)
        refuse(rq, INVALID_PARAMS, "uri must be a string");
    else if (!content)
        refuse_with(rq, rq->modern ? INVALID_PARAMS : RESOURCE_NOT_FOUND,
                    "Resource not found", must(json_pack("{ss}", "uri", uri)));
    else
        reply_cacheable(rq, must(json_pack("{s[o]}", "contents", content)), ttl_ms);
}

/* ---- prompts ---- */

static const char *const styles[] = {"formal", "friendly", "pirate", NULL};

void on_prompts_list(const struct request *rq)
{
    reply_list(rq, "prompts",
               "[{'name':'greet','title':'Greet','description':'Greets somebody',"
               "'arguments':[{'name':'name','description':'Whom to greet',"
               "'required':true},{'name':'style','description':'formal, friendly or "
               "pirate','required':false}]},"
               "{'name':'summary','title':'Summary','description':'Sums up the readme',"
               "'arguments':[]}]");
}

static json_t *greet(const char *name, const char *style)
{
    return must(json_pack("{sss[{sss{ssso}}]}", "description", "A greeting", "messages",
                          "role", "user", "content", "type", "text", "text",
                          must(json_sprintf("Write a %s greeting for %s.",
                                            style ? style : "friendly", name))));
}

static json_t *summary(const struct world *w)
{
    int ttl_ms;
    return must(json_pack("{sss[{sss{ssss}}{sss{ssso}}]}", "description", "A summary",
                          "messages", "role", "user", "content", "type", "text", "text",
                          "Sum up this text in one sentence.", "role", "user", "content",
                          "type", "resource", "resource",
                          content_of(w, README, &ttl_ms)));
}

void on_prompts_get(const struct request *rq)
{
    const char *name = param_string(rq, "name");
    json_t *args = json_object_get(rq->params, "arguments");
    const char *whom = json_string_value(json_object_get(args, "name"));

    if (name && !strcmp(name, "summary"))
        reply(rq, summary(rq->peer->world));
    else if (!name || strcmp(name, "greet") != 0)
        refuse(rq, INVALID_PARAMS, "Unknown prompt: %s", name ? name : "(none)");
    else if (!whom)
        refuse(rq, INVALID_PARAMS, "Prompt greet needs the argument name");
    else
        reply(rq, greet(whom, json_string_value(json_object_get(args, "style"))));
}

/* ---- completion ---- */

static void offer(json_t *values, const char *candidate, const char *typed)
{
    if (!strncmp(candidate, typed, strlen(typed)))
        json_array_append_new(values, json_string(candidate));
}

/* Is `ref` one we know? Sets what its argument is, for offering values. */
static bool known_ref(json_t *ref, bool *prompt)
{
    const char *type = json_string_value(json_object_get(ref, "type"));
    const char *name = json_string_value(json_object_get(ref, "name"));
    const char *uri = json_string_value(json_object_get(ref, "uri"));

    *prompt = type && !strcmp(type, "ref/prompt");
    if (*prompt)
        return name && (!strcmp(name, "greet") || !strcmp(name, "summary"));
    return type && !strcmp(type, "ref/resource") && uri && !strcmp(uri, FILES "{name}");
}

void on_complete(const struct request *rq)
{
    json_t *argument = json_object_get(rq->params, "argument");
    const char *name = json_string_value(json_object_get(argument, "name"));
    const char *typed = json_string_value(json_object_get(argument, "value"));
    bool prompt;

    if (!name || !typed || !known_ref(json_object_get(rq->params, "ref"), &prompt)) {
        refuse(rq, INVALID_PARAMS, "Nothing known by that reference and argument");
        return;
    }
    json_t *values = must(json_array());
    for (size_t i = 0; prompt && !strcmp(name, "style") && styles[i]; i++)
        offer(values, styles[i], typed);
    for (size_t i = 0; !prompt && !strcmp(name, "name") && i < FILE_COUNT; i++)
        offer(values, files[i].name, typed);
    json_int_t total = (json_int_t)json_array_size(values);
    reply(rq, must(json_pack("{s{sosIsb}}", "completion", "values", values, "total",
                             total, "hasMore", 0)));
}
