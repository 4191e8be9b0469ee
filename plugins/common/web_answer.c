#include "web_answer.h"

#include "header.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The scheme that a challenge begins with. */
static void take_scheme(char *out, size_t size, const char *challenge)
{
    size_t n = challenge != NULL ? strcspn(challenge, " \t,") : 0;
    if (n >= size || !header_is_name(challenge != NULL ? challenge : "", n))
        n = 0;
    memcpy(out, n > 0 ? challenge : "", n);
    out[n] = '\0';
}

void web_answer_head(struct web_answer *a, const struct mcplug_fetch_head *head,
                     const char *challenge)
{
    a->status = head->status;
    a->retry_after_ms = head->retry_after_ms;
    snprintf(a->type, sizeof a->type, "%s", head->type);
    take_scheme(a->scheme, sizeof a->scheme, challenge);
    a->is_unwanted = 0;
    a->len = 0;
}

int web_answer_keep(const struct mcplug_host *host, struct web_answer *a,
                    struct mcplug_bytes piece)
{
    size_t room = WEB_PROBLEM_MAX - a->len;
    size_t n = piece.len < room ? piece.len : room;
    char *more = host->mem->resize(a->text, a->len + n + 1);
    if (more == NULL)
        return 0;
    memcpy(more + a->len, piece.data, n);
    a->text = more;
    a->len += n;
    return a->len == WEB_PROBLEM_MAX;
}

void web_answer_clear(const struct mcplug_host *host, struct web_answer *a)
{
    host->mem->free(a->text);
    a->text = NULL;
    a->len = 0;
}

const char *web_status_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } known[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {402, "Payment Required"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {407, "Proxy Authentication Required"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].status == status)
            return known[i].name;
    return "";
}

void web_quote(const char *text, size_t len, char *out, size_t size)
{
    size_t n = 0, i = 0;
    for (; i < len && n + 1 < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= ' ' || c == 0x7f) {
            if (n > 0 && out[n - 1] != ' ')
                out[n++] = ' ';
        } else {
            out[n++] = (char)c;
        }
    }
    if (i < len && ((unsigned char)text[i] & 0xc0) == 0x80) { /* half a character */
        while (n > 0 && ((unsigned char)out[n - 1] & 0xc0) == 0x80)
            n--;
        if (n > 0 && (unsigned char)out[n - 1] >= 0xc0)
            n--;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

void web_answer_advise(const struct web_answer *a, int is_authorized,
                       char out[WEB_ADVICE_MAX])
{
    out[0] = '\0';
    switch (a->status) {
    case 401:
        snprintf(out, WEB_ADVICE_MAX, "%s%s%s%s",
                 is_authorized ? "; the server rejected the Authorization header"
                               : "; authentication required: set a header such as "
                                 "Authorization",
                 a->scheme[0] != '\0' ? " (the server asks for " : "", a->scheme,
                 a->scheme[0] != '\0' ? ")" : "");
        break;
    case 403:
        snprintf(out, WEB_ADVICE_MAX, "; the credentials do not grant access");
        break;
    case 407:
        snprintf(out, WEB_ADVICE_MAX, "; the proxy requires authentication");
        break;
    default:
        if (a->retry_after_ms > 0)
            snprintf(out, WEB_ADVICE_MAX, "; retry after %llds",
                     (long long)(a->retry_after_ms + 999) / 1000);
        break;
    }
}

void web_answer_explain(const struct mcplug_host *host, const struct web_answer *a,
                        const char *advice, struct mcplug_error *why)
{
    char said[256];
    if (a->status < 300 && a->is_unwanted && a->type[0] != '\0') {
        host->diag->fail(why, MCPLUG_EPROTO,
                         "HTTP %d with content type \"%s\", which is not MCP", a->status,
                         a->type);
    } else if (a->status < 300) {
        host->diag->fail(why, MCPLUG_EPROTO, "HTTP %d without an answer", a->status);
    } else {
        web_quote(a->text, a->len, said,
                  strcmp(a->type, "text/html") == 0 ? 1 : sizeof said);
        if (said[0] == '\0' && advice[0] != '\0')
            advice += 2; /* it is the reason then */
        host->diag->fail(why,
                         a->status == 401 || a->status == 403 || a->status == 407
                             ? MCPLUG_EAUTH
                             : MCPLUG_EREFUSED,
                         "HTTP %d %s%s%s%s", a->status, web_status_name(a->status),
                         said[0] != '\0' || advice[0] != '\0' ? ": " : "", said, advice);
    }
    why->peer_status = a->status;
}

int web_answer_has(const struct web_answer *a, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= a->len; i++)
        if (strncasecmp(a->text + i, word, n) == 0)
            return 1;
    return 0;
}

int web_answer_is_error(const struct web_answer *a)
{
    return strcmp(a->type, "application/json") == 0 && a->len < WEB_PROBLEM_MAX &&
           web_answer_has(a, "\"jsonrpc\"") && web_answer_has(a, "\"error\"");
}

int web_answer_tells(const struct web_answer *a, int is_initialize)
{
    if (a->status == 401 || a->status == 403 || a->status == 407)
        return 0;
    if (is_initialize && (a->status == 400 || a->status == 404 || a->status == 405) &&
        !web_answer_has(a, "-3202") && !web_answer_has(a, "-32601"))
        return 0;
    return web_answer_is_error(a);
}
