#include "web_post.h"

#include "header.h"

#include <stdio.h>
#include <string.h>

const char *web_meta(const struct mcplug_envelope *env, const char *name)
{
    for (size_t i = 0; i < env->n_meta; i++)
        if (strcmp(env->meta[i].name, name) == 0)
            return env->meta[i].value;
    return NULL;
}

int web_is_harmless(const char *method)
{
    static const char *const known[] = {
        "server/discover",
        "initialize",
        "ping",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/get",
        "completion/complete",
        "tasks/get",
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(method, known[i]) == 0)
            return 1;
    return 0;
}

/* ---- headers ---- */

#define PARAM "param:"
#define MIRROR "Mcp-Param-"

/* Does this pair become a header, and which? */
static const char *mirrored(const char *name)
{
    if (strcmp(name, "method") == 0)
        return "Mcp-Method";
    if (strcmp(name, "name") == 0)
        return "Mcp-Name";
    return strncmp(name, PARAM, sizeof PARAM - 1) == 0 ? MIRROR : NULL;
}

static size_t room_for(const struct mcplug_pair *pair)
{
    return strlen(MIRROR) + strlen(pair->name) + 1 +
           header_encoded_size(strlen(pair->value));
}

static char *put(char *at, struct mcplug_pair *h, const struct mcplug_pair *pair,
                 const char *name)
{
    h->name = name;
    if (strcmp(name, MIRROR) == 0) {
        h->name = at;
        at += sprintf(at, MIRROR "%s", pair->name + sizeof PARAM - 1) + 1;
    }
    h->value = at;
    return at + header_encode(pair->value, strlen(pair->value), at) + 1;
}

int web_headers_take(struct web_post *p, const struct mcplug_envelope *env)
{
    const char *revision = web_meta(env, "protocol-version");
    size_t n = 5, size = revision != NULL ? strlen(revision) + 1 : 0;
    for (size_t i = 0; p->is_modern && i < env->n_meta; i++) {
        if (mirrored(env->meta[i].name) == NULL || n >= WEB_PARAMS_MAX + 7)
            continue;
        size += room_for(&env->meta[i]);
        n++;
    }
    p->headers = p->outbox->host->mem->alloc(n * sizeof *p->headers + size);
    if (p->headers == NULL)
        return -1;
    char *at = (char *)(p->headers + n);
    struct mcplug_pair *h = p->headers;
    *h++ = (struct mcplug_pair){"Content-Type", "application/json"};
    *h++ = (struct mcplug_pair){"Accept", "application/json, text/event-stream"};
    if (revision != NULL) {
        *h++ = (struct mcplug_pair){"MCP-Protocol-Version", at};
        at = stpcpy(at, revision) + 1;
    }
    for (size_t i = 0; p->is_modern && i < env->n_meta; i++) {
        const char *name = mirrored(env->meta[i].name);
        if (name != NULL && h < p->headers + n - 2)
            at = put(at, h++, &env->meta[i], name);
    }
    p->n_headers = (size_t)(h - p->headers);
    return 0;
}
