#include "http.h"

#include "../common/url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *http_status_name(int status)
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

/* What the server wrote, on one line and without control characters. */
static void quote(const struct http_exchange *e, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < e->problem_len && n + 1 < size; i++) {
        unsigned char c = (unsigned char)e->problem[i];
        if (c <= ' ' || c == 0x7f) {
            if (n > 0 && out[n - 1] != ' ')
                out[n++] = ' ';
        } else {
            out[n++] = (char)c;
        }
    }
    while (n > 0 && ((unsigned char)out[n - 1] & 0xc0) == 0x80)
        n--; /* perhaps half a character */
    if (n > 0 && (unsigned char)out[n - 1] >= 0xc0)
        n--;
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

static int is_markup(const struct http_exchange *e)
{
    return strncasecmp(e->type, "text/html", 9) == 0;
}

/* What to do about it. */
static void advise(const struct http_exchange *e, char *out, size_t size)
{
    struct url url;
    out[0] = '\0';
    switch (e->status) {
    case 401:
        if (e->link->is_ide) {
            snprintf(out, size, "; the editor does not take this authToken");
            break;
        }
        snprintf(out, size, "; it needs a login: set a header such as Authorization");
        break;
    case 403:
        snprintf(out, size, "; what the headers say is not enough");
        break;
    case 404:
        if (e->link->is_sse)
            snprintf(out, size, "; no such endpoint; is it /sse?");
        else if (url_parse(e->link->url, &url) == NULL &&
                 strncmp(e->link->url + url.target, "/mcp", 4) != 0)
            snprintf(out, size, "; no such endpoint; is it /mcp?");
        else
            snprintf(out, size, "; no such endpoint");
        break;
    case 405:
        snprintf(out, size, "; %s",
                 e->link->is_sse ? "no stream of events is to be had there"
                                 : "no endpoint for POST; is it of type sse?");
        break;
    case 407:
        snprintf(out, size, "; the proxy wants a login");
        break;
    default:
        if (e->retry_after_ms > 0)
            snprintf(out, size, "; it wants to be left alone for %llds",
                     (long long)(e->retry_after_ms + 999) / 1000);
        break;
    }
}

void http_explain(const struct http_exchange *e, struct mcplug_error *why)
{
    const struct mcplug_diag *diag = e->link->host->diag;
    char said[256], advice[80];
    if (e->status < 300) {
        if (e->type[0] != '\0' && e->reading == HTTP_PROBLEM)
            diag->fail(why, MCPLUG_EPROTO,
                       "HTTP %d with content type \"%s\", which is not MCP", e->status,
                       e->type);
        else
            diag->fail(why, MCPLUG_EPROTO, "HTTP %d without an answer", e->status);
    } else {
        quote(e, said, is_markup(e) ? 1 : sizeof said);
        advise(e, advice, sizeof advice);
        diag->fail(why,
                   e->status == 401 || e->status == 403 || e->status == 407
                       ? MCPLUG_EAUTH
                       : MCPLUG_EREFUSED,
                   "HTTP %d %s%s%s%s", e->status, http_status_name(e->status),
                   said[0] != '\0' ? ": " : "", said, advice);
    }
    why->peer_status = e->status;
}

static int contains(const struct http_exchange *e, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= e->problem_len; i++)
        if (strncasecmp(e->problem + i, word, n) == 0)
            return 1;
    return 0;
}

static int is_error_object(const struct http_exchange *e)
{
    return strncasecmp(e->type, "application/json", 16) == 0 &&
           e->problem_len < HTTP_PROBLEM_MAX && contains(e, "\"jsonrpc\"") &&
           contains(e, "\"error\"");
}

/* Is it about the method or its parameters, as JSON-RPC has it? */
static int is_about_request(const struct http_exchange *e)
{
    return is_error_object(e) && (contains(e, "-32601") || contains(e, "-32602"));
}

/* 404 by the book; many servers say 400 and a text about sessions. */
int http_says_session_over(const struct http_exchange *e)
{
    if (!e->had_session || e->is_modern || is_about_request(e))
        return 0;
    return e->status == 404 || (e->status == 400 && contains(e, "session"));
}

/* The error of whoever stands before the server, and has not read the request. */
static int is_without_id(const struct http_exchange *e)
{
    return is_error_object(e) && (!contains(e, "\"id\"") || contains(e, "\"id\":null") ||
                                  contains(e, "\"id\": null"));
}

/* Was the request itself refused for that? 404 is what the specification has for it; a
 * 400 may have been said by a tool. One whose reply had begun was carried out. */
int http_says_not_carried_out(const struct http_exchange *e)
{
    return e->number != 0 && e->events == NULL && http_says_session_over(e) &&
           (e->status == 404 || is_without_id(e));
}

/* Who may not come in learns that from the status. So does who asked a server that may
 * have HTTP+SSE alone, unless it is an error that only later ones know. */
int http_says_jsonrpc(const struct http_exchange *e)
{
    if (e->status == 401 || e->status == 403 || e->status == 407)
        return 0;
    if (e->is_initialize && (e->status == 400 || e->status == 404 || e->status == 405) &&
        !contains(e, "-3202") && !contains(e, "-32601"))
        return 0;
    return is_error_object(e);
}
