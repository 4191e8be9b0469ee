/* One health check of one session, by a probe module: ping, listTools, discover, http, or
 * whatever a module offers. [loop] */
#ifndef MP_REGISTRY_PROBE_H
#define MP_REGISTRY_PROBE_H

#include "connect/target.h"
#include "plugin/catalogue.h"
#include "session/session.h"

struct mp_probe_options {
    struct mp_loop *loop;
    struct mp_events *log;
    struct mp_catalogue *catalogue;
    struct mp_session *session; /* ready, and so until the probe is gone */
    const struct mp_target
        *target; /* for the policy, until it has started; may be NULL */
    /* NULL: by era, ping or discover, for which no module is needed. Names of modules
     * have no capitals: listTools is looked for as list-tools. Or an object as JSON,
     * with "name" and settings. */
    const char *name;
    /* Setting "healthUrl" of probes that know it; may be NULL. Within the origin of the
     * server's own URL the probe has those of its settings that it knows, else none. */
    const char *url;
    uint64_t timeout_ms; /* 0: MP_HEALTH_CHECK_MS */
};

/* give; `done` runs once, not from inside, why == NULL: alive. The probe is gone when it
 * returns. On failure nothing follows. */
int mp_probe_start(const struct mp_probe_options *options,
                   void (*done)(void *arg, const struct mcplug_error *why), void *arg,
                   mcplug_check **out, struct mcplug_error *err);
void mp_probe_cancel(mcplug_check *check); /* take; `done` does not run */

/* Is there such a probe, does it have what it needs, and may it ask there? Before a
 * server is started. */
int mp_probe_check(struct mp_catalogue *catalogue, const struct mp_target *target,
                   const char *name, const char *url, struct mcplug_error *err);

/* What modules call; for the catalogue. */
extern const struct mcplug_health mp_probe_health;

#endif
