/* What will be dialled, before the policy: settings that only their module knows to be
 * URLs, what a locator finds, and what a program gives. */
#include "config_kit.h"

#include "../../plugins/common/ip.h"
#include "api/host.h"

#include <mcplug/mcplug.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

static mcplug *host;

static void begin_judged(const char *policy)
{
    const char *dirs[] = {getenv("MCPLUG_TEST_MODULES"), NULL};
    struct mcplug_options o = {.struct_size = sizeof o, .plugin_dirs = dirs};

    give(POLICY, policy);
    load();
    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

static void end_judged(void)
{
    mcplug_free(host);
    host = NULL;
    unload();
}

/* Opens settings in place, with what `o` says beside the policy. take `s` */
static int try_with(mcplug_settings *s, struct mcplug_server_options *o)
{
    mcplug_server *h = NULL;

    o->struct_size = sizeof *o;
    o->once = 1;
    o->policy = config;
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int r = mcplug_open_wait(host, s, o, &h, &err);
    mcplug_settings_free(s);
    if (h)
        mcplug_close_wait(h);
    return r;
}

static int try(mcplug_settings *s)
{
    struct mcplug_server_options o = {0};
    return try_with(s, &o);
}

static int try_entry(const char *name)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .once = 1};
    mcplug_server *h = NULL;

    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int r = mcplug_open_named_wait(host, config, name, &o, &h, &err);
    if (h)
        mcplug_close_wait(h);
    return r;
}

static mcplug_settings *found(const char *name, const char *value)
{
    mcplug_settings *s = mcplug_settings_new("found");
    mcplug_settings_set(s, "to", "websocket");
    mcplug_settings_set(s, name, value);
    return s;
}

#define BLOCKED "server is explicitly blocked by enterprise policy"
#define EVERY_WS "{'deny':[{'url':'ws://*:*/*'}]}"
#define LOCAL_WS "{'deny':[{'url':'ws://localhost:*'}]}"

START_TEST(what_a_module_declares_to_be_a_url_is_judged)
{
    begin_judged("{'deny':[{'url':'http://evil.example:*'}]}");
    ck_assert_int_eq(try(found("at", "http://evil.example:81/x")), MCPLUG_EREFUSED);
    HAS(err.text, BLOCKED);
    give(USER, "{'mcpServers':{'s':{'type':'found','at':'http://EVIL.example/'}}}");
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY); /* the module is not asked */
    ck_assert_int_eq(try_entry("s"), MCPLUG_EREFUSED);
    HAS(err.text, BLOCKED);
}
END_TEST

static const struct {
    const char *policy, *host;
    bool is_blocked;
} finds[] = {
    {EVERY_WS, "127.0.0.1:9", true},
    {EVERY_WS, "h.example", true},
    {LOCAL_WS, "127.0.0.1:9", true},
    {LOCAL_WS, "[::1]:9", true},
    {LOCAL_WS, "0.0.0.0:9", true},
    {LOCAL_WS, "x.localhost:9", true},
    {LOCAL_WS, "127.0.0.2:9", true},
    {"{'deny':[{'url':'ws://[::1]:9'}]}", "localhost:9", true},
    {LOCAL_WS, "nobody.invalid", false},
};

START_TEST(what_a_locator_finds_is_judged_wherever_it_was_asked_from)
{
    char body[512];

    begin_judged(finds[_i].policy);
    ck_assert_int_ne(try(found("near", finds[_i].host)), MCPLUG_OK);
    ck_assert_msg((strstr(err.text, BLOCKED) != NULL) == finds[_i].is_blocked, "%s: %s",
                  finds[_i].host, err.text);
    snprintf(body, sizeof body,
             "{'mcpServers':{'s':{'type':'found','to':'websocket','near':'%s'}}}",
             finds[_i].host);
    give(USER, body);
    load();
    ck_assert_int_ne(try_entry("s"), MCPLUG_OK);
    ck_assert_msg((strstr(err.text, BLOCKED) != NULL) == finds[_i].is_blocked, "%s: %s",
                  finds[_i].host, err.text);
}
END_TEST

/* The locator "found" has a program of its own, as ssh has: nobody chose it. */
START_TEST(what_a_module_does_anyway_undoes_no_allow_rule)
{
    mcplug_settings *s = mcplug_settings_new(NULL);

    begin_judged("{'allow':[{'url':'found:it'}]}");
    mcplug_settings_set(s, "url", "found:it");
    ck_assert_int_ne(try(s), MCPLUG_OK); /* which is true(1) */
    ck_assert_msg(strstr(err.text, "enterprise policy") == NULL, "%s", err.text);
    s = mcplug_settings_new(NULL);
    mcplug_settings_set(s, "url", "found:it");
    mcplug_settings_set(s, "program", "true");
    ck_assert_int_eq(try(s), MCPLUG_EREFUSED);
    HAS(err.text, "not allowed by enterprise policy");
}
END_TEST

