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
    struct mp_str text, json;
    struct mp_str copy_json; /* of a copy that a program made, and may have changed */
    struct mcplug_error why;
    char names[]; /* namespace, server, tool */
};

/* ---- the text of a result ---- */

static void add_line(struct mp_str *out, mp_view text)
{
    if (!text.len)
        return;
    if (out->len)
        mp_str_addc(out, '\n');
    mp_str_add_view(out, text);
}

/* A model has to know that it does not see all. */
static void add_cuts(struct mp_str *out, const mcplug_result *result)
{
    uint64_t size = 0;
    size_t n = mcplug_result_spills(result);

    for (size_t i = 0; i < n; i++) {
        struct mcplug_spill spill = {.struct_size = sizeof spill};
        if (mcplug_result_spill(result, i, &spill) == MCPLUG_OK)
            size += spill.size;
    }
    if (n)
        mp_str_addf(out, "%s[Cut short: %llu bytes in all.]", out->len ? "\n" : "",
                    (unsigned long long)size);
}

bool mp_record_text(const mcplug_result *from, struct mp_str *out)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    mp_view part;
    enum mcplug_answer answer = mcplug_result_answer(from, &part);

    if (answer == MCPLUG_ANSWER_TEXT) {
        add_line(out, part);
    } else if (answer == MCPLUG_ANSWER_BLOCKS) {
        size_t len;
        const char *json = mcplug_result_json(from, &len);
        while (mcplug_block_next(&part, &block))
            add_line(out, block.text);
        part = mp_view_get(mp_bytes(json, len), "structuredContent");
    }
    if (answer != MCPLUG_ANSWER_TEXT && !out->len && part.len)
        mp_str_add(out, part.data, part.len);
    add_cuts(out, from);
    return !out->failed;
}

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
    mp_str_init(&own->text, MP_FRAME_MAX);
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
    if (ended->outcome == MP_CANCELLED && cancelled) {
        r->result = "";
    } else if (r->why) {
        r->result = r->why->text;
    } else if (!r->ok) {
        r->result = ended->failure; /* of the result */
    } else {
        r->ok = mp_record_text(result, &own->text);
        r->result = !r->ok ? "out of memory" : own->text.data ? own->text.data : "";
    }
    r->result_len = r->ok ? own->text.len : strlen(r->result);
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
    mp_str_clear(&own->text);
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
