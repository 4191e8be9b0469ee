#include "config/supervision.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/keys.h"

#include <stdio.h>

/* ---- entries ---- */

/* No variables: what is kept under a name, and which tools are allowed, must not depend
 * on who asks. */

int mp_supervision_read(mp_view first, mp_view entry, struct mp_supervision *out,
                        struct mcplug_error *err)
{
    bool ok = true;

    memset(out, 0, sizeof *out);
    out->shared = true;
    for (const struct mp_key *key = mp_keys; ok && key->name; key++) {
        mp_view v = mp_view_get(first, key->name);
        v = v.len ? v : mp_view_get(entry, key->name);
        ok = !key->into || !v.len || key->into->read(v, (char *)out + key->at);
    }
    return ok ? MCPLUG_OK : mp_fail_nomem(err);
}

int mp_entry_supervision(const struct mp_entry *entry, struct mp_supervision *out,
                         struct mcplug_error *err)
{
    return mp_supervision_read(mp_bytes(NULL, 0), entry->json, out, err);
}

void mp_supervision_clear(struct mp_supervision *supervision)
{
    for (const struct mp_key *key = mp_keys; key->name; key++)
        if (key->into && key->into->clear)
            key->into->clear((char *)supervision + key->at);
    memset(supervision, 0, sizeof *supervision);
}

/* ---- queues ---- */

static const struct number {
    const char *name;
    int64_t least, most;
} numbers[] = {{"concurrent", 1, MP_QUEUE_CONCURRENT_MAX},
               {"waiting", 0, MP_QUEUE_WAITING_MAX}};

static bool read_number(mp_view v, const struct number *range, int64_t *out)
{
    return mp_view_int(v, out) && *out >= range->least && *out <= range->most;
}

/* `at` is the value of the member `path`, and is to be a number of that range; NULL:
 * there is no such member. */
static void check_number(struct mcplug_config *config, const struct mp_source *source,
                         const char *path, mp_view at, const struct number *range)
{
    int64_t n;

    if (!range)
        mp_config_note(config, source, NULL, false, path, at,
                       "is unknown; there are \"concurrent\" and \"waiting\"");
    else if (!read_number(at, range, &n))
        mp_config_note(config, source, NULL, false, path, at,
                       "expected a number from %d to %d", (int)range->least,
                       (int)range->most);
}

static void check_queue(struct mcplug_config *config, const struct mp_source *source,
                        mp_view name, mp_view value)
{
    char path[320], *text = mp_view_strdup(name);
    struct mp_walk w = mp_walk_into(value);
    mp_view key, item;

    config->incomplete |= !text;
    int len = snprintf(path, sizeof path, "queues.%.128s", text ? text : "");
    if (text && !*text)
        mp_config_note(config, source, NULL, false, path, name, "is not a name");
    else if (!mp_view_is_object(value))
        check_number(config, source, path, value, &numbers[0]);
    while (!(text && !*text) && mp_view_is_object(value) &&
           mp_walk_member(&w, &key, &item)) {
        char *member = mp_view_strdup(key);
        const struct number *range = NULL;
        config->incomplete |= !member;
        snprintf(path + len, sizeof path - (size_t)len, ".%.128s", member ? member : "");
        for (size_t i = 0; member && i < MP_COUNT(numbers); i++)
            if (strcmp(member, numbers[i].name) == 0)
                range = &numbers[i];
        check_number(config, source, path, range ? item : key, range);
        mp_free(member);
    }
    mp_free(text);
}

void mp_config_take_queues(struct mcplug_config *config, struct mp_source *source,
                           mp_view queues)
{
    struct mp_walk w = mp_walk_into(queues);
    mp_view key, value;

    if (!queues.len)
        return;
    if (mp_scope_needs_approval(source->scope)) {
        mp_config_note(config, source, NULL, true, "queues", queues,
                       "is not allowed in files of a project, and ignored here");
        return;
    }
    if (!mp_view_is_object(queues)) {
        mp_config_note(config, source, NULL, false, "queues", queues,
                       "expected an object with one member per queue");
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
        check_queue(config, source, key, value);
    }
}

bool mp_config_queue(const struct mcplug_config *config, const char *name,
                     unsigned *concurrent, unsigned *waiting)
{
    unsigned *const out[] = {concurrent, waiting};

    for (size_t i = 0; i < config->n_sources; i++) {
        struct mp_walk w = mp_walk_into(config->sources[i].queues);
        mp_view key, value;
        for (size_t n = 0; n < MP_QUEUES_MAX && mp_walk_member(&w, &key, &value); n++) {
            if (!mp_view_equals(key, name))
                continue;
            bool whole = mp_view_is_object(value);
            for (size_t k = 0; k < MP_COUNT(numbers); k++) {
                mp_view v = whole ? mp_view_get(value, numbers[k].name)
                            : k   ? mp_bytes(NULL, 0)
                                  : value;
                int64_t number;
                *out[k] = read_number(v, &numbers[k], &number) ? (unsigned)number : 0;
            }
            return true;
        }
    }
    return false;
}

/* ---- the file as a whole ---- */

/* Files of other programs have keys of their own, so one letter is all that counts. */
void mp_config_check_top(struct mcplug_config *config, const struct mp_source *source,
                         mp_view top)
{
    static const char *const ours[] = {"mcpServers", "pluginDirs", "queues",
                                       "vaults",     "converters", "models"};
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
