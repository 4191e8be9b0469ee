/* plugins/fetch/client.h - HTTP requests on the core's loop, by libcurl.
 *
 *   fetch.c    what the core and other modules see: the service
 *   client.c   what the settings say about the network
 *   request.c  one request, from its start to its end
 *   share.c    whose turn it is, when a host has many under way
 *   lines.c    its headers: those of the settings, replaced by its own
 *   body.c     its body, if that is pulled in pieces
 *   cookies.c  cookies of the origin
 *   head.c     the headers of its answer
 *   loop.c     curl on the core's loop
 *   error.c    what became of it, in words
 *
 * <mcplug/fetch.h> has the rules that are kept here. [loop]
 */
#ifndef MCPLUG_FETCH_CLIENT_H
#define MCPLUG_FETCH_CLIENT_H

#include "../common/ip.h"
#include "../common/url.h"

#include <curl/curl.h>
#include <mcplug/fetch.h>
#include <sys/types.h>

enum {
    FETCH_VALUE_MAX = 8192, /* of a header that we look at */
    FETCH_LINES_MAX = 128,  /* headers of one request, those of the settings apart */
    FETCH_COOKIES_MAX = 64, /* of one client, .. */
    FETCH_COOKIE_BYTES_MAX = 16384,  /* .. their texts together, .. */
    FETCH_COOKIE_MAX = 4096,         /* .. one as it comes, .. */
    FETCH_COOKIE_AGE_MAX = 34560000, /* .. and how many seconds it lives: 400 days */
    FETCH_SPARE_MAX = 64,            /* idle easy handles that are kept */
    FETCH_SHARE_MIN = 64,   /* requests of one host under way: a quarter of the .. */
    FETCH_SHARE_MAX = 4096, /* .. descriptors that the process may have, within these */
    FETCH_RESERVED = 8,     /* that each client may have even so */
    FETCH_TURN = 131072,    /* bytes that may come in one turn of the loop .. */
    FETCH_TURN_CODED = 1 << 20 /* .. and if they were compressed, which curl keeps */
};
#define FETCH_NEVER INT64_MAX

/* As numbers that messages can have in them. */
#define FETCH_HEADER_MAX 65536 /* bytes of all response headers together */
#define FETCH_DECODED_MAX                                                                \
    67108864               /* bytes that a compressed body may always become ..          \
                            */
#define FETCH_RATIO_MAX 64 /* .. and how many times its size beyond that */
#define FETCH_TEXT(number) FETCH_TEXT_OF(number)
#define FETCH_TEXT_OF(number) #number

/* What init() got, for one host of possibly many. */
struct fetch_module {
    const struct mcplug_host *host;
    mcplug_self *self;
    size_t share;       /* requests under way, of all clients, .. */
    size_t n_begun;     /* .. and how many are */
    size_t n_connected; /* sockets, those of idle connections too */
    struct fetch_waiting {
        struct mcplug_fetch_request *first, **last;
    } waiting;           /* requests, as they came */
    mcplug_timer *timer; /* looks whose turn it is */
};

/* A descriptor of curl's that is watched. Those of connections stay watched while they
 * are idle: asking the kernel twice for each request costs more than the request. */
struct fetch_socket {
    struct mcplug_fetch_client *client;
    int fd;
    int is_ours;     /* opened by us */
    int is_live;     /* has carried a request: we hear when it is closed */
    ino_t inode;     /* of ours: is it still the same? */
    unsigned wanted; /* what curl waits for */
    unsigned armed;  /* what the loop waits for */
    mcplug_watch *watch;
};

/* Requests that have ended and are not told yet, in that order. */
struct fetch_ended {
    struct mcplug_fetch_request *first, **last;
};

struct mcplug_fetch_client {
    const struct mcplug_host *host;
    mcplug_self *self;
    struct fetch_module *module;
    CURLM *multi;
    struct url origin;
    char *url;                /* of the settings */
    struct curl_slist *fixed; /* header lines of every request to the origin */
    char user_agent[64];      /* our own; that of the settings is among `fixed` */
    char *ca, *cert, *key, *proxy;
    char **denied; /* addresses that the policy denies; NULL-ended; NULL: none */
    int insecure;
    long connect_ms;
    struct fetch_cookie *cookies; /* NULL: none so far */
    size_t n_cookies, cookie_bytes;
    uint64_t cookie_age; /* of the last one */
    long idle_s;         /* how long the peer keeps an idle connection; 0: unknown */

