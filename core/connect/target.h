/* What a server is reached with: settings in place, or an entry of the configuration.
 * Each step from an entry to settings is made once: may it be used, which transport, do
 * its settings fit what the module declares, variables, what is put on top, the policy on
 * the result. What changes from start to start is left to a lookup: secrets, and where a
 * locator finds the server. [loop] */
#ifndef MP_CONNECT_TARGET_H
#define MP_CONNECT_TARGET_H

#include "config/config.h"
#include "connect/connector.h"

struct mp_target; /* counted */
/* `policy`, which may be NULL, judges the settings now and what a locator finds later; it
 * is kept as long as the target. */
int mp_target_of_settings(const mcplug_settings *settings, struct mcplug_config *policy,
                          struct mp_target **out, struct mcplug_error *err);
/* Checks the settings that an entry has for its probe; what is wrong is noted. */
void mp_target_check_probe(struct mp_connector *c, struct mp_entry *entry);
/* `overlay`, which may be NULL, is put on top of what the entry says. Problems of the
 * entry's settings are noted in the configuration, which is kept as long as the target.
 * Clear `resolved`, which has the times and what is missing, in any case. */
int mp_target_of_entry(struct mp_connector *c, struct mcplug_config *config,
                       struct mp_entry *entry, const mcplug_settings *overlay,
                       struct mp_resolved *resolved, struct mp_target **out,
                       struct mcplug_error *err);
/* The same for a model, which no rule about servers is about. */
int mp_target_of_model(struct mp_connector *c, struct mcplug_config *config,
                       const char *name, const mcplug_settings *overlay,
                       struct mp_target **out, struct mcplug_error *err);
struct mp_target *mp_target_ref(struct mp_target *target);
void mp_target_unref(struct mp_target *target);

/* The settings, where secrets belong with their references. borrow */
const mcplug_settings *mp_target_settings(const struct mp_target *target);
/* The transport; NULL: it is found when the server is started. borrow */
const struct mp_offer *mp_target_offer(const struct mp_target *target);
/* Are there secrets to be looked up before it can be used? */
bool mp_target_has_secrets(const struct mp_target *target);
/* Would the same server be reached, with the same secrets? */
bool mp_target_equal(const struct mp_target *a, const struct mp_target *b);

/* What the policy says of settings as they are about to be used, with what their module
 * declares; `is_found`: a locator made them. `t` may be NULL: nobody is asked. */
int mp_target_judge(const struct mp_target *t, const mcplug_props *props, bool is_found,
                    struct mcplug_error *err);
/* Adds the addresses that the policy denies, for their module, to such settings. */
int mp_target_fence(const struct mp_target *t, mcplug_props *props,
                    struct mcplug_error *err);
/* Both for the settings of a health check of that server. */
int mp_target_judge_probe(const struct mp_target *t, mcplug_props *probe,
                          struct mcplug_error *err);

/* ---- lookup.c ---- */

/* What is found out anew at each start: secrets, on a thread of the pool, for a keyring
 * may ask its user; then, when the type is a locator's, where the server is. */
struct mp_lookup;

/* Is there anything to be found out? */
bool mp_lookup_needed(struct mp_connector *c, const struct mp_target *target);
/* `done` runs once, with the way to the server or the reason why there is none, and
 * whether that is a secret's; unless it is cancelled. `ms` is what a locator may take. */
int mp_lookup_start(struct mp_connector *c, struct mp_target *target, uint64_t ms,
                    void (*done)(void *arg, const struct mp_endpoint *at,
                                 const struct mcplug_error *why, bool is_secret),
                    void *arg, struct mp_lookup **out, struct mcplug_error *err);
void mp_lookup_cancel(struct mp_lookup *lookup);

#endif
