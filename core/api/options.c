/* Options that are given as JSON. */
#include "api/options.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/config.h"

/* ---- of a server ---- */

/* What the caller left open. */
static void fill_options(const struct mp_supervision *u, struct mcplug_server_options *o)
{
    const struct mp_timeouts *t = &u->timeouts;

    o->timeout_ms = o->timeout_ms ? o->timeout_ms : t->connect_ms;
    o->request_ms = o->request_ms ? o->request_ms : t->request_ms;
    o->tool_ms = o->tool_ms ? o->tool_ms : t->tool_ms;
    o->dedicated = o->dedicated || !u->shared;
    o->probe = o->probe ? o->probe : u->probe;
    o->probe_url = o->probe_url ? o->probe_url : u->probe_url;
    o->idle_ms = o->idle_ms ? o->idle_ms : u->idle_ms;
    o->max_spill = o->max_spill ? o->max_spill : u->max_spill;
    o->queue = o->queue ? o->queue : u->queue;
    if (!o->max_output_tokens)
        o->max_output_tokens = u->max_output_tokens;
    o->output_tail = o->output_tail ? o->output_tail : u->output_tail;
    if (!o->tool_output_tokens)
        o->tool_output_tokens = (const char *const *)u->tool_output_tokens;
    if (!o->tool_queues)
        o->tool_queues = (const char *const *)u->tool_queues;
    if (!o->tools_allowed)
        o->tools_allowed = (const char *const *)u->tools_allowed;
    if (!o->tools_denied)
        o->tools_denied = (const char *const *)u->tools_denied;
    if (!o->tools_approved)
        o->tools_approved = (const char *const *)u->tools_approved;
    if (!o->tools_asked)
        o->tools_asked = (const char *const *)u->tools_asked;
    if (u->keep_alive && !o->keep_alive_ms)
        o->keep_alive_ms = 50000;
}

int mp_server_options_fill(struct mcplug_server_options *o, mp_view entry,
                           struct mp_supervision *kept, struct mcplug_error *err)
{
    mp_view json = mp_text(o->json);

    memset(kept, 0, sizeof *kept);
    int r = o->json ? mp_part_check("options", false, &json, err) : MCPLUG_OK;
    if (r == MCPLUG_OK)
        r = mp_supervision_read(json, entry, kept, err);
    if (r == MCPLUG_OK)
        fill_options(kept, o);
    o->json = NULL;
    return r;
}

/* ---- of the host ---- */

static int read_text(mp_view v, const char *key, char **out, struct mcplug_error *err)
{
    struct mp_str text;
    int r = MCPLUG_OK;

    mp_str_init(&text, v.len + 1);
    mp_str_adds(&text, "");
    if (!mp_view_is_string(v))
        r = mp_fail(err, MCPLUG_ECONFIG, "options.%s: expected a string", key);
    else if (!mp_str_add_view(&text, v))
        r = mp_fail_nomem(err);
    else if (strlen(text.data) != text.len)
        r = mp_fail(err, MCPLUG_ECONFIG, "options.%s: has a NUL character", key);
    else if (!(*out = mp_str_take(&text)))
        r = mp_fail_nomem(err);
    mp_str_clear(&text);
    return r;
}

static int read_dirs(mp_view v, char ***out, struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(v);
    mp_view item;
    size_t n = 0;
    int r = MCPLUG_OK;

    if (!mp_view_is_array(v))
        return mp_fail(err, MCPLUG_ECONFIG, "options.pluginDirs: expected a list");
    char **dirs = *out = mp_alloc((mp_view_count(v) + 1) * sizeof *dirs);
    if (!dirs)
        return mp_fail_nomem(err);
    while (r == MCPLUG_OK && mp_walk_element(&w, &item))
        r = read_text(item, "pluginDirs", &dirs[n++], err);
    return r;
}

static int read_level(mp_view v, int32_t *out, struct mcplug_error *err)
{
    static const char *const words[] = {"error", "warn", "verbose", "trace"};

    for (size_t i = 0; i < MP_COUNT(words); i++)
        if (mp_view_equals(v, words[i])) {
            *out = (int32_t)i;
            return MCPLUG_OK;
        }
    return mp_fail(err, MCPLUG_ECONFIG,
                   "options.logLevel: expected error, warn, verbose or trace");
}

static int read_member(struct mp_host_json *kept, mp_view key, mp_view value,
                       struct mcplug_error *err)
{
    const struct {
        const char *name;
        char **into;
    } texts[] = {{"clientName", &kept->client_name},
                 {"clientVersion", &kept->client_version},
                 {"spillDir", &kept->spill_dir},
                 {"helperDir", &kept->helper_dir},
                 {"resultsDir", &kept->results_dir}};

    for (size_t i = 0; i < MP_COUNT(texts); i++)
        if (mp_view_equals(key, texts[i].name))
            return read_text(value, texts[i].name, texts[i].into, err);
    if (mp_view_equals(key, "pluginDirs"))
        return read_dirs(value, &kept->plugin_dirs, err);
    if (mp_view_equals(key, "logLevel"))
        return read_level(value, &kept->log_level, err);
    return mp_fail(err, MCPLUG_ECONFIG,
                   "options: %.*s is unknown; there are clientName, clientVersion, "
                   "pluginDirs, spillDir, helperDir, resultsDir and logLevel",
                   mp_json_shown((const char *)key.data, key.len),
                   (const char *)key.data);
}

int mp_host_options_fill(struct mcplug_options *o, struct mp_host_json *kept,
                         struct mcplug_error *err)
{
    mp_view json = mp_text(o->json), key, value;

    memset(kept, 0, sizeof *kept);
    if (!o->json)
        return MCPLUG_OK;
    int r = mp_json_check_file("options", json, err);
    json = mp_view_trim(json);
    if (r == MCPLUG_OK && !mp_view_is_object(json))
        r = mp_fail(err, MCPLUG_ECONFIG, "options: expected an object");
    struct mp_walk w = mp_walk_into(json);
    while (r == MCPLUG_OK && mp_walk_member(&w, &key, &value))
        r = read_member(kept, key, value, err);
    if (r != MCPLUG_OK)
        return r;
    o->log_level = o->log_level ? o->log_level : kept->log_level;
    o->client_name = o->client_name ? o->client_name : kept->client_name;
    o->client_version = o->client_version ? o->client_version : kept->client_version;
    o->spill_dir = o->spill_dir ? o->spill_dir : kept->spill_dir;
    o->helper_dir = o->helper_dir ? o->helper_dir : kept->helper_dir;
    o->results_dir = o->results_dir ? o->results_dir : kept->results_dir;
    if (!o->plugin_dirs)
        o->plugin_dirs = (const char *const *)kept->plugin_dirs;
    o->json = NULL;
    return MCPLUG_OK;
}

void mp_host_json_clear(struct mp_host_json *kept)
{
    mp_free(kept->client_name);
    mp_free(kept->client_version);
    mp_free(kept->spill_dir);
    mp_free(kept->helper_dir);
    mp_free(kept->results_dir);
    mp_free_list((const char *const *)kept->plugin_dirs);
    memset(kept, 0, sizeof *kept);
}