    struct fetch_socket **sockets; /* by descriptor */
    size_t n_sockets;
    mcplug_timer *timer;
    uint64_t timer_due;
    int64_t due; /* when curl wants to be called; FETCH_NEVER */

    struct mcplug_fetch_request *requests; /* all under way */
    struct fetch_ended ended;              /* told at the end of this turn, .. */
    struct fetch_ended ended_early;        /* .. or of the next: inside of start() */
    CURL *spare[FETCH_SPARE_MAX];          /* for requests to the origin */
    size_t n_spare;
    size_t n_begun; /* of them, those that do not wait for their turn */
    size_t n_under_way, n_stopped, n_paused, n_broken, n_resumed;
    size_t n_late;  /* requests whose head is not told yet */
    size_t n_owing; /* requests that owe sent() */
    size_t budget;  /* bytes that may still come in this turn */
    int busy;       /* inside of curl, or of an event that it makes */
    int is_quiet;   /* inside of a function of the table: events come later */
    int telling;    /* going through the requests: none is freed */
    int failed;     /* curl had no memory: fetch_collect() begins anew */
};

struct mcplug_fetch_request {
    struct mcplug_fetch_client *client;
    CURL *easy;
    const struct mcplug_fetch_events *events;
    void *arg;
    struct mcplug_fetch_request *prev, *next;
    struct mcplug_fetch_request *later, **before; /* NULL: does not wait for its turn */
    int has_turn;                                 /* counts as one under way */
    int has_begun;                                /* curl has had it */
    mcplug_buf *body;
    const char *method;
    int once, is_eager, hops, added, stopped, lost;
    int is_own;      /* to the client's origin */
    uint64_t pulled; /* of the body, or MCPLUG_FETCH_STREAM; 0: none is */
    uint64_t n_pulled;
    int is_later;   /* curl waits for more of it .. */
    int is_resumed; /* .. which there is */
    int is_at_end;  /* all of a stream was pulled */
    int paused;     /* the turn has had enough */
    struct mcplug_fetch_request *ended_next, **ended_before; /* NULL: has not ended */
    CURLcode result;
    CURLcode broken; /* failed as it went on after that; no message of curl's follows */
    int told;        /* head() was called, or will be: */
    int is_late;     /* once nobody is inside of a function of the table */
    int tries;
    int written;
    int owes; /* sent(), once all of it has left */
    size_t header_bytes;
    uint64_t decoded;
    int is_coded; /* Content-Encoding */
    struct mcplug_fetch_head head;
    char type[64];
    const char *const *wants;
    char *values[MCPLUG_FETCH_WANTS_MAX]; /* of the head */
    size_t n_wants;
    char *location;
    unsigned left_out; /* bits: values that are too long; behind them the location */
    const char *url;
    char *moved;          /* where it is after a redirect */
    int code;             /* ours, when we ended it .. */
    const char *reason;   /* .. and why; static text */
    char denied[IP_TEXT]; /* an address that it was not let connect to; "": none */
    char problem[CURL_ERROR_SIZE];
    struct curl_slist *lines; /* with their text behind them */
    struct curl_slist cookie; /* before them, if it has a text */
    int has_cookie;           /* a line, so those of the client are not sent */
};

/* ---- client.c ---- */

int fetch_client_new(void *ctx, const mcplug_props *settings, const char *url,
                     mcplug_fetch_client **out, struct mcplug_error *err);
void fetch_client_free(mcplug_fetch_client *client);
/* The proxy for that address: "" none, NULL what curl finds in the environment. */
const char *fetch_proxy(const struct mcplug_fetch_client *client, const struct url *url);

/* Does the policy deny that address, before and after it is connected to? The request
 * takes note. */
