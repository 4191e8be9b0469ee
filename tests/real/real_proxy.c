/* nginx between us and a server: as many have it, with and without TLS. */
#include "wire.h"

#include <stdio.h>
#include <unistd.h>

static struct listener *nginx;
static int port; /* of nginx */

/* ---- the server behind it ---- */

static void start_everything(void)
{
    server = listener_node(everything.script, everything.args[HTTP], everything.env);
}

static void start_modern(void)
{
    server = listener_node(modern.script, modern.args[HTTP], NULL);
}

/* ---- nginx ---- */

/* One process in the foreground, with everything it writes below the test's directory. */
static void write_conf(const char *path, const char *flags, const char *directives,
                       int upstream)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fprintf(f,
            "daemon off; master_process off; pid nginx.pid; error_log stderr notice;\n"
            "events { worker_connections 600; }\n"
            "http {\n"
            "  client_body_temp_path body; proxy_temp_path proxy;\n"
            "  fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n"
            "  log_format t 'nginx: $request_method $status $server_protocol'\n"
            "               ' encoded=$sent_http_content_encoding'\n"
            "               ' on=$connection.$connection_requests.';\n"
            "  access_log /dev/stderr t;\n"
            "  server {\n"
            "    listen 127.0.0.1:%d %s;\n"
            "    %s\n"
            "    location / {\n"
            "      proxy_pass http://127.0.0.1:%d; proxy_http_version 1.1;\n"
            "      proxy_set_header Connection \"\";\n"
            "    }\n"
            "  }\n"
            "}\n",
            port, flags, directives, upstream);
    ck_assert_int_eq(fclose(f), 0);
}

static bool try_nginx(const char *conf)
{
    const char *program =
        access("/usr/sbin/nginx", X_OK) == 0 ? "/usr/sbin/nginx" : "nginx";

    nginx = listener_start(
        LISTENER_LIST(program, "-p", real.dir, "-c", conf, "-e", "stderr"), NULL);
    /* It says so when its socket listens. */
    REAL_UNTIL(nginx->out < 0 || strstr(nginx->log, "using the \"epoll\""));
    return nginx->out >= 0;
}

/* `flags` for its socket, `directives` for its server. */
static void start_nginx(const char *flags, const char *directives, int upstream)
{
    char conf[200];
    bool runs = false;

    snprintf(conf, sizeof conf, "%s", real_path("nginx.conf"));
    for (int i = 0; i < 4 && !runs; i++) { /* somebody may be quicker with the port */
        close(listener_nobody(&port));
        write_conf(conf, flags, directives, upstream);
        runs = try_nginx(conf);
        if (!runs && !strstr(nginx->log, "Address already in use"))
            break;
    }
    ck_assert_msg(runs, "nginx does not run: %s", nginx->log);
}

/* ---- TLS ---- */

#define CERT(name) "ssl_certificate " name ".pem; ssl_certificate_key " name ".key; "

static void make_certificates(void)
{
    char command[4300];

    snprintf(command, sizeof command, "'%s/tests/real/certs.sh' '%s'",
             real_need("MCPLUG_SRC"), real.dir);
    ck_assert_msg(system(command) == 0, "no certificates: is openssl installed?");
}

static void use_proxy(const char *type, const char *scheme)
{
    real_use_url(type, "%s://127.0.0.1:%d/mcp", scheme, port);
}

static void trust_authority(void)
{
    real_set("caFile", real_path("ca.pem"));
}

/* nginx with TLS in front of the modern server. */
static void start_tls(const char *flags, const char *directives)
{
    make_certificates();
    start_modern();
    start_nginx(flags, directives, server->port);
    use_proxy(NULL, "https");
}

static void check_sum(void)
{
    ck_assert_str_eq(real_text("add", "{\"a\":1,\"b\":2}"), "3");
}

START_TEST(an_authority_of_ones_own_is_trusted_when_told_so)
{
    start_tls("ssl", CERT("good"));
    trust_authority();
    real_open();
    check_sum();
    LISTENER_TOLD(nginx, "nginx: POST 200 HTTP/1.1");
}
END_TEST

