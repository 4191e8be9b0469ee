#include "config/supervision.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/keys.h"

#include <stdio.h>

/* ---- entries ---- */

/* No variables: what is kept under a name, and which tools are allowed, must not depend
 * on who asks. */

static void *member_of(struct mp_supervision *supervision, const struct mp_key *key)
{
    return (char *)supervision + key->at;
}

int mp_entry_supervision(const struct mp_entry *entry, struct mp_supervision *out,
                         struct mcplug_error *err)
{
    bool ok = true;

    memset(out, 0, sizeof *out);
    out->shared = true;
    for (const struct mp_key *key = mp_keys; ok && key->name; key++) {
        mp_view v = mp_view_get(entry->json, key->name);
        ok = !key->into || !v.len || key->into->read(v, member_of(out, key));
    }
    return ok ? MCPLUG_OK : mp_fail_nomem(err);
}

void mp_supervision_clear(struct mp_supervision *supervision)
{
    for (const struct mp_key *key = mp_keys; key->name; key++)
        if (key->into && key->into->clear)
            key->into->clear(member_of(supervision, key));
    memset(supervision, 0, sizeof *supervision);
}

/* ---- types ---- */

int mp_entry_type(const struct mp_entry *entry, char **out, struct mcplug_error *err)
{
    static const char *const same[][2] = {
        {"streamable-http", "http"},
        {"streamableHttp", "http"},
        {"streamable_http", "http"},
        {"local", "stdio"},
    };
    mp_view type = mp_view_get(entry->json, "type");

    *out = NULL;
    if (!type.len && !mp_view_get(entry->json, "command").len)
        return MCPLUG_OK;
    if (!type.len)
        *out = mp_strdup("stdio");
    const char *word = NULL;
    for (size_t i = 0; type.len && !word && i < MP_COUNT(same); i++)
        if (mp_view_equals(type, same[i][0]))
            word = same[i][1];
    if (type.len)
        *out = word ? mp_strdup(word) : mp_view_strdup(type);
    return *out ? MCPLUG_OK : mp_fail_nomem(err);
}

/* ---- queues ---- */

struct number {
    const char *name;
    int64_t least, most;
};
static const struct number concurrent_range = {"concurrent", 1, MP_QUEUE_CONCURRENT_MAX};
static const struct number waiting_range = {"waiting", 0, MP_QUEUE_WAITING_MAX};

/* 0: it is not there, or no number that could be used. */
static unsigned number_of(mp_view v, const struct number *range)
{
    int64_t n;
    bool fits = mp_view_int(v, &n) && n >= range->least && n <= range->most;
    return fits ? (unsigned)n : 0;
}

struct queues {
    struct mcplug_config *config;
    const struct mp_source *source;
};

static void complain(struct queues *q, const char *path, mp_view at, const char *text)
{
    mp_config_note(q->config, q->source, NULL, false, path, at, "%s", text);
}

static void check_number(struct queues *q, const char *path, mp_view v,
                         const struct number *range)
{
    char text[96];
    int64_t n;

    if (mp_view_int(v, &n) && n >= range->least && n <= range->most)
        return;
    snprintf(text, sizeof text, "expected a number from %d to %d", (int)range->least,
             (int)range->most);
    complain(q, path, v, text);
}

static void check_members(struct queues *q, const char *name, mp_view object)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;
    char path[320];

    while (mp_walk_member(&w, &key, &value)) {
        char *member = mp_view_strdup(key);
        q->config->incomplete |= !member;
        snprintf(path, sizeof path, "queues.%.128s.%.128s", name, member ? member : "");
        mp_free(member);
        if (mp_view_equals(key, concurrent_range.name))
            check_number(q, path, value, &concurrent_range);
        else if (mp_view_equals(key, waiting_range.name))
            check_number(q, path, value, &waiting_range);
        else
            complain(q, path, key,
                     "is unknown; there are \"concurrent\" and \"waiting\"");
    }
}

static void check_queue(struct queues *q, mp_view key, mp_view value)
{
    char path[160], *name = mp_view_strdup(key);

    q->config->incomplete |= !name;
    snprintf(path, sizeof path, "queues.%.128s", name ? name : "");
    if (name && !*name)
        complain(q, path, key, "is no name");
    else if (mp_view_is_object(value))
        check_members(q, name ? name : "", value);
    else
        check_number(q, path, value, &concurrent_range);
    mp_free(name);
}

void mp_config_take_queues(struct mcplug_config *config, struct mp_source *source,
                           mp_view queues)
{
    struct queues q = {config, source};
    struct mp_walk w = mp_walk_into(queues);
    mp_view key, value;

    if (!queues.len)
        return;
    if (mp_scope_needs_approval(source->scope)) {
        mp_config_note(config, source, NULL, true, "queues", queues,
                       "is not for files of a project, and ignored here");
        return;
    }
    if (!mp_view_is_object(queues)) {
        complain(&q, "queues", queues, "expected an object with one member per queue");
        return;
    }
    source->queues = queues;
    for (size_t n = 0; mp_walk_member(&w, &key, &value); n++) {
        if (n >= MP_QUEUES_MAX) {
            mp_config_note(config, source, NULL, false, "queues", key,
                           "more than %d queues; this one and those that follow are "
                           "ignored",
                           MP_QUEUES_MAX);
            return;
        }
        check_queue(&q, key, value);
    }
}

static bool find_queue(mp_view queues, const char *name, mp_view *out)
{
    struct mp_walk w = mp_walk_into(queues);
    mp_view key;
    for (size_t n = 0; n < MP_QUEUES_MAX && mp_walk_member(&w, &key, out); n++)
        if (mp_view_equals(key, name))
            return true;
    return false;
}

bool mp_config_queue(const struct mcplug_config *config, const char *name,
                     unsigned *concurrent, unsigned *waiting)
{
    for (size_t i = 0; i < config->n_sources; i++) {
        mp_view value;
        if (!find_queue(config->sources[i].queues, name, &value))
            continue;
        bool whole = mp_view_is_object(value);
        *concurrent = number_of(whole ? mp_view_get(value, "concurrent") : value,
                                &concurrent_range);
        *waiting = number_of(whole ? mp_view_get(value, "waiting") : mp_bytes(NULL, 0),
                             &waiting_range);
        return true;
    }
    return false;
}

/* ---- the file as a whole ---- */

/* Files of other programs have keys of their own, so one letter is all that counts. */
void mp_config_check_top(struct mcplug_config *config, const struct mp_source *source,
                         mp_view top)
{
    static const char *const ours[] = {"mcpServers", "pluginDirs", "queues"};
    struct mp_walk w = mp_walk_into(top);
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value)) {
        char *given = mp_view_strdup(key);
        const char *meant = NULL;
        config->incomplete |= !given;
        for (size_t i = 0; given && i < MP_COUNT(ours); i++)
            if (mp_key_is_slip(given, ours[i], 1))
                meant = ours[i];
        if (meant && strcmp(given, meant) != 0)
            mp_config_note(config, source, NULL, true, "", key,
                           "%.*s is unknown; did you mean \"%s\"?", (int)key.len,
                           (const char *)key.data, meant);
        mp_free(given);
    }
}
