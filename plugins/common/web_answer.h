/* plugins/common/web_answer.h - what a server answered, when it is not what was wanted.
 */
#ifndef MCPLUG_COMMON_WEB_ANSWER_H
#define MCPLUG_COMMON_WEB_ANSWER_H

#include <mcplug/fetch.h>

enum {
    WEB_PROBLEM_MAX = 65536, /* what is read of an answer that is an error */
    WEB_ADVICE_MAX = 128
};

struct web_answer {
    int status;
    int64_t retry_after_ms; /* -1: none */
    char type[64];
    char scheme[24]; /* of the login that it asks for; "": none */
    int is_unwanted; /* an error, or of a type that means nothing here */
    char *text;      /* of one that is, as far as it came; not ended by NUL */
    size_t len;
};

/* A new one; the text of the one before is dropped. `challenge` is the value of
 * WWW-Authenticate, or NULL. */
void web_answer_head(struct web_answer *a, const struct mcplug_fetch_head *head,
                     const char *challenge);
/* Keeps some of its text. 1: there is no room for more. */
int web_answer_keep(const struct mcplug_host *host, struct web_answer *a,
                    struct mcplug_bytes piece);
void web_answer_clear(const struct mcplug_host *host, struct web_answer *a);

/* What a server wrote, on one line, without control characters, cut to `size` with its
 * NUL between characters. */
void web_quote(const char *text, size_t len, char *out, size_t size);
/* "Not Found"; "" for the less known ones. */
const char *web_status_name(int status);
/* What to do about it, behind "; "; "": nobody knows. For what the bindings have in
 * common. `is_authorized`: the request had an Authorization. */
void web_answer_advise(const struct web_answer *a, int is_authorized,
                       char out[WEB_ADVICE_MAX]);
/* Puts it in words, `advice` behind them. */
void web_answer_explain(const struct mcplug_host *host, const struct web_answer *a,
                        const char *advice, struct mcplug_error *why);

/* Has the text this word in it, in any case? */
int web_answer_has(const struct web_answer *a, const char *word);
/* Is it an error of JSON-RPC? */
int web_answer_is_error(const struct web_answer *a);
/* Is it one that says more than the status? Who may not come in learns that from the
 * status. So does who asked a server that may have HTTP+SSE alone, unless it is an error
 * that only later ones know. */
int web_answer_tells(const struct web_answer *a, int is_initialize);

#endif /* MCPLUG_COMMON_WEB_ANSWER_H */