START_TEST(sessions_streams_and_questions_go_through_tls)
{
    real.roots.answer = "{\"roots\":[{\"uri\":\"file:///tmp/a\"}]}";
    make_certificates();
    start_everything();
    start_nginx("ssl", CERT("good") "proxy_buffering off;", server->port);
    real_use_url("http", "https://localhost:%d/mcp", port);
    trust_authority();
    real_open();
    REAL_UNTIL(real.roots.asked > 0); /* on the session's stream */
    ck_assert_str_eq(real_text("echo", "{\"message\":\"tls\"}"), "Echo: tls");
    real_close();
    LISTENER_TOLD(server, "test: end DELETE /mcp 200");
}
END_TEST

START_TEST(many_calls_share_a_connection_of_http_2)
{
    enum { MANY = 60 };

    start_tls("ssl http2", CERT("good"));
    trust_authority();
    real_open();
    real_add_many("add", MANY, NULL);
    LISTENER_TOLD(nginx, "nginx: POST 200 HTTP/2.0");
    ck_assert_int_eq(listener_count(nginx, 0, "HTTP/1.1"), 0);
    REAL_UNTIL(listener_count(nginx, 0, "nginx: POST 200") > MANY);
    ck_assert_int_eq(listener_count(nginx, 0, ".1.\n"), 1); /* first of a connection */
}
END_TEST

START_TEST(a_call_over_http_2_is_cancelled_by_itself)
{
    struct reply reply;

    start_tls("ssl http2", CERT("good") "proxy_buffering off;");
    trust_authority();
    real_open();
    real_begin_tool("slow", "{\"ms\":60000,\"steps\":600,\"name\":\"sleepy\"}", &reply);
    REAL_UNTIL(reply.progress > 1);
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    LISTENER_TOLD(server, "cancelled sleepy");
    check_sum();
    ck_assert_int_eq(listener_count(nginx, 0, ".1.\n"), 1);
}
END_TEST

/* Whoever is on the way is not spoken to, and the reason is told. */
static void check_refused(const char *reason)
{
    const struct mcplug_error *why = real_refused();

    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_contains(why->text, "127.0.0.1");
    ck_contains(why->text, reason);
    ck_assert_int_eq(listener_count(server, 0, "test: POST"), 0);
}

static void check_insecure(void)
{
    real_set("insecure", "true");
    real_open();
    check_sum();
}

START_TEST(a_certificate_of_an_unknown_authority_is_refused)
{
    start_tls("ssl", CERT("good"));
    check_refused("unable to get local issuer certificate");
    check_insecure();
}
END_TEST

START_TEST(a_certificate_that_signed_itself_is_refused)
{
    start_tls("ssl", CERT("self"));
    trust_authority();
    check_refused("self-signed certificate");
    check_insecure();
}
END_TEST

START_TEST(a_certificate_of_another_host_is_refused)
{
    start_tls("ssl", CERT("host"));
    trust_authority();
    check_refused("no alternative certificate subject name matches");
    check_insecure();
}
END_TEST

START_TEST(a_certificate_that_is_over_is_refused)
{
    start_tls("ssl", CERT("late"));
    trust_authority();
    check_refused("certificate has expired");
    check_insecure();
}
END_TEST

START_TEST(our_certificate_is_shown_when_it_is_wanted)
{
    start_tls("ssl", CERT("good") "ssl_client_certificate ca.pem; ssl_verify_client on;");
    trust_authority();
    const struct mcplug_error *why = real_refused();
    ck_contains(why->text, "400");
    ck_assert_int_eq(listener_count(server, 0, "test: POST"), 0);

    real_set("certFile", real_path("client.pem"));
    real_set("keyFile", real_path("client.key"));
    real_open();
    check_sum();
}
END_TEST

START_TEST(a_certificate_that_is_no_file_is_named)
{
    start_tls("ssl", CERT("good"));
    real_set("caFile", real_path("nothing.pem"));
    const struct mcplug_error *why = real_refused();
    ck_contains(why->text, "nothing.pem");
}
END_TEST

START_TEST(plain_text_at_a_port_with_tls_is_told)
{
    start_tls("ssl", CERT("good"));
    use_proxy("http", "http");
    const struct mcplug_error *why = real_refused();
    ck_assert_int_eq(why->peer_status, 400);
    ck_contains(why->text, "HTTP 400");
}
END_TEST

/* ---- WebSocket with TLS ---- */

