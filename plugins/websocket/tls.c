/* plugins/websocket/tls.c - TLS settings, see tls.h
 *
 * The verification that libwebsockets comes with finds its connection through an index
 * that every new context moves, cuts long host names, and knows no IPv6 addresses. So the
 * whole of it is done here.
 */
#include "tls.h"

#include "link.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

/* ---- a connection --------------------------------------------------------- */

static struct ws_link *link_of(const SSL *ssl)
{
    struct ws_engine *e = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    int fd = SSL_get_fd(ssl);
    for (struct ws_link *l = e->links; l != NULL; l = l->next)
        if (l->wsi != NULL && lws_get_socket_fd(l->wsi) == fd)
            return l;
    return NULL;
}

static int as_it_is(int is_ok, X509_STORE_CTX *store)
{
    (void)store;
    return is_ok;
}

/* In place of the whole verification: 1 goes on with the handshake. */
static int verify(X509_STORE_CTX *store, void *arg)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct ws_link *l = ssl != NULL ? link_of(ssl) : NULL;
    (void)arg;
    if (l == NULL) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
        return 0;
    }
    if (l->target.insecure) {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        return 1;
    }
    const char *host = l->target.url.host;
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(store);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    ERR_set_mark(); /* what is left there would count as a failure of the handshake */
    int is_set = X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1 ||
                 X509_VERIFY_PARAM_set1_host(param, host, 0) == 1;
    ERR_pop_to_mark();
    X509_STORE_CTX_set_verify_cb(store, as_it_is);
    if (!is_set)
        X509_STORE_CTX_set_error(store, X509_V_ERR_OUT_OF_MEM);
    else if (X509_verify_cert(store) == 1)
        return 1;
    snprintf(l->tls_reason, sizeof l->tls_reason, "its certificate: %s",
             X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
    return 0;
}

static void keep_reason(const SSL *ssl, const char *who, const char *what)
{
    struct ws_link *l = link_of(ssl);
    if (l != NULL && l->tls_reason[0] == '\0' && what != NULL)
        snprintf(l->tls_reason, sizeof l->tls_reason, "%s%s", who, what);
}

/* Addresses are no names for SNI, and of IPv6 ones libwebsockets leaves a bracket. */
static void drop_address(SSL *ssl)
{
    unsigned char address[sizeof(struct in6_addr)];
    const struct ws_link *l = link_of(ssl);
    if (l != NULL &&
        (l->target.url.is_ipv6 || inet_pton(AF_INET, l->target.url.host, address) == 1))
        SSL_set_tlsext_host_name(ssl, NULL);
}

/* Keeps why a handshake fails: the first alert of the server, or what OpenSSL has found,
 * which libwebsockets forgets. */
static void on_info(const SSL *ssl, int where, int ret)
{
    if (where == SSL_CB_HANDSHAKE_START && SSL_in_before(ssl))
        drop_address((SSL *)(uintptr_t)ssl);
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && ret >> 8 == SSL3_AL_FATAL)
        keep_reason(ssl, "the server says: ", SSL_alert_desc_string_long(ret));
    else if (where == SSL_CB_CONNECT_EXIT && ret <= 0 && ERR_peek_error() != 0)
        keep_reason(ssl, "", ERR_reason_error_string(ERR_peek_error()));
}

/* ---- settings ------------------------------------------------------------- */

static int no_password(char *buf, int size, int is_writing, void *arg)
{
    (void)buf, (void)size, (void)is_writing, (void)arg;
    return -1; /* nobody is asked on the terminal */
}

/* The first of the list is the nearest to the cause. */
static const char *reason(void)
{
    unsigned long code = ERR_peek_error();
    if (ERR_SYSTEM_ERROR(code))
        return strerror(ERR_GET_REASON(code));
    const char *text = ERR_reason_error_string(code);
    return text != NULL ? text : "unknown reason";
}

static int read_files(SSL_CTX *tls, const struct mcplug_host *host,
                      const struct ws_target *t, struct mcplug_error *err)
{
    int ok = t->ca_file != NULL ? SSL_CTX_load_verify_file(tls, t->ca_file)
                                : SSL_CTX_set_default_verify_paths(tls);
    if (ok != 1)
        return host->diag->fail(err, MCPLUG_ECONFIG, "caFile %s: %s",
                                t->ca_file != NULL ? t->ca_file : "(the system's)",
                                reason());
    if (t->cert_file == NULL)
        return MCPLUG_OK;
    if (SSL_CTX_use_certificate_chain_file(tls, t->cert_file) != 1)
        return host->diag->fail(err, MCPLUG_ECONFIG, "certFile %s: %s", t->cert_file,
                                reason());
    const char *key = t->key_file != NULL ? t->key_file : t->cert_file;
    if (SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(tls) != 1)
        return host->diag->fail(err, MCPLUG_ECONFIG, "keyFile %s: %s", key, reason());
    return MCPLUG_OK;
}

int ws_tls_new(struct ws_engine *engine, const struct ws_target *target, void **out,
               struct mcplug_error *err)
{
    ERR_clear_error();
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    if (tls == NULL)
        return engine->host->diag->fail(err, MCPLUG_ENOMEM, "no TLS: %s", reason());
    SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    SSL_CTX_set_mode(tls, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_passwd_cb(tls, no_password);
    SSL_CTX_set_app_data(tls, engine);
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL); /* libwebsockets says so, too */
    SSL_CTX_set_cert_verify_callback(tls, verify, NULL);
    SSL_CTX_set_info_callback(tls, on_info);
    int r = read_files(tls, engine->host, target, err);
    if (r == MCPLUG_OK)
        *out = tls;
    else
        SSL_CTX_free(tls);
    ERR_clear_error();
    return r;
}

void ws_tls_free(void *tls)
{
    SSL_CTX_free(tls);
}
