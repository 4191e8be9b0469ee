/* How a configured server is to be kept, and which of its tools may be used: the keys
 * that are not settings of its transport. [any] */
#ifndef MP_CONFIG_SUPERVISION_H
#define MP_CONFIG_SUPERVISION_H

#include "config/config.h"

#define MP_OUTPUT_LIMIT 100000000 /* tokens of a result that may be asked for */

struct mp_timeouts { /* 0: not set */
    uint32_t connect_ms;
    uint32_t request_ms;
    uint64_t tool_ms;
};

struct mp_supervision {
    struct mp_timeouts timeouts; /* "timeouts" */
    bool shared;                 /* "shared", true unless it says otherwise */
    bool keep_alive;             /* "keepAlive", false unless it says otherwise */
    char *probe;                 /* "healthProbe"; NULL: by era */
    char *probe_url;             /* "healthUrl"; NULL: none */
    uint64_t idle_ms;            /* "idle", a duration; 0: never stopped for being idle */
    uint64_t max_spill;          /* "maxSpill", bytes; 0: as it is by default */
    char *queue;                 /* "queue"; NULL: none */
    char **tool_queues; /* "toolQueues": TOOL, QUEUE, TOOL, QUEUE .. NULL-ended; NULL */
    uint32_t max_output_tokens; /* "maxOutputTokens"; 0: as it is by default */
    uint32_t output_tail;       /* "outputTail", percent; 0: none */
    char **tool_output_tokens;  /* "toolMaxOutputTokens": as tool_queues */
    char **tools_allowed;       /* NULL-ended; NULL: all */
    char **tools_denied;        /* NULL-ended; NULL: none */
    char **tools_approved;      /* likewise */
    char **tools_asked;         /* likewise */
};

/* Only for entries that are not broken. MCPLUG_ENOMEM. Clear in any case. */
int mp_entry_supervision(const struct mp_entry *entry, struct mp_supervision *out,
                         struct mcplug_error *err);
/* The same of an entry's text, where the members of another object, which have been
 * checked, come first; either may be empty. */
int mp_supervision_read(mp_view first, mp_view entry, struct mp_supervision *out,
                        struct mcplug_error *err);
void mp_supervision_clear(struct mp_supervision *supervision);

#define MP_QUEUES_MAX 1000            /* that one file may name */
#define MP_QUEUE_CONCURRENT_MAX 10000 /* from 1 */
#define MP_QUEUE_WAITING_MAX 100000   /* from 0, which is as if it were not said */

/* Warns of keys of a file that look like one of ours and are none. */
void mp_config_check_top(struct mcplug_config *config, const struct mp_source *source,
                         mp_view top);

/* Checks "queues" of a file, len 0: it has none, and keeps it for mp_config_queue(). */
void mp_config_take_queues(struct mcplug_config *config, struct mp_source *source,
                           mp_view queues);

/* What "queues" of the configuration's files says of a queue: {"NAME": 4}, or
 * {"NAME": {"concurrent": 4, "waiting": 100}}; the highest scope that names it wins. 0 in
 * either: not said, or no number that could be used. false: no file names it. Only files
 * that need no approval count. */
bool mp_config_queue(const struct mcplug_config *config, const char *name,
                     unsigned *concurrent, unsigned *waiting);

#endif
