/* plugins/common/net_private.h - what the parts of net share. */
#ifndef MCPLUG_COMMON_NET_PRIVATE_H
#define MCPLUG_COMMON_NET_PRIVATE_H

#include "net.h"
#include "url.h"

#include <curl/curl.h>
#include <sys/types.h>

enum {
    NET_LINES_MAX = 80, /* header lines of one request, those of the settings apart */
    NET_SPARE_MAX = 64, /* idle easy handles that are kept */
    NET_TURN = 131072,  /* bytes that may come in one turn of the loop .. */
    NET_TURN_CODED = 1 << 20 /* .. and if they were compressed, which curl keeps */
};
#define NET_NEVER INT64_MAX

/* A descriptor of curl's that is watched. Those of connections stay watched while they
 * are idle: asking the kernel twice for each request costs more than the request. */
struct net_socket {
    struct net *net;
    int fd;
    int is_ours;     /* opened by us */
    int is_live;     /* has carried a request: we hear when it is closed */
    ino_t inode;     /* of ours: is it still the same? */
    unsigned wanted; /* what curl waits for */
    unsigned armed;  /* what the loop waits for */
    mcplug_watch *watch;
};

struct net {
    const struct mcplug_host *host;
    mcplug_self *self;
    CURLM *multi;
    struct url origin;
    struct curl_slist *fixed; /* header lines of every request to the origin */
    char user_agent[256];
    char *ca, *cert, *key, *proxy;
    int insecure, no_proxy;
    long connect_ms;
    long idle_s; /* how long the peer keeps an idle connection; 0: unknown */

    struct net_socket **sockets; /* by descriptor */
    size_t n_sockets;
    mcplug_timer *timer;
    uint64_t timer_due;
    int64_t due; /* when curl wants to be called; NET_NEVER */

    struct net_fetch *fetches; /* all under way */
    CURL *spare[NET_SPARE_MAX];
    size_t n_spare;
    size_t n_under_way, n_stopped, n_paused, n_broken;
    size_t n_owing; /* fetches that owe sent() */
    size_t budget;  /* bytes that may still come in this turn */
    int running;    /* what curl says of them */
    int busy;       /* inside of curl */
    int failed;     /* curl had no memory: net_collect() begins anew */
};

struct net_fetch {
    struct net *net;
    CURL *easy;
    const struct net_events *events;
    void *arg;
    struct net_fetch *prev, *next;
    mcplug_buf *body;
    const char *method;
    int once, hops, added, stopped, lost;
    int paused;      /* the turn has had enough */
    CURLcode broken; /* failed as it went on after that; no message of curl's follows */
    int told;        /* head() was called */
    int tries;
    int written;
    int owes; /* sent(), once all of it has left */
    size_t header_bytes;
    uint64_t decoded;
    int is_coded; /* Content-Encoding */
    struct net_head head;
    char *session, *location; /* of the head */
    const char *url;
    char *moved;             /* where it is after a redirect */
    struct mcplug_error why; /* ours, when we ended it */
    char problem[CURL_ERROR_SIZE];
    struct curl_slist lines[NET_LINES_MAX];
    size_t n_lines;
    char *text; /* of the lines */
};

/* net_loop.c */
int net_loop_init(struct net *net);
void net_loop_clear(struct net *net);
/* After a failure, when nothing is under way. Closes every connection. */
int net_loop_renew(struct net *net);
/* Lets curl do what is due. */
void net_kick(struct net *net);
/* Sees to it that net_collect() is called soon. */
void net_soon(struct net *net);
/* It must be made once at most, and may have been. */
int net_must_not_try(const struct net_fetch *f);
curl_socket_t net_open_socket(void *arg, curlsocktype purpose,
                              struct curl_sockaddr *address);
int net_close_socket(void *arg, curl_socket_t fd);

/* A turn begins: so much may come in until others are served. */
void net_refill(struct net *net);

/* net_head.c: for curl's header function. Returns `len` or fills f->why. */
size_t net_head_line(struct net_fetch *f, const char *line, size_t len);

/* net_error.c: what became of a transfer, in our words. */
void net_explain(const struct net_fetch *f, CURLcode code, struct mcplug_error *why);

/* net.c: to be called when curl may have finished some. */
void net_collect(struct net *net);

#endif
