/* The host behind the embedding API. */
#ifndef MP_API_HOST_H
#define MP_API_HOST_H

#include "api/pull.h"
#include "config/config.h"
#include "content/render.h"
#include "convert/call.h"
#include "registry/registry.h"
#include "run/run.h"

#include <pthread.h>

struct mcplug {
    struct mp_loop *loop;
    struct mp_catalogue *catalogue;
    struct mp_events events;
    struct mcplug_listener *listeners; /* of the program */
    struct mp_pull pull;               /* likewise, for mcplug_next_event() */
    char *client_name, *client_version, *spill_dir;
    unsigned batch; /* servers that a toolbox starts at a time */
    mcplug_toolbox *boxes;
    struct mp_connector connector;
    struct mp_registry registry;
    struct mp_renderer renderer;
    struct mp_convert_calls conversions;
    struct mp_runs runs;

    pthread_t thread;
    atomic_bool has_thread;  /* ours runs the loop, or is about to */
    atomic_bool thread_ends; /* it does so no longer */
    bool freeing;
    unsigned reporting;              /* to the program, inside a call of its own */
    bool refusing;                   /* to be freed, and is logging that */
    void (*free_log_arg)(void *arg); /* of the program; NULL: none */
    void *log_arg;
};

/* All listeners are gone after this. */
void mp_host_end_listeners(mcplug *host);

/* For the beginning of a public function: as mp_loop_check(), and it is not NULL. */
#define mp_host_check(host, err)                                                         \
    ((host) ? mp_loop_check((host)->loop, err) : mp_fail_null(err, "`host`"))

/* give: mcplug_run_result_free; NULL: no memory */
struct mcplug_run_result *mp_run_result_copy(const struct mcplug_run_result *from);

mcplug *mp_host_of(const struct mp_registry *registry);

#endif
