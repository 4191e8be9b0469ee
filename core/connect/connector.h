/* A connector makes sessions: it finds the transport that settings call for, checks the
 * settings against what its module declares, and remembers which era each server turned
 * out to have. One per host. [loop] */
#ifndef MP_CONNECT_CONNECTOR_H
#define MP_CONNECT_CONNECTOR_H

#include "connect/locate.h"
#include "plugin/catalogue.h"
#include "session/session.h"

enum { MP_ERAS_KEPT = 256 };

struct mp_connector {
    struct mp_loop *loop;
    struct mp_events *log;
    struct mp_catalogue *catalogue;
    const char *client_name, *client_version, *spill_dir; /* borrow */
    uint32_t connect_ms;                                  /* for options without a time */
    uint64_t tool_ms;                                     /* likewise */
    struct mp_searches searches;

    struct { /* by the hash of their settings; a ring */
        uint64_t hash;
        enum mp_era era;
    } eras[MP_ERAS_KEPT];
    size_t n_eras;
};

struct mp_target;

/* How a server is reached at this start. borrow, all of it */
struct mp_endpoint {
    const struct mp_target *target; /* whose it is, for the policy; NULL: none is asked */
    const mcplug_settings *settings;
    const struct mp_offer *offer;     /* the transport; NULL: to be found */
    const struct mcplug_place *place; /* that a locator found; NULL: none was asked */
    uint64_t spent_ms;                /* of the time to connect, which that took */
};

/* The transport or locator of that type, or the one that the URL calls for. */
int mp_connector_type(struct mp_connector *c, const char *type, const char *url,
                      const struct mp_offer **out, struct mcplug_error *err);

/* Checks settings against what the module declares. give `out` */
int mp_connector_check(const struct mp_offer *offer, const mcplug_props *settings,
                       mcplug_props **out, struct mcplug_error *err);

/* Starts connecting; see mp_session_open(). */
int mp_connector_open(struct mp_connector *c, const struct mp_endpoint *at,
                      const struct mp_session_options *options, const char *name,
                      struct mp_identity *id,
                      void (*ready)(void *, struct mp_session *,
                                    const struct mcplug_error *),
                      void *ready_arg, struct mp_session **out, struct mcplug_error *err);

#endif
