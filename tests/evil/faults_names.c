/* Names whose lookup does not return: neither a time-out nor the end of a host waits for
 * it. getaddrinfo() is this program's own, also for modules, and hangs for some names. */
#include "faults.h"
#include "run.h"

#include <dirent.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 8 }; /* LOOKUP_THREADS of plugins/common/lookup.h */

/* ---- lookups ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned entered, left;
static bool released;

static int hang(void)
{
    pthread_mutex_lock(&lock);
    entered++;
    while (!released)
        pthread_cond_wait(&changed, &lock);
    left++;
    pthread_mutex_unlock(&lock);
    return EAI_AGAIN;
}

__attribute__((visibility("default"))) int getaddrinfo(const char *node,
                                                       const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    bool hangs = node && strncmp(node, "hangs", 5) == 0 &&
                 !(hints && hints->ai_flags & AI_NUMERICHOST);
    return hangs ? hang() : real(node, service, hints, found);
}

static unsigned have_entered(void)
{
    pthread_mutex_lock(&lock);
    unsigned n = entered;
    pthread_mutex_unlock(&lock);
    return n;
}

static unsigned have_left(void)
{
    pthread_mutex_lock(&lock);
    unsigned n = left;
    pthread_mutex_unlock(&lock);
    return n;
}

static void release(void)
{
    pthread_mutex_lock(&lock);
    released = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static unsigned threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned n = 0;

    ck_assert_ptr_nonnull(tasks);
    for (struct dirent *e; (e = readdir(tasks));)
        n += e->d_name[0] != '.';
    closedir(tasks);
    return n;
}

static void wait_for_threads(unsigned most)
{
    for (double since = now_ms(); threads() > most; usleep(1000))
        ck_assert_msg(now_ms() - since < 20000, "%u threads are left", threads());
}

/* ---- the tests ---- */

static const char *const urls[][2] = {
    {"tcp", "tcp://hangs.example:7"},
    {NULL, "ws://hangs.example:7/"},
};
enum { URLS = sizeof urls / sizeof *urls };

START_TEST(neither_a_time_out_nor_the_end_waits_for_a_name)
{
    struct peer *p = peer_new_url(urls[_i][0], urls[_i][1]);
    unsigned before = threads();

    p->o.timeout_ms = 500;
    ck_assert_msg(peer_open(p) == MCPLUG_ETIMEDOUT, "%s", p->why.text);
    ck_assert_uint_le(have_entered(), 1); /* 0 where no thread got its turn by then */
    peer_end(p);
    ck_assert_uint_eq(have_left(), 0); /* it hangs still */
    release();
    wait_for_threads(before);
}
END_TEST

START_TEST(a_name_that_is_found_too_late_is_not_used)
{
    struct peer *p = peer_new_url(urls[_i][0], urls[_i][1]);

    p->o.timeout_ms = 200;
    ck_assert_msg(peer_open(p) == MCPLUG_ETIMEDOUT, "%s", p->why.text);
    release();
    peer_run(p, 20);
    ck_assert_uint_eq(p->ready, 1);
    peer_end(p);
}
END_TEST

static void on_each(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    unsigned *n_failed = arg;

    (void)server;
    ck_assert_ptr_nonnull(why);
    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_assert_msg(strstr(why->text, "cannot find") != NULL, "%s", why->text);
    ++*n_failed;
}

START_TEST(names_that_hang_take_few_threads_and_the_others_wait)
{
    enum { SERVERS = 12 }; /* a host starts 20 at a time */
    struct peer *p = peer_new_url("tcp", "tcp:127.0.0.1:1");
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .once = 1, .timeout_ms = 60000};
    mcplug_server *servers[SERVERS];
    unsigned n_failed = 0, before = threads();

    for (unsigned i = 0; i < SERVERS; i++) {
        mcplug_settings *s = mcplug_settings_new("tcp");
        char url[64];
        snprintf(url, sizeof url, "tcp://hangs%u.example:7", i);
        mcplug_settings_set(s, "url", url);
        ck_assert_int_eq(
            mcplug_open(p->host, s, &o, on_each, &n_failed, &servers[i], &p->err), 0);
        mcplug_settings_free(s);
    }
    while (have_entered() < THREADS)
        peer_run(p, 1);
    /* an address in numbers needs none of them */
    ck_assert_int_eq(peer_open(p), MCPLUG_EREFUSED);
    ck_assert_uint_eq(have_entered(), THREADS);
    ck_assert_uint_le(threads(), before + THREADS);
    ck_assert_uint_eq(n_failed, 0);
    release();
    while (n_failed < SERVERS)
        peer_run(p, 1);
    ck_assert_uint_eq(have_left(), SERVERS);
    for (unsigned i = 0; i < SERVERS; i++)
        mcplug_close_wait(servers[i]);
    peer_end(p);
    wait_for_threads(before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("faults_names");
    TCase *t = tcase_create("names");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, neither_a_time_out_nor_the_end_waits_for_a_name, 0, URLS);
    tcase_add_loop_test(t, a_name_that_is_found_too_late_is_not_used, 0, URLS);
    tcase_add_test(t, names_that_hang_take_few_threads_and_the_others_wait);
    suite_add_tcase(suite, t);
    return run_faults(suite);
}