/* The probe's URL, whoever gives it: the entry is judged by its state already. */
START_TEST(the_url_of_a_health_check_is_judged_also_when_a_program_gives_it)
{
    char path[4096];
    struct mcplug_server_options o = {.probe = "http",
                                      .probe_url = "http://evil.example/"};
    mcplug_settings *s = mcplug_settings_new("stdio");

    begin_judged("{'deny':[{'url':'http://evil.example'}]}");
    snprintf(path, sizeof path, "%s/examples/mcplug-example-server",
             getenv("MCPLUG_BUILD"));
    mcplug_settings_set(s, "command", path);
    ck_assert_int_eq(try_with(s, &o), MCPLUG_EREFUSED);
    HAS(err.text, BLOCKED);
    HAS(err.text, "probe \"http\"");
}
END_TEST

START_TEST(a_health_check_may_ask_where_the_policy_lets_it)
{
    char path[4096];
    struct mcplug_server_options o = {.probe = "http",
                                      .probe_url = "http://good.example/"};
    mcplug_settings *s = mcplug_settings_new("stdio");

    begin_judged("{'deny':[{'url':'http://evil.example'}]}");
    snprintf(path, sizeof path, "%s/examples/mcplug-example-server",
             getenv("MCPLUG_BUILD"));
    mcplug_settings_set(s, "command", path);
    ck_assert_msg(try_with(s, &o) == MCPLUG_OK, "%s", err.text);
}
END_TEST

/* ---- what a name leads to ---- */

static int listener = -1;
static unsigned port;
static atomic_int n_taken;

static void *take_all(void *arg)
{
    int fd;
    (void)arg;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        atomic_fetch_add(&n_taken, 1);
        close(fd);
    }
    return NULL;
}

static void listen_here(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(listener, 64), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    port = ntohs(at.sin_port);
}

/* The system has completed every connection that was begun, whoever ended it. */
static bool was_connected_to(void)
{
    int fd = accept(listener, NULL, NULL);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static pthread_t taker;

/* From now on every connection is taken, and ended. */
static void take_connections(void)
{
    ck_assert_int_eq(fcntl(listener, F_SETFL, 0), 0);
    ck_assert_int_eq(pthread_create(&taker, NULL, take_all, NULL), 0);
}

static void take_no_more(void)
{
    ck_assert_int_eq(shutdown(listener, SHUT_RDWR), 0);
    ck_assert_int_eq(pthread_join(taker, NULL), 0);
}

static const struct {
    const char *type, *url;
} wires[] = {
    {"tcp", "tcp:%s:%u"},
    {"websocket", "ws://%s:%u/"},
    {"http", "http://%s:%u/"},
    {"sse", "http://%s:%u/"},
};

/* Settings with addresses that are denied, as the core would give them. */
static mcplug_settings *fenced(int wire, const char *host_name, const char *denied)
{
    const struct mp_offer *offer = NULL;
    mcplug_settings *s = mcplug_settings_new(wires[wire].type);
    char url[300];
    int r = mp_catalogue_find(host->connector.catalogue, MP_TYPE, wires[wire].type,
                              &offer, &err);

    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    snprintf(url, sizeof url, wires[wire].url, host_name, port);
    mcplug_settings_set(s, "url", url);
    ck_assert_int_eq(mp_props_check(s->props, offer->feature.options, "x", &err),
                     MCPLUG_OK);
    ck_assert_int_eq(mp_props_deny(s->props, "192.0.2.1:*"), MCPLUG_OK);
    ck_assert_int_eq(mp_props_deny(s->props, denied), MCPLUG_OK);
    ck_assert_int_eq(mp_props_deny(s->props, "[::1]:*"), MCPLUG_OK);
    return s;
}

START_TEST(a_name_that_leads_to_a_denied_address_is_not_connected_to)
{
    char other[32];

    if (!offered(wires[_i].type))
        return;
    begin_judged("{}");
    listen_here();
    ck_assert_int_eq(try(fenced(_i, "localhost", "127.*:*")), MCPLUG_EREFUSED);
    HAS(err.text, " is blocked by enterprise policy"); /* one of its addresses */
    ck_assert_int_eq(try(fenced(_i, "127.0.0.1", "127.*:*")), MCPLUG_EREFUSED);
    HAS(err.text, "its address 127.0.0.1 is blocked by enterprise policy");
    ck_assert(!was_connected_to());
    take_connections();
    snprintf(other, sizeof other, "127.*:%u", port == 1 ? 2 : 1);
    ck_assert_int_ne(try(fenced(_i, "localhost", other)), MCPLUG_OK);
    ck_assert_ptr_null(strstr(err.text, "enterprise policy"));
    take_no_more();
    ck_assert_int_gt(atomic_load(&n_taken), 0);
}
END_TEST

/* 0.0.0.0 connects to 127.0.0.1, and it is the peer that counts. */
START_TEST(the_peer_of_a_connection_is_judged_before_it_is_spoken_to)
{
    if (!offered(wires[_i].type))
        return;
    begin_judged("{}");
    listen_here();
    ck_assert_int_eq(try(fenced(_i, "0.0.0.0", "127.0.0.1:*")), MCPLUG_EREFUSED);
    HAS(err.text, "its address 127.0.0.1 is blocked by enterprise policy");
}
END_TEST

/* The name of this machine leads to it, where its hosts file says so. */
static bool own_name(char *name, size_t size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    unsigned char address[IP_BYTES];
    unsigned unused;
    bool is_local = gethostname(name, size) == 0 && !ip_host_is_loopback(name) &&
                    getaddrinfo(name, NULL, &hints, &all) == 0;

    for (struct addrinfo *a = all; is_local && a; a = a->ai_next)
        is_local = ip_of_socket(a->ai_addr, address, &unused) && ip_is_loopback(address);
    if (all)
        freeaddrinfo(all);
    return is_local;
}

START_TEST(a_rule_about_this_machine_holds_for_names_that_lead_to_it)
{
    char name[200], url[300], text[512];
    mcplug_settings *s = mcplug_settings_new(wires[_i].type);

    begin_judged(
        "{'deny':[{'url':'http://localhost:*'},{'url':'ws://localhost:*'},{'url':"
        "'tcp:localhost:*'}]}");
    listen_here();
    if (!offered(wires[_i].type) || !own_name(name, sizeof name)) {
        mcplug_settings_free(s);
        return;
    }
    snprintf(url, sizeof url, wires[_i].url, name, port);
    mcplug_settings_set(s, "url", url);
    ck_assert_int_eq(try(s), MCPLUG_EREFUSED);
    HAS(err.text, "is blocked by enterprise policy");
    snprintf(text, sizeof text, "{'mcpServers':{'s':{'type':'%s','url':'%s'}}}",
             wires[_i].type, url);
    give(USER, text);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY); /* who knows what it leads to? */
    ck_assert_int_eq(try_entry("s"), MCPLUG_EREFUSED);
    HAS(err.text, "is blocked by enterprise policy");
    ck_assert(!was_connected_to());
}
END_TEST