/* nginx in front of a gateway with WebSocket. */
static void start_wss(const char *certificate)
{
    char directives[500];

    make_certificates();
    server = wire_gateway("ws", everything.script, "stdio");
    snprintf(directives, sizeof directives,
             "%s location /message { proxy_pass http://127.0.0.1:%d;"
             "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade;"
             "proxy_set_header Connection upgrade; }",
             certificate, server->port);
    start_nginx("ssl", directives, server->port);
    real_use_url(NULL, "wss://127.0.0.1:%d/message", port);
}

static void check_echo(void)
{
    ck_assert_str_eq(real_text("echo", "{\"message\":\"wss\"}"), "Echo: wss");
    real_close();
    LISTENER_TOLD(nginx, "nginx: GET 101 HTTP/1.1");
}

START_TEST(a_websocket_goes_through_tls)
{
    start_wss(CERT("good"));
    trust_authority();
    real_open();
    check_echo();
}
END_TEST

static void check_wss_refused(const char *reason)
{
    const struct mcplug_error *why = real_refused();

    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_contains(why->text, "127.0.0.1");
    ck_contains(why->text, reason);
    ck_assert_int_eq(listener_count(server, 0, "New WebSocket connection"), 0);
    real_set("insecure", "true");
    real_open();
    check_echo();
}

START_TEST(a_websocket_with_an_unknown_authority_is_refused)
{
    start_wss(CERT("good"));
    check_wss_refused("issuer");
}
END_TEST

START_TEST(a_websocket_with_the_certificate_of_another_host_is_refused)
{
    start_wss(CERT("host"));
    trust_authority();
    check_wss_refused("match");
}
END_TEST

START_TEST(a_websocket_with_a_certificate_that_is_over_is_refused)
{
    start_wss(CERT("late"));
    trust_authority();
    check_wss_refused("expired");
}
END_TEST

START_TEST(a_websocket_shows_our_certificate_when_it_is_wanted)
{
    start_wss(CERT("good") "ssl_client_certificate ca.pem; ssl_verify_client on;");
    trust_authority();
    const struct mcplug_error *why = real_refused();
    ck_contains(why->text, "400");
    real_set("certFile", real_path("client.pem"));
    real_set("keyFile", real_path("client.key"));
    real_open();
    check_echo();
}
END_TEST

/* ---- without TLS ---- */

/* nginx buffers answers by default: they come late, but they come. */
START_TEST(everything_ends_behind_a_proxy_that_buffers)
{
    struct reply reply;

    start_everything();
    start_nginx("", "", server->port);
    use_proxy("http", "http");
    real_open();
    ck_assert_str_eq(real_text("echo", "{\"message\":\"late\"}"), "Echo: late");
    real_begin_tool("trigger-long-running-operation", "{\"duration\":0.4,\"steps\":4}",
                    &reply);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_OK);
    ck_assert_int_eq(reply.progress, 4);
    reply_clear(&reply);
    real_close();
    LISTENER_TOLD(server, "test: end DELETE /mcp 200");
}
END_TEST

START_TEST(progress_arrives_at_once_behind_a_proxy_that_does_not_buffer)
{
    struct reply reply;

    start_modern();
    start_nginx("", "proxy_buffering off;", server->port);
    use_proxy(NULL, "http");
    real_open();
    real_begin_tool("slow", "{\"ms\":60000,\"steps\":600,\"name\":\"sleepy\"}", &reply);
    REAL_UNTIL(reply.progress > 1);
    real_cancel(&reply); /* hanging up goes through as well */
    REAL_UNTIL(reply.done);
    LISTENER_TOLD(server, "cancelled sleepy");
}
END_TEST

START_TEST(compressed_answers_and_streams_are_read)
{
    struct reply reply;

    start_modern();
    start_nginx("",
                "proxy_buffering off; gzip on; gzip_min_length 1; gzip_proxied any;"
                "gzip_types application/json text/event-stream;",
                server->port);
    use_proxy(NULL, "http");
    real_open();
    ck_assert(real_lists(MCPLUG_TOOLS, "slow"));
    real_begin_tool("slow", "{\"ms\":300,\"steps\":3,\"name\":\"it\"}", &reply);
    REAL_UNTIL(reply.done);
    ck_assert_str_eq(text_of(reply.json), "it is done");
    ck_assert_int_eq(reply.progress, 3);
    reply_clear(&reply);
    LISTENER_TOLD(nginx, "nginx: POST 200 HTTP/1.1 encoded=gzip");
}
END_TEST

