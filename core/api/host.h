/* The host behind the embedding API. */
#ifndef MP_API_HOST_H
#define MP_API_HOST_H

#include "config/config.h"
#include "plugin/catalogue.h"
#include "registry/registry.h"

#include <pthread.h>

enum { MP_ERAS_KEPT = 256 };

struct mcplug {
    struct mp_loop *loop;
    struct mp_catalogue *catalogue;
    struct mp_log log;
    char *client_name, *client_version, *spill_dir;
    uint32_t connect_ms;
    uint64_t tool_ms;
    unsigned batch; /* servers that a toolbox starts at a time */
    mcplug_server *servers;
    mcplug_toolbox *boxes;
    struct mp_registry registry;

    /* What era servers turned out to have, by the hash of their settings. */
    struct {
        uint64_t hash;
        enum mp_era era;
    } eras[MP_ERAS_KEPT];
    size_t n_eras;

    pthread_t thread;
    bool has_thread;
    bool freeing;
};

/* Is the caller on the loop's thread, or is there none? */
bool mp_host_here(const mcplug *host);
mcplug *mp_host_of(const mcplug_server *server);

/* The transport of that type, or the one that the URL calls for. */
int mp_host_transport(mcplug *host, const char *type, const char *url,
                      const struct mp_offer **out, struct mcplug_error *err);

/* What an entry of the configuration comes to, checked against what its transport
 * declares; problems are noted in the configuration. give `settings`; clear `resolved`,
 * from which they were taken, in any case. May block. */
int mp_host_settings(mcplug *host, struct mcplug_config *config, struct mp_entry *entry,
                     struct mp_resolved *resolved, mcplug_settings **settings,
                     struct mcplug_error *err);

#endif
