#include "toolbox/toolbox.h"

#include "base/error.h"
#include "base/mem.h"

#include <mcplug/admin.h>

#include <ctype.h>
#include <stdatomic.h>

/* What a record is made of: counted, and whole without its toolbox. */
struct own {
    struct mcplug_record record;
    atomic_uint refs;
    struct mp_str json;
    struct mp_str copy_json; /* of a copy that a program made, and may have changed */
    struct mcplug_error why;
    char names[]; /* namespace, server, tool */
};

/* ---- life ---- */

static const char *put_name(char **at, const char *name)
{
    size_t size = strlen(name) + 1;
    const char *put = memcpy(*at, name, size);
    *at += size;
    return put;
}

struct mcplug_record *mp_record_new(const char *kind, const char *name_space,
                                    const char *server, const char *tool)
{
    struct own *own =
        mp_alloc(sizeof *own + strlen(name_space) + strlen(server) + strlen(tool) + 3);
    if (!own)
        return NULL;
    char *at = own->names;
    atomic_init(&own->refs, 1);
    mp_str_init(&own->json, MP_FRAME_MAX);
    mp_str_init(&own->copy_json, MP_FRAME_MAX);
    own->record = (struct mcplug_record){.struct_size = sizeof own->record,
                                         .own = own,
                                         .kind = kind,
                                         .name_space = put_name(&at, name_space),
                                         .server = put_name(&at, server),
                                         .tool = put_name(&at, tool),
                                         .code_index = mp_code_index(server)};
    return &own->record;
}

void mp_record_fill(struct mcplug_record *r, mcplug_result *result,
                    const struct mp_event_call *ended, bool cancelled)
{
    struct own *own = r->own;

    r->latency_ms = ended->latency_ms;
    r->extras = mcplug_result_ref(result);
    if (ended->why) {
        mp_error_copy(&own->why, ended->why);
        r->why = &own->why;
    }
    r->ok = ended->outcome == MP_OK;
    if (ended->outcome == MP_CANCELLED && cancelled)
        r->result = "";
    else if (r->why)
        r->result = r->why->text;
    else
        r->result = r->ok ? "" : ended->failure; /* of the result */
    r->result_len = strlen(r->result);
}

/* A result that is in a file is not kept in memory as well. */
static void forget_stored(struct mcplug_record *r, const char *path)
{
    struct mp_str json;

    mp_str_init(&json, 8192);
    mp_str_adds(&json, "{\"stored\":");
    mp_str_add_json(&json, path, strlen(path));
    mp_str_addc(&json, '}');
    mp_message *small = json.failed ? NULL : mp_message_new(json.data, json.len, NULL);
    if (small) {
        mp_message_expose(small, (struct mp_span){0, json.len});
        mcplug_result_unref(r->extras);
        r->extras = small;
    }
    mp_str_clear(&json);
}

void mp_record_content(struct mcplug_record *r, const mcplug_rendering *content,
                       const struct mcplug_error *why)
{
    struct own *own = r->own;

    r->content = mcplug_rendering_ref(content);
    if (why && r->ok) {
        mp_error_copy(&own->why, why);
        r->why = &own->why;
        r->ok = 0;
        r->result = own->why.text;
        r->result_len = strlen(r->result);
    } else if (r->ok) {
        r->result = mcplug_rendering_text(content, &r->result_len);
    }
    if (r->ok && content->stored)
        forget_stored(r, content->stored);
}

const struct mcplug_record *mcplug_record_ref(const struct mcplug_record *record)
{
    if (record)
        atomic_fetch_add_explicit(&((struct own *)record->own)->refs, 1,
                                  memory_order_relaxed);
    return record;
}

void mcplug_record_unref(const struct mcplug_record *record)
{
    struct own *own = record ? record->own : NULL;

    if (!own || atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) != 1)
        return;
    mcplug_result_unref(own->record.extras);
    mcplug_rendering_unref(own->record.content);
    mp_str_clear(&own->json);
    mp_str_clear(&own->copy_json);
    mp_free(own);
}

/* ---- the record as JSON ---- */

const char *mcplug_record_json(const struct mcplug_record *record)
{
    struct own *own = record ? record->own : NULL;
    size_t len;

    if (!own)
        return NULL;
    bool is_copy = record != &own->record;
    struct mp_str *out = is_copy ? &own->copy_json : &own->json;
    if (!is_copy && out->len && !out->failed) /* somebody may read it */
        return out->data;
    mp_str_reset(out);
    mp_str_addf(out, "{\"ok\":%s,\"result\":", record->ok ? "true" : "false");
    mp_str_add_json(out, record->result, record->result_len);
    mp_str_addf(out,
                ",\"latencyMs\":%llu,\"kind\":", (unsigned long long)record->latency_ms);
    mp_str_add_json(out, record->kind, strlen(record->kind));
    mp_str_adds(out, ",\"namespace\":");
    mp_str_add_json(out, record->name_space, strlen(record->name_space));
    mp_str_adds(out, ",\"extras\":");
    const char *extras = record->extras ? mcplug_result_json(record->extras, &len) : NULL;
    if (extras)
        mp_str_add(out, extras, len);
    else
        mp_str_adds(out, "{}");
    mp_str_addc(out, '}');
    return out->failed ? NULL : out->data;
}

/* ---- who indexes code ---- */

/* As people name them in their configuration. */
static const char *const indexes[] = {
    "ast-grep", "claude-context", "code-index",  "code-index-mcp", "codebase-memory",
    "cody",     "serena",         "sourcegraph", "zoekt",
};

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a == '_' ? '-' : (char)tolower((unsigned char)*a);
        if (x != *b)
            return false;
    }
    return !*a && !*b;
}

const char *mp_code_index(const char *server)
{
    for (size_t i = 0; i < MP_COUNT(indexes); i++)
        if (same_name(server, indexes[i]))
            return indexes[i];
    return NULL;
}
