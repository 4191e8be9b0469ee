/* What the host and mcplug-worker say to each other, on a socket that keeps messages
 * apart (SOCK_SEQPACKET). Both are of one build. The host believes nothing that a worker
 * sends: every length is checked, texts are cleaned where they are used.
 *
 *   worker  HELLO: it has loaded its module and locked itself in, or why not
 *   host    MATCH, CONVERT, the latter with two descriptors: what goes in, and an empty
 *           file for what comes out
 *   worker  DONE, for each
 */
#ifndef MP_CONVERT_MESSAGE_H
#define MP_CONVERT_MESSAGE_H

#include <mcplug/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_WORKER_FD 3                        /* the worker's end */
#define MP_WORKER_MAGIC 0x4d43504bu           /* "MCPK" */
#define MP_WORKER_TEXT ((size_t)48 << 10)     /* bytes of all texts of a message */
#define MP_CONVERT_INPUT ((uint64_t)64 << 20) /* bytes that are taken */
#define MP_CONVERT_OUTPUT ((uint64_t)64 << 20)

enum mp_worker_kind {
    MP_WORKER_HELLO = 1,
    MP_WORKER_MATCH,
    MP_WORKER_CONVERT,
    MP_WORKER_DONE
};

/* Texts follow the head, each with a NUL behind it; `len` are their lengths without it.
 */
enum {
    MP_TEXT_MIME,     /* of what goes in; of what came out */
    MP_TEXT_WANT,     /* "": as it is */
    MP_TEXT_SETTINGS, /* JSON: of all converters, by their names */
    MP_TEXT_EXTRA,    /* JSON: of the caller, for this conversion; "": none */
    MP_TEXT_ERROR,
    MP_TEXT_FACTS, /* NAME, newline, value, newline, .. */
    MP_TEXTS
};

struct mp_worker_head {
    uint32_t magic, kind;
    uint64_t serial;
    int32_t code;  /* of DONE and HELLO; DONE to MATCH: how well */
    int32_t leave; /* of DONE: not 0, the worker ends now */
    uint32_t max_width, max_height;
    uint64_t max_bytes, max_pixels;
    uint64_t size; /* of the body */
    uint32_t len[MP_TEXTS];
    uint32_t reserved;
};

struct mp_worker_message {
    struct mp_worker_head head;
    const char *texts[MP_TEXTS]; /* never NULL in what was received */
    int fds[2];                  /* -1: none */
    char room[sizeof(struct mp_worker_head) + MP_WORKER_TEXT];
};

/* Sends `head`, whose magic and lengths are filled in, with texts (NULL is "") and
 * `n_fds` descriptors. 0, or an errno: EMSGSIZE: the texts are too long; EAGAIN: without
 * `waits`, the other end does not read. */
int mp_worker_send(int fd, struct mp_worker_message *m, int n_fds, bool waits);
/* Receives one, waiting. 0, or an errno: EPIPE: the other end is gone; EPROTO: it is no
 * message. Descriptors are the caller's; there are none after a failure. */
int mp_worker_receive(int fd, struct mp_worker_message *m);
void mp_worker_close_fds(struct mp_worker_message *m);

#endif
