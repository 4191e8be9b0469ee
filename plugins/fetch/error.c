#include "client.h"

#include <errno.h>
#include <string.h>

/* curl quotes the address of a proxy that it cannot use, with the password in it. */
static void hide_login(char *text)
{
    char *from = strstr(text, "://");
    char *at = from != NULL ? strrchr(from, '@') : NULL;
    if (at != NULL)
        memmove(from + 3, at + 1, strlen(at + 1) + 1);
}

/* One line, without what a terminal would take for more than text. */
static const char *problem(const struct mcplug_fetch_request *f, CURLcode code, char *out,
                           size_t size)
{
    const char *text = f->problem[0] != '\0' ? f->problem : curl_easy_strerror(code);
    size_t i = 0;
    for (; text[i] != '\0' && i + 1 < size; i++)
        out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
    while (i > 0 && out[i - 1] == ' ')
        i--;
    out[i] = '\0';
    hide_login(out);
    return out;
}

static int is_tls(CURLcode code)
{
    switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_SSL_ENGINE_INITFAILED:
        return 1;
    default:
        return 0;
    }
}

/* curl has it in words alone once a connection stands. */
static int errno_in(const char *text, int fallback)
{
    static const int known[] = {ETIMEDOUT, EHOSTUNREACH, EPIPE};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strstr(text, strerror(known[i])) != NULL)
            return known[i];
    return fallback;
}

/* The address was parsed before the request began, and a redirect stays at its origin. */
const struct url *fetch_peer(const struct mcplug_fetch_request *f, struct url *room)
{
    return f->is_own || url_parse(f->url, room) != NULL ? &f->client->origin : room;
}

/* Broke off after it was connected. */
static void broke_off(const struct mcplug_fetch_request *f, CURLcode code,
                      const char *host, const char *text, struct mcplug_error *why)
{
    const struct mcplug_diag *diag = f->client->host->diag;
    long os_error = 0;
    curl_easy_getinfo(f->easy, CURLINFO_OS_ERRNO, &os_error);
    if (f->told)
        diag->fail(why, MCPLUG_ECLOSED,
                   "%s: the connection ended in the middle of the answer (%s)", host,
                   text);
    else
        diag->fail(why, MCPLUG_ECLOSED, "%s: no answer (%s)", host, text);
    why->os_error = code == CURLE_SEND_ERROR ? (os_error != 0 ? (int)os_error : EPIPE)
                                             : (code == CURLE_RECV_ERROR && os_error != 0
                                                    ? (int)os_error
                                                    : errno_in(text, ECONNRESET));
}

void fetch_explain(const struct mcplug_fetch_request *f, CURLcode code,
                   struct mcplug_error *why)
{
    const struct mcplug_diag *diag = f->client->host->diag;
    struct url room;
    const struct url *peer = fetch_peer(f, &room);
    const char *host = peer->host;
    char text[CURL_ERROR_SIZE];
    long os_error = 0;
    problem(f, code, text, sizeof text);
    curl_easy_getinfo(f->easy, CURLINFO_OS_ERRNO, &os_error);
    if (is_tls(code)) {
        diag->fail(why, MCPLUG_EREFUSED, "TLS with %s failed: %s", host, text);
        return;
    }
    if (f->denied[0] != '\0' &&
        (code == CURLE_COULDNT_CONNECT || code == CURLE_ABORTED_BY_CALLBACK)) {
        diag->fail(
            why, MCPLUG_EREFUSED,
            "cannot connect to %s port %u: its address %s is blocked by enterprise "
            "policy",
            host, peer->port, f->denied);
        return;
    }
    long sent = 0;
    curl_easy_getinfo(f->easy, CURLINFO_REQUEST_SIZE, &sent);
    if (code == CURLE_COULDNT_CONNECT && sent > 0) { /* curl's own second try */
        broke_off(f, code, host, text, why);
        return;
    }
    long proxy_status = 0;
    curl_easy_getinfo(f->easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
    if (!f->told && proxy_status >= 300) {
        diag->fail(why, proxy_status == 407 ? MCPLUG_EAUTH : MCPLUG_EREFUSED,
                   "the proxy refuses to connect to %s port %u: HTTP %ld%s", host,
                   peer->port, proxy_status,
                   proxy_status == 407 ? "; it requires authentication" : "");
        return;
    }
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        diag->fail(why, MCPLUG_EREFUSED, "%s: %s", host, text);
        break;
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
        diag->fail(why, MCPLUG_EREFUSED, "cannot connect to %s port %u: %s", host,
                   peer->port, os_error != 0 ? strerror((int)os_error) : text);
        why->os_error = (int)os_error;
        break;
    case CURLE_OPERATION_TIMEDOUT:
        diag->fail(why, MCPLUG_ETIMEDOUT, "cannot connect to %s port %u: %s", host,
                   peer->port, text);
        why->os_error = ETIMEDOUT;
        break;
    case CURLE_OUT_OF_MEMORY:
        diag->fail(why, MCPLUG_ENOMEM, "out of memory");
        break;
    case CURLE_RECV_ERROR:
        if (strstr(text, "chunk") != NULL) { /* it has no code of its own */
            diag->fail(why, MCPLUG_EPROTO, "%s: %s", host, text);
            break;
        }
        broke_off(f, code, host, text, why);
        break;
    case CURLE_SEND_FAIL_REWIND: /* curl's own second try of a body that was pulled */
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_ABORTED_BY_CALLBACK: /* on_again(): the connection went */
        broke_off(f, code, host, text, why);
        break;
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        diag->fail(why, MCPLUG_ECLOSED,
                   "%s: the connection ended in the middle of the answer (%s)", host,
                   text);
        why->os_error = ECONNRESET;
        break;
    default:
        diag->fail(why, MCPLUG_EPROTO, "%s: %s", host, text);
        break;
    }
}