START_TEST(nobody_sets_the_addresses_but_the_policy)
{
    mcplug_settings *s = mcplug_settings_new("http");

    begin_judged("{}");
    mcplug_settings_set(s, "url", "http://h:1/");
    mcplug_settings_add(s, "denyAddresses", "10.*:*");
    ck_assert_int_eq(try(s), MCPLUG_ECONFIG);
    HAS(err.text, "\"denyAddresses\" cannot be set: it is the policy's");
    give(USER, "{'mcpServers':{'s':{'url':'http://h:1/','denyAddresses':[]}}}");
    load();
    ck_assert_int_eq(try_entry("s"), MCPLUG_ECONFIG);
    HAS(err.text, "denyAddresses: cannot be set: it is the policy's");
}
END_TEST

static struct mp_target *target_of(const char *name)
{
    struct mp_resolved resolved;
    struct mp_target *target = NULL;
    int r = mp_target_of_entry(&host->connector, config, entry(name), NULL, &resolved,
                               &target, &err);

    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mp_resolved_clear(&resolved);
    return target;
}

/* A rule may be about one of the names: its connection is not lent to another. */
START_TEST(under_a_policy_servers_of_two_names_share_no_connection)
{
    static const char *const policies[] = {NULL,
                                           "{'deny':[{'name':'b','url':'http://10.*'}]}"};

    begin_judged("{}");
    give(USER, "{'mcpServers':{'a':{'url':'http://h/'},'b':{'url':'http://h/'}}}");
    for (int i = 0; i < 2; i++) {
        ck_assert(unlink(at(POLICY)) == 0);
        if (policies[i])
            give(POLICY, policies[i]);
        load();
        struct mp_target *a = target_of("a"), *b = target_of("b"),
                         *again = target_of("a");
        ck_assert_int_eq(mp_target_equal(a, b), policies[i] == NULL);
        ck_assert(mp_target_equal(a, again));
        mp_target_unref(a);
        mp_target_unref(b);
        mp_target_unref(again);
        if (!policies[i])
            give(POLICY, "{}");
    }
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_checked_fixture(t, world, end_judged);
    tcase_add_test(t, what_a_module_declares_to_be_a_url_is_judged);
    tcase_add_test(t, what_a_module_does_anyway_undoes_no_allow_rule);
    if (offered("websocket"))
        tcase_add_loop_test(t, what_a_locator_finds_is_judged_wherever_it_was_asked_from,
                            0, (int)MP_COUNT(finds));
    tcase_add_loop_test(t, a_name_that_leads_to_a_denied_address_is_not_connected_to, 0,
                        (int)MP_COUNT(wires));
    tcase_add_loop_test(t, the_peer_of_a_connection_is_judged_before_it_is_spoken_to, 0,
                        (int)MP_COUNT(wires));
    tcase_add_loop_test(t, a_rule_about_this_machine_holds_for_names_that_lead_to_it, 0,
                        (int)MP_COUNT(wires));
    if (offered("http")) {
        tcase_add_test(t, under_a_policy_servers_of_two_names_share_no_connection);
        tcase_add_test(t, nobody_sets_the_addresses_but_the_policy);
        tcase_add_test(t,
                       the_url_of_a_health_check_is_judged_also_when_a_program_gives_it);
        tcase_add_test(t, a_health_check_may_ask_where_the_policy_lets_it);
    }
}

int main(void)
{
    return run_suite("connect_policy", add_tests);
}
