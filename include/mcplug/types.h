/* mcplug/types.h - the few types that embedders and modules share.
 *
 * Included by <mcplug/mcplug.h> (programs) and <mcplug/plugin.h> (modules).
 */
#ifndef MCPLUG_TYPES_H
#define MCPLUG_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MCPLUG_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define MCPLUG_PRINTF(f, a)
#endif

struct mcplug_bytes {
    const unsigned char *data;
    size_t len;
};

struct mcplug_pair {
    const char *name;
    const char *value;
};

enum {
    MCPLUG_OK = 0,
    MCPLUG_EINVAL = -1, /* caller broke the contract */
    MCPLUG_ENOMEM = -2,
    MCPLUG_ENOTSUP = -3,
    MCPLUG_ECONFIG = -4,  /* a setting is missing or malformed */
    MCPLUG_EREFUSED = -5, /* peer unreachable, or it or a policy said no */
    MCPLUG_EAUTH = -6,    /* credentials wanted; see peer_status */
    MCPLUG_EPROTO = -7,   /* peer broke framing or protocol */
    MCPLUG_ETOOBIG = -8,  /* a limit was passed; the text names it */
    MCPLUG_ETIMEDOUT = -9,
    MCPLUG_ECANCELED = -10,
    MCPLUG_ECLOSED = -11,
    MCPLUG_EIO = -12,
    MCPLUG_EOVERLOADED = -13, /* a queue is full; try again later */
    MCPLUG_EPEER = -14,       /* peer answered with an error; see peer_status */
    /* The server was up once, and an attempt to start it again failed; the text begins
     * with mcp_restart_failed. Attempts go on. */
    MCPLUG_ERESTART = -15,
    /* It is being started already; the text begins with mcp_restart_in_progress. */
    MCPLUG_ERESTARTING = -16
};

/* What is known of a request that failed: mcplug_error.flags. */
enum {
    MCPLUG_ERROR_SENT = 1, /* it had left: the server may have carried it out */
    /* It is safe to repeat, for it was not carried out, or it has no effects; which does
     * not mean that it will succeed then. */
    MCPLUG_ERROR_RETRY = 2
};

/* Caller-allocated, so a failure can be told even without memory. Begins as
 * MCPLUG_ERROR_INIT; members behind struct_size are not written. */
struct mcplug_error {
    uint32_t struct_size;
    int32_t code;        /* MCPLUG_E* */
    int32_t os_error;    /* errno, or 0 */
    int32_t peer_status; /* JSON-RPC or HTTP status, close code, exit status */
    char text[496];      /* one line, no trailing newline */
    uint32_t flags;      /* MCPLUG_ERROR_*, or-ed; 0: it was no request */
    uint32_t reserved;   /* 0 */
};
#define MCPLUG_ERROR_INIT                                                                \
    {                                                                                    \
        sizeof(struct mcplug_error), 0, 0, 0, "", 0, 0                                   \
    }

/* Severities, as they appear in log lines: ERR WRN VRB TRC. */
enum { MCPLUG_LOG_ERROR, MCPLUG_LOG_WARN, MCPLUG_LOG_VERBOSE, MCPLUG_LOG_TRACE };

#ifdef __cplusplus
}
#endif
#endif /* MCPLUG_TYPES_H */
