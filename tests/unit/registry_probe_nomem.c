/* A health check for which memory fails, at each allocation once, and from each on. */
#include "nomem_kit.h"

#include "fake.h"
#include "registry/health.h"
#include "registry/probe.h"

#define TEST_SKIP 77 /* as automake has it */

static const char *modules_dir;
static unsigned ends, dead;

static void on_end(void *arg, const struct mcplug_error *why)
{
    (void)arg, (void)why;
    ends++;
}

/* One check of a legacy server, which answers. True: it began, and came to an end. */
static bool one_check(const char *name, unsigned long at, bool from_then_on)
{
    struct fake f;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_check *probe = NULL;
    const char *const dirs[] = {modules_dir, NULL};

    fake_init(&f);
    struct mp_catalogue_options options = {
        .loop = f.loop, .dirs = dirs, .wire = &mp_link_wire, .health = &mp_probe_health};
    struct mp_catalogue *cat = mp_catalogue_new(&options, &err);
    ck_assert_ptr_nonnull(cat);
    fake_legacy(&f, NULL, "{}");
    struct mp_probe_options o = {.loop = f.loop,
                                 .log = &f.log,
                                 .catalogue = cat,
                                 .session = f.server,
                                 .name = name,
                                 .url = "https://x.test/",
                                 .timeout_ms = 3000};
    ends = 0;
    calls = 0;
    forever = from_then_on;
    fail_at = at;
    int r = mp_probe_start(&o, on_end, NULL, &probe, &err);
    ck_assert_int_eq(r, err.code);
    ck_assert(r == MCPLUG_OK || err.text[0]);
    if (r == MCPLUG_OK)
        mp_loop_advance(f.loop, 10000);
    bool reached = calls >= at;
    fail_at = 0;
    ck_assert_uint_eq(ends, r == MCPLUG_OK);
    mp_session_close(f.server, NULL, NULL, NULL);
    f.server = NULL;
    mp_loop_advance(f.loop, 0);
    mp_catalogue_free(cat);
    fake_clear(&f);
    return reached;
}

static const char *const names[] = {NULL, "odd-asks", "odd-greedy", "odd-looks"};

START_TEST(a_check_without_memory_ends_in_good_order)
{
    for (int from_then_on = 0; from_then_on < 2; from_then_on++) {
        unsigned long at = 1;
        while (one_check(names[_i], at, from_then_on))
            ck_assert_uint_lt(++at, 2000);
        ck_assert_uint_gt(at, 3);
    }
}
END_TEST

/* ---- health, when there is no memory for its timer ---- */

static unsigned checks;
static bool asked;

static uint64_t on_silent(struct mp_health *h)
{
    (void)h;
    return UINT64_MAX;
}

static bool on_busy(struct mp_health *h)
{
    (void)h;
    return false;
}

static int on_check(struct mp_health *h, struct mcplug_error *err)
{
    (void)h, (void)err;
    checks++;
    asked = true;
    return MCPLUG_OK;
}

static void on_cancel(struct mp_health *h)
{
    (void)h;
    asked = false;
}

static void on_dead(struct mp_health *h, const struct mcplug_error *why)
{
    (void)h, (void)why;
    dead++;
}

START_TEST(a_server_is_checked_at_once_without_memory_for_a_timer)
{
    static const struct mp_health_ops ops = {on_silent, on_busy, on_check, on_cancel,
                                             on_dead};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_loop *loop = mp_loop_new(&err);
    struct mp_health h;

    ck_assert_ptr_nonnull(loop);
    mp_loop_fake_clock(loop);
    mp_health_init(&h, &ops, loop, MP_HEALTH_IDLE_MS);
    calls = 0;
    forever = true;
    fail_at = 1;
    mp_health_watch(&h);
    ck_assert_uint_eq(checks, 0); /* not from inside */
    mp_loop_advance(loop, 0);
    ck_assert_uint_eq(checks, 1);
    fail_at = 0;
    asked = false;
    mp_health_checked(&h, NULL);
    mp_loop_advance(loop, 29999);
    ck_assert_uint_eq(checks, 1);
    mp_loop_advance(loop, 1);
    ck_assert_uint_eq(checks, 2); /* and goes on as always once there is some */
    ck_assert_uint_eq(dead, 0);
    mp_health_rest(&h);
    ck_assert(!asked);
    mp_loop_free(loop);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, a_check_without_memory_ends_in_good_order, 0,
                        MP_COUNT(names));
    tcase_add_test(tc, a_server_is_checked_at_once_without_memory_for_a_timer);
}

int main(int argc, char **argv)
{
    modules_dir = argc > 1 ? argv[1] : getenv("MCPLUG_TEST_MODULES");
    return modules_dir ? run_suite("registry_probe_nomem", add) : TEST_SKIP;
}