START_TEST(a_dead_server_behind_the_proxy_is_status_502)
{
    int nobody, fd = listener_nobody(&nobody);

    start_nginx("", "", nobody);
    use_proxy("http", "http");
    const struct mcplug_error *why = real_refused();
    close(fd);
    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_assert_int_eq(why->peer_status, 502);
    ck_contains(why->text, "HTTP 502");
}
END_TEST

START_TEST(a_server_that_dies_behind_the_proxy_fails_the_call)
{
    real.options.changed = NULL; /* a subscription would fail as well */
    start_modern();
    start_nginx("", "", server->port);
    use_proxy("http", "http");
    real_open();
    check_sum();
    listener_end(server);
    const struct reply *reply = real_try_tool("add", "{\"a\":1,\"b\":2}");
    ck_assert_int_lt(reply->code, 0);
    ck_contains(reply->why, "HTTP 502");
    real.breaches = 1;
}
END_TEST

/* It says that it will, closes, and then frees what there was of the connection. */
static bool has_closed(const char *log)
{
    const char *closing = strstr(log, "close http connection");
    return closing && strstr(closing, " free: ");
}

/* nginx tells the number of each connection and of its requests: .1. is a new one. */
START_TEST(a_connection_that_was_closed_for_want_of_use_is_replaced)
{
    real.options.changed = NULL; /* no subscription, which would be in use for ever */
    start_modern();
    start_nginx("", "keepalive_timeout 1s; error_log stderr debug;", server->port);
    use_proxy("http", "http");
    real_open();
    check_sum();
    ck_assert_int_eq(listener_count(nginx, 0, ".1.\n"), 1);
    REAL_UNTIL(has_closed(nginx->log));
    check_sum();
    REAL_UNTIL(listener_count(nginx, 0, ".1.\n") == 2);
}
END_TEST

/* Right when it is closed, which nobody can see in time: not one call may fail. */
START_TEST(connections_that_serve_few_requests_fail_no_call)
{
    real.options.changed = NULL;
    start_modern();
    start_nginx("", "keepalive_requests 2;", server->port);
    use_proxy("http", "http");
    real_open();
    for (int i = 0; i < 50; i++)
        check_sum();
    REAL_UNTIL(listener_count(nginx, 0, ".1.\n") >= 25);
}
END_TEST

int main(void)
{
    if (real_built("http", "nginx"))
        REAL_SUITE("nginx", everything_ends_behind_a_proxy_that_buffers,
                   progress_arrives_at_once_behind_a_proxy_that_does_not_buffer,
                   compressed_answers_and_streams_are_read,
                   a_dead_server_behind_the_proxy_is_status_502,
                   a_server_that_dies_behind_the_proxy_fails_the_call,
                   a_connection_that_was_closed_for_want_of_use_is_replaced,
                   connections_that_serve_few_requests_fail_no_call);
    if (real_built("http", "nginx with TLS"))
        REAL_SUITE("nginx with TLS", an_authority_of_ones_own_is_trusted_when_told_so,
                   sessions_streams_and_questions_go_through_tls,
                   many_calls_share_a_connection_of_http_2,
                   a_call_over_http_2_is_cancelled_by_itself,
                   a_certificate_of_an_unknown_authority_is_refused,
                   a_certificate_that_signed_itself_is_refused,
                   a_certificate_of_another_host_is_refused,
                   a_certificate_that_is_over_is_refused,
                   our_certificate_is_shown_when_it_is_wanted,
                   a_certificate_that_is_no_file_is_named,
                   plain_text_at_a_port_with_tls_is_told);
    if (real_built("ws", "nginx with TLS and WebSocket"))
        REAL_SUITE("nginx with TLS and WebSocket", a_websocket_goes_through_tls,
                   a_websocket_with_an_unknown_authority_is_refused,
                   a_websocket_with_the_certificate_of_another_host_is_refused,
                   a_websocket_with_a_certificate_that_is_over_is_refused,
                   a_websocket_shows_our_certificate_when_it_is_wanted);
    return real_run();
}
