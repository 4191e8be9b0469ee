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

/* ---- conversations with a model -------------------------------------------- */

enum mcplug_role { MCPLUG_ROLE_USER = 1, MCPLUG_ROLE_ASSISTANT = 2 };

enum mcplug_item_kind {
    MCPLUG_ITEM_TEXT = 1,
    MCPLUG_ITEM_IMAGE = 2,    /* Base64 of image/png, image/jpeg, image/gif, image/webp */
    MCPLUG_ITEM_DOCUMENT = 3, /* Base64 of application/pdf */
    MCPLUG_ITEM_TOOL_USE = 4, /* of the assistant: a tool is to be called */
    MCPLUG_ITEM_TOOL_RESULT = 5 /* of the user: what it answered */
};

struct mcplug_item { /* a part of a message */
    uint32_t struct_size;
    uint32_t kind; /* enum mcplug_item_kind */
    /* The text, UTF-8; Base64 of images and documents; of a tool's use the arguments, a
     * JSON object. With a NUL behind it. */
    struct mcplug_bytes text;
    const char *mime;  /* of images and documents */
    const char *name;  /* of a document, or NULL; of the tool, also of a result */
    const char *id;    /* which a use and its result share */
    uint32_t is_error; /* not 0: the result says why the tool failed */
    uint32_t n_items;
    const struct mcplug_item *const *items; /* of a result: texts, images, documents */
};

struct mcplug_message {
    uint32_t struct_size;
    uint32_t role; /* enum mcplug_role */
    const struct mcplug_item *const *items;
    size_t n_items;
    /* Of the assistant: the turn as the API of the model that is asked wrote it, JSON; to
     * be sent back byte for byte. Empty: another model said it, and it is to be made from
     * the items. */
    struct mcplug_bytes raw;
};

/* Tokens, as the model's API counts them. */
struct mcplug_usage {
    uint32_t struct_size;
    uint32_t reserved;       /* 0 */
    uint64_t input;          /* all that was sent, the next two included */
    uint64_t input_cached;   /* of these read from a cache */
    uint64_t input_to_cache; /* of these written to one */
    uint64_t output;
};

enum mcplug_stop { /* why a model stopped */
                   MCPLUG_STOP_END = 1,
                   MCPLUG_STOP_TOOLS = 2,   /* it waits for what tools say */
                   MCPLUG_STOP_LENGTH = 3,  /* the answer was as long as it may be */
                   MCPLUG_STOP_REFUSED = 4, /* it, or a filter, does not want to answer */
                   MCPLUG_STOP_FULL = 5,    /* the conversation does not fit any more */
                   MCPLUG_STOP_PAUSED = 6   /* it goes on when it gets its turn back */
};

/* Severities, as they appear in log lines: ERR WRN VRB TRC. */
enum { MCPLUG_LOG_ERROR, MCPLUG_LOG_WARN, MCPLUG_LOG_VERBOSE, MCPLUG_LOG_TRACE };

#ifdef __cplusplus
}
#endif
#endif /* MCPLUG_TYPES_H */