int fetch_is_denied(struct mcplug_fetch_request *f, const struct sockaddr *to);
int fetch_is_denied_peer(struct mcplug_fetch_request *f, const char *ip, int port);

/* ---- request.c ---- */

int fetch_start(mcplug_fetch_client *client, const struct mcplug_fetch_ask *ask,
                const struct mcplug_fetch_events *events, void *arg,
                mcplug_fetch_request **out, struct mcplug_error *err);
void fetch_stop(mcplug_fetch_request *f);
int fetch_is_written(const mcplug_fetch_request *f);
/* It must be made once at most, and may have been. */
int fetch_must_not_try(const struct mcplug_fetch_request *f);
/* Takes note of those that curl has finished; to be called whenever it was. */
void fetch_note_ended(struct mcplug_fetch_client *client);
/* Those that ended inside of start() are told with this turn. */
void fetch_ended_join(struct mcplug_fetch_client *client);
/* Tells what is due at the end of a turn. */
void fetch_collect(struct mcplug_fetch_client *client);

/* Begins one that had to wait; tells its end if that fails. */
void fetch_begin(struct mcplug_fetch_request *f);

/* Is somebody inside of a function of the table, who does not expect events of it? */
int fetch_is_quiet(const struct mcplug_fetch_request *f);
/* Tells the head that had to wait. */
void fetch_tell_head(struct mcplug_fetch_request *f);

/* ---- share.c ---- */

void fetch_share_init(struct fetch_module *module);
void fetch_share_clear(struct fetch_module *module);
/* True: it may begin. Else fetch_begin() follows when others have ended. */
int fetch_share_take(struct mcplug_fetch_request *f);
void fetch_share_give(struct mcplug_fetch_request *f); /* it ends; none taken is fine */
/* Is its connection to be closed with it? */
int fetch_share_is_exceeded(const struct mcplug_fetch_request *f);

/* ---- body.c ---- */

/* For curl's read function. */
size_t fetch_body_pull(char *buf, size_t size, size_t n, void *arg);
void fetch_resume(mcplug_fetch_request *f);

/* ---- cookies.c ---- */

/* The value of Set-Cookie, in an answer of the origin. */
void fetch_cookie_take(struct mcplug_fetch_request *f, const char *line, size_t len);
/* Fills f->cookie. -1: no memory */
int fetch_cookies_write(struct mcplug_fetch_request *f);
void fetch_cookies_clear(struct mcplug_fetch_client *client);

/* ---- lines.c ---- */

/* The lines of this request, in memory of its own, and behind them those of the settings
 * that they don't replace, if it goes to their origin. */
int fetch_lines_set(struct mcplug_fetch_request *f, const struct mcplug_fetch_ask *ask,
                    struct mcplug_error *err);

/* ---- head.c ---- */

/* For curl's header function. Returns `len`, or 0 and sets f->code. */
size_t fetch_head_line(struct mcplug_fetch_request *f, const char *line, size_t len);
void fetch_head_clear(struct mcplug_fetch_request *f);

/* ---- loop.c ---- */

int fetch_loop_init(struct mcplug_fetch_client *client);
void fetch_loop_clear(struct mcplug_fetch_client *client);
/* After a failure, when nothing is under way. Closes every connection. */
int fetch_loop_renew(struct mcplug_fetch_client *client);
/* Lets curl do what is due. */
void fetch_kick(struct mcplug_fetch_client *client);
/* Sees to it that fetch_collect() is called soon. */
void fetch_soon(struct mcplug_fetch_client *client);
curl_socket_t fetch_open_socket(void *arg, curlsocktype purpose,
                                struct curl_sockaddr *address);
int fetch_close_socket(void *arg, curl_socket_t fd);

/* ---- error.c ---- */

/* Whom it went to: the client's origin, or in `room` another. */
const struct url *fetch_peer(const struct mcplug_fetch_request *f, struct url *room);
/* What became of a transfer, in our words. */
void fetch_explain(const struct mcplug_fetch_request *f, CURLcode code,
                   struct mcplug_error *why);

#endif /* MCPLUG_FETCH_CLIENT_H */
