/* The host behind the embedding API. */
#ifndef MP_API_HOST_H
#define MP_API_HOST_H

#include "plugin/catalogue.h"
#include "session/session.h"

#include <pthread.h>

enum { MP_ERAS_KEPT = 256 };

struct mcplug {
    struct mp_loop *loop;
    struct mp_catalogue *catalogue;
    struct mp_log log;
    char *client_name, *client_version, *spill_dir;
    uint32_t connect_ms;
    uint64_t tool_ms;
    mcplug_server *servers;

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

struct mcplug_settings {
    char *type;
    mcplug_props *props;
};

/* Is the caller on the loop's thread, or is there none? */
bool mp_host_here(const mcplug *host);
mcplug *mp_host_of(const mcplug_server *server);

#endif
