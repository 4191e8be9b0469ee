/* Queues: who runs, who waits, and whose turn it is. */
#include "nomem_kit.h"
#include "quick.h"
#include "registry/queue.h"

#include <time.h>

static struct mp_loop *loop;
static struct mp_queue *q;
static char order[4096]; /* of turns: "A1 B2 .." */

struct call {
    struct mp_ticket t; /* first */
    char server, user;
    unsigned turns;
};

static void on_turn(struct mp_ticket *ticket)
{
    struct call *c = (struct call *)ticket;
    size_t n = strlen(order);
    HOLDS(ticket->running && ticket->queue == q, "its turn without a slot");
    HOLDS(mp_loop_in_turn(loop), "its turn in no turn");
    c->turns++;
    if (n + 4 < sizeof order)
        snprintf(order + n, sizeof order - n, "%s%c%c", n ? " " : "", c->server, c->user);
}

/* What stands for a server or a user: they are only compared. */
static const void *thing(char c)
{
    static const char things[256];
    return &things[(unsigned char)c];
}

static int enter(struct call *c)
{
    if (!c->t.turn)
        c->t.turn = on_turn;
    return mp_queue_join(q, &c->t, thing(c->server), thing(c->user), &err);
}

/* "A1 A1 B2": those calls, in that order. */
static struct call *enter_all(const char *text)
{
    static struct call calls_[64];
    memset(calls_, 0, sizeof calls_);
    for (size_t i = 0; text[3 * i]; i++) {
        calls_[i].server = text[3 * i];
        calls_[i].user = text[3 * i + 1];
        ck_assert_int_eq(enter(&calls_[i]), MCPLUG_OK);
        if (!text[3 * i + 2])
            break;
    }
    return calls_;
}

/* Those that run leave, until nobody is left. */
static void run_all(struct call *c, size_t n)
{
    while (q->running) {
        size_t i = 0;
        while (i < n && !c[i].t.running)
            i++;
        HOLDS(i < n, "%u run, but which?", q->running);
        mp_ticket_leave(&c[i].t);
        mp_loop_advance(loop, 1);
    }
}

static void begin(unsigned limit, unsigned room)
{
    order[0] = '\0';
    q = mp_queue_new(loop, "heavy", limit, room);
    ck_assert_ptr_nonnull(q);
}

static void open_loop(void)
{
    loop = mp_loop_new(NULL);
    ck_assert_ptr_nonnull(loop);
    mp_loop_fake_clock(loop);
    mp_loop_advance(loop, 1000);
    q = NULL;
}

static void close_loop(void)
{
    ck_assert(!q || q->running + q->waiting == 0);
    mp_queue_free(q); /* NULL is fine */
    mp_loop_free(loop);
}

/* ---- one after the other ---- */

START_TEST(a_free_slot_is_had_at_once_and_without_a_turn)
{
    begin(2, 0);
    struct call *c = enter_all("A1 A1 A1");
    ck_assert_str_eq(q->name, "heavy");
    ck_assert(c[0].t.running && c[1].t.running && !c[2].t.running);
    ck_assert_uint_eq(q->running, 2);
    ck_assert_uint_eq(q->waiting, 1);
    mp_loop_advance(loop, 1000);
    ck_assert_str_eq(order, "");
    run_all(c, 3);
    ck_assert_str_eq(order, "A1");
}
END_TEST

START_TEST(a_turn_never_comes_inside_a_call_of_the_queue)
{
    begin(1, 0);
    struct call *c = enter_all("A1 A2 A3");
    mp_ticket_leave(&c[0].t);
    ck_assert_str_eq(order, "");
    ck_assert(!c[1].t.running);
    ck_assert_uint_eq(q->running, 1); /* the slot is the next one's already */
    ck_assert_int_eq(enter(&c[0]), MCPLUG_OK);
    ck_assert(!c[0].t.running);
    mp_queue_set(q, 3, 0);
    ck_assert_str_eq(order, "");
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "A2 A3 A1");
    run_all(c, 3);
}
END_TEST

START_TEST(without_numbers_one_runs_and_1024_wait)
{
    static struct call many[MP_QUEUE_WAITING + 2];
    begin(0, 0);
    ck_assert_uint_eq(q->limit, MP_QUEUE_LIMIT);
    for (size_t i = 0; i <= MP_QUEUE_WAITING; i++)
        ck_assert_int_eq(enter(&many[i]), MCPLUG_OK);
    ck_assert_int_eq(enter(&many[MP_QUEUE_WAITING + 1]), MCPLUG_EOVERLOADED);
    for (size_t i = 0; i < MP_COUNT(many); i++)
        mp_ticket_leave(&many[i].t);
}
END_TEST

/* ---- fairness ---- */

START_TEST(queue_is_fair_among_callers_and_servers)
{
    static const struct {
        const char *joined, *served; /* the first has its slot at once */
    } table[] = {
        {"A1 A1 A1 A1", "A1 A1 A1"},
        /* users of a server in turn */
        {"A0 A1 A1 A1 A2 A2 A3", "A1 A2 A3 A1 A2 A1"},
        /* servers in turn, though one has many more users */
        {"A0 A1 A2 A3 A4 B1 B1", "A1 B1 A2 B1 A3 A4"},
        /* and in each server its users; a user of two servers waits in both */
        {"A0 A1 A1 A2 B1 B1 B2 B2 C1", "A1 B1 C1 A2 B2 A1 B1 B2"},
        {"A0 A1 A1 A1 A1 B1 B2 C1 C1 C1", "A1 B1 C1 A1 B2 C1 A1 C1 A1"},
    };
    for (size_t i = 0; i < MP_COUNT(table); i++) {
        begin(1, 0);
        run_all(enter_all(table[i].joined), 64);
        ck_assert_str_eq(order, table[i].served);
        mp_queue_free(q);
    }
    q = NULL;
}
END_TEST

START_TEST(who_comes_back_waits_behind_those_who_are_there)
{
    begin(1, 0);
    struct call *c = enter_all("A0 A1 A2 A2 A2 B1 B1");
    mp_ticket_leave(&c[0].t);
    mp_loop_advance(loop, 1);
    c[7].server = 'A';
    c[7].user = '1';
    ck_assert_int_eq(enter(&c[7]), MCPLUG_OK);
    run_all(c, 8);
    ck_assert_str_eq(order, "A1 B1 A2 B1 A1 A2 A2");
}
END_TEST

START_TEST(a_thousand_calls_of_one_delay_another_by_one)
{
    static struct call many[1000];
    struct call first = {.server = 'A', .user = '1'},
                other = {.server = 'A', .user = '2'};
    begin(1, 0);
    ck_assert_int_eq(enter(&first), MCPLUG_OK);
    for (size_t i = 0; i < MP_COUNT(many); i++) {
        many[i].server = 'A';
        many[i].user = '1';
        ck_assert_int_eq(enter(&many[i]), MCPLUG_OK);
    }
    ck_assert_int_eq(enter(&other), MCPLUG_OK);
    mp_ticket_leave(&first.t);
    mp_loop_advance(loop, 1);
    mp_ticket_leave(&many[0].t);
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "A1 A2");
    mp_ticket_leave(&other.t);
    for (size_t i = 0; i < MP_COUNT(many); i++)
        mp_ticket_leave(&many[i].t);
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "A1 A2");
}
END_TEST

/* ---- leaving ---- */

START_TEST(who_leaves_while_waiting_is_passed_over)
{
    begin(1, 0);
    struct call *c = enter_all("A0 A1 A1 A2 B1 B1");
    mp_ticket_leave(&c[1].t); /* the first of a user */
    mp_ticket_leave(&c[3].t); /* the only one of a user */
    mp_ticket_leave(&c[5].t); /* the last of a user */
    ck_assert_uint_eq(q->waiting, 2);
    mp_ticket_leave(&c[5].t); /* in none is fine */
    run_all(c, 6);
    ck_assert_str_eq(order, "A1 B1");
    ck_assert_uint_eq(c[1].turns + c[3].turns + c[5].turns, 0);
    c = enter_all("A0 A1 B1 B2");
    mp_ticket_leave(&c[1].t); /* the only one of a server */
    mp_ticket_leave(&c[3].t);
    mp_ticket_leave(&c[2].t);
    ck_assert_uint_eq(q->waiting, 0);
    run_all(c, 4);
}
END_TEST

START_TEST(who_leaves_between_grant_and_turn_passes_the_slot_on)
{
    begin(2, 0);
    struct call *c = enter_all("A0 A0 A1 A2 A3 A4");
    mp_ticket_leave(&c[0].t);
    mp_ticket_leave(&c[1].t); /* granted: A1 and A2 */
    ck_assert_uint_eq(q->waiting, 2);
    mp_ticket_leave(&c[3].t);
    mp_ticket_leave(&c[2].t); /* now: A3 and A4 */
    ck_assert_ptr_null(c[2].t.queue);
    ck_assert_uint_eq(q->running, 2);
    ck_assert_uint_eq(q->waiting, 0);
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "A3 A4");
    run_all(c, 6);
    c = enter_all("A0 A0 A1");
    mp_ticket_leave(&c[0].t);
    mp_ticket_leave(&c[2].t); /* and nobody is left for it */
    ck_assert_uint_eq(q->running, 1);
    mp_ticket_leave(&c[1].t);
    mp_queue_free(q); /* with its job still to run */
    q = NULL;
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "A3 A4");
}
END_TEST

static void on_turn_last(struct mp_ticket *ticket)
{
    mp_ticket_leave(ticket);
    mp_queue_free(q);
    q = NULL;
    memset(ticket, 0xff, sizeof *ticket);
}

START_TEST(a_turn_may_be_the_end_of_ticket_and_queue)
{
    begin(1, 0);
    struct call *c = enter_all("A0 A1");
    c[1].t.turn = on_turn_last;
    mp_ticket_leave(&c[0].t);
    mp_loop_advance(loop, 1);
    ck_assert_ptr_null(q);
}
END_TEST

/* ---- limits ---- */

START_TEST(more_slots_take_effect_at_once_and_fewer_as_calls_end)
{
    begin(1, 0);
    struct call *c = enter_all("A0 A1 A2 A3 A4 A5");
    mp_queue_set(q, 3, 0);
    ck_assert_uint_eq(q->limit, 3);
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "A1 A2");
    mp_queue_set(q, 1, 0);
    mp_loop_advance(loop, 1);
    ck_assert_uint_eq(q->running, 3);
    mp_ticket_leave(&c[0].t);
    mp_ticket_leave(&c[2].t);
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "A1 A2");
    ck_assert_uint_eq(q->running, 1);
    mp_ticket_leave(&c[1].t);
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "A1 A2 A3");
    mp_queue_set(q, 0, 0); /* as if nothing were said */
    ck_assert_uint_eq(q->limit, MP_QUEUE_LIMIT);
    run_all(c, 6);
    ck_assert_str_eq(order, "A1 A2 A3 A4 A5");
}
END_TEST

START_TEST(one_too_many_is_refused_with_the_numbers)
{
    struct call late = {.server = 'B', .user = '9'};
    begin(4, 3);
    struct call *c = enter_all("A0 A0 A0 A0 A1 A1 A1");
    ck_assert_int_eq(enter(&late), MCPLUG_EOVERLOADED);
    ck_assert_int_eq(err.code, MCPLUG_EOVERLOADED);
    ck_assert_str_eq(err.text, "queue \"heavy\": 3 calls wait already, 4 run (limit 4)");
    mp_ticket_leave(&late.t); /* in none */
    ck_assert_uint_eq(q->waiting, 3);
    mp_ticket_leave(&c[6].t);
    ck_assert_int_eq(enter(&late), MCPLUG_OK);
    mp_ticket_leave(&late.t);
    mp_queue_set(q, 1, 1); /* those who wait stay */
    ck_assert_int_eq(enter(&late), MCPLUG_EOVERLOADED);
    ck_assert_str_eq(err.text, "queue \"heavy\": 2 calls wait already, 4 run (limit 1)");
    run_all(c, 7);
    mp_queue_free(q);

    begin(1, 1);
    c = enter_all("A0 A1");
    ck_assert_int_eq(enter(&late), MCPLUG_EOVERLOADED);
    ck_assert_str_eq(err.text, "queue \"heavy\": 1 call waits already, 1 runs (limit 1)");
    run_all(c, 2);
}
END_TEST

/* ---- at random, beside something simpler ---- */

enum state { OUT, WAITS, GRANTED, RUNS };

static struct {
    struct call c;
    enum state state;
    uint64_t joined, granted;
} all[120];
#define SERVERS 4
#define USERS 5
static uint64_t server_since[SERVERS], user_since[SERVERS][USERS], stamp;
static unsigned limit, allowed, seed, first_seed;
static struct {
    size_t call;
    uint64_t granted;
} expected[1 << 16]; /* turns, in this order */
static size_t n_expected, next_expected;

#define FITS(condition) HOLDS(condition, "%s, seed %u", #condition, first_seed)

static unsigned chance(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

static unsigned number(enum state state, int server, int user)
{
    unsigned n = 0;
    for (size_t i = 0; i < MP_COUNT(all); i++)
        n += all[i].state == state && (server < 0 || all[i].c.server == server) &&
             (user < 0 || all[i].c.user == user);
    return n;
}

/* Has `a`, rather than `b`, the next turn? */
static bool is_before(size_t a, size_t b)
{
    int sa = all[a].c.server, sb = all[b].c.server;
    int ua = all[a].c.user, ub = all[b].c.user;
    if (sa != sb)
        return server_since[sa] < server_since[sb];
    return ua != ub ? user_since[sa][ua] < user_since[sb][ub]
                    : all[a].joined < all[b].joined;
}

static void model_grant(void)
{
    while (number(WAITS, -1, -1) &&
           number(GRANTED, -1, -1) + number(RUNS, -1, -1) < limit) {
        size_t best = MP_COUNT(all);
        for (size_t i = 0; i < MP_COUNT(all); i++)
            if (all[i].state == WAITS && (best == MP_COUNT(all) || is_before(i, best)))
                best = i;
        all[best].state = GRANTED;
        all[best].granted = ++stamp;
        FITS(n_expected < MP_COUNT(expected));
        expected[n_expected].call = best;
        expected[n_expected++].granted = stamp;
        user_since[(int)all[best].c.server][(int)all[best].c.user] = ++stamp;
        server_since[(int)all[best].c.server] = ++stamp;
    }
}

static void check_numbers(void)
{
    unsigned running = q->running, waiting = q->waiting;
    FITS(running == number(RUNS, -1, -1) + number(GRANTED, -1, -1));
    FITS(waiting == number(WAITS, -1, -1));
    allowed = running < limit ? limit : running < allowed ? running : allowed;
    FITS(running <= allowed);
    FITS(!waiting || running >= limit);
    for (size_t i = 0; i < MP_COUNT(all); i++)
        FITS(all[i].c.t.running == (all[i].state == RUNS));
}

static void act_join(size_t i)
{
    int server = all[i].c.server = (char)chance(SERVERS);
    int user = all[i].c.user = (char)chance(USERS);
    FITS(enter(&all[i].c) == MCPLUG_OK);
    all[i].joined = ++stamp;
    if (all[i].c.t.running) {
        all[i].state = RUNS;
        return;
    }
    if (!number(WAITS, server, user))
        user_since[server][user] = ++stamp;
    if (!number(WAITS, server, -1))
        server_since[server] = ++stamp;
    all[i].state = WAITS;
}

static void act_leave(size_t i)
{
    all[i].state = OUT;
    mp_ticket_leave(&all[i].c.t);
    model_grant();
}

static void act(void)
{
    size_t i = chance(MP_COUNT(all));
    if (chance(40) == 0) {
        limit = 1 + chance(12);
        allowed = q->running > limit ? q->running : limit;
        mp_queue_set(q, limit, MP_COUNT(all));
        model_grant();
    } else if (all[i].state == OUT && chance(2)) {
        act_join(i);
    } else {
        act_leave(i);
    }
    check_numbers();
}

static void on_random_turn(struct mp_ticket *ticket)
{
    size_t i;
    do { /* those who left have none */
        FITS(next_expected < n_expected);
        i = expected[next_expected].call;
    } while (all[i].granted != expected[next_expected++].granted ||
             all[i].state != GRANTED);
    FITS(&all[i].c.t == ticket);
    all[i].state = RUNS;
    check_numbers();
    for (int budget = 3; budget && chance(3) == 0; budget--)
        act();
}

static void run_random(unsigned with)
{
    first_seed = seed = with;
    memset(all, 0, sizeof all);
    n_expected = next_expected = 0;
    limit = allowed = 1 + chance(4);
    begin(limit, MP_COUNT(all));
    for (size_t i = 0; i < MP_COUNT(all); i++)
        all[i].c.t.turn = on_random_turn;
    for (int i = 0; i < 1500; i++) {
        act();
        if (chance(4) == 0) {
            mp_loop_advance(loop, 1);
            FITS(number(GRANTED, -1, -1) == 0);
        }
    }
    for (size_t i = 0; i < MP_COUNT(all); i++) {
        act_leave(i);
        check_numbers();
    }
    mp_queue_free(q);
    q = NULL;
}

START_TEST(the_limit_is_kept_at_every_moment_and_every_turn_is_the_right_one)
{
    for (unsigned i = 1; i <= 40; i++)
        run_random(i);
    run_random((unsigned)time(NULL));
}
END_TEST

/* ---- many ---- */

#define MANY 100000
static struct mp_ticket tickets[MANY];
static size_t n_turns;

static void on_short_turn(struct mp_ticket *ticket)
{
    n_turns++;
    mp_ticket_leave(ticket);
}

/* Seconds, with `users` on each of 100 servers. */
static double time_many(size_t users)
{
    static const char users_[1000];
    clock_t start = clock();
    begin(4, MANY);
    n_turns = 0;
    for (size_t i = 0; i < MANY; i++) {
        tickets[i].turn = on_short_turn;
        int r = mp_queue_join(q, &tickets[i], thing((char)(i % 100)),
                              &users_[i / 100 % users], &err);
        HOLDS(r == MCPLUG_OK, "no place for %zu", i);
    }
    for (size_t i = MANY; i > MANY / 2; i--) /* while they wait */
        mp_ticket_leave(&tickets[i - 1]);
    for (size_t i = 0; i < 4; i++)
        mp_ticket_leave(&tickets[i]);
    for (size_t i = 0; i < MANY / 100; i++) /* so many in each turn of the loop */
        mp_loop_advance(loop, 1);
    ck_assert_uint_eq(n_turns, MANY / 2 - 4);
    ck_assert_uint_eq(q->running, 0);
    mp_queue_free(q);
    q = NULL;
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

START_TEST(a_hundred_thousand_calls_of_a_thousand_users_take_no_second)
{
    double most = getenv("MCPLUG_TEST_STRICT") ? 1 : 20; /* the worst way takes minutes */
    double few = time_many(10), thousand = time_many(1000);
    ck_assert_msg(few < most && thousand < most, "%f s, %f s", few, thousand);
    ck_assert_msg(thousand < 0.2 + 20 * few, "%f s, %f s", few, thousand);
}
END_TEST

/* ---- no memory ---- */

static void with_little_memory(void)
{
    static const char letters[] = "ABCDEFGHIJ";
    static struct call c[200];
    unsigned in = 0;

    memset(c, 0, sizeof c);
    if (!(q = mp_queue_new(loop, "heavy", 1, 0)))
        return;
    for (size_t i = 0; i < MP_COUNT(c); i++) {
        c[i].server = letters[i < 6 ? 0 : i % 10];
        c[i].user = (char)('0' + i / 10);
        int r = enter(&c[i]);
        HOLDS(r == MCPLUG_OK || r == MCPLUG_ENOMEM, "%d %s", r, when());
        HOLDS((r == MCPLUG_OK) == (c[i].t.queue == q), "half in, %s", when());
        in += r == MCPLUG_OK;
    }
    HOLDS(q->running + q->waiting == in, "lost, %s", when());
    order[0] = '\0';
    run_all(c, MP_COUNT(c));
    HOLDS(strlen(order) == 3 * (in - 1) - (in > 1), "%s, %s", order, when());
    mp_queue_free(q);
    q = NULL;
}

START_TEST(without_memory_a_call_is_refused_and_the_others_go_on)
{
    torture(NULL, with_little_memory, NULL);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, open_loop, close_loop);
    tcase_add_test(t, a_free_slot_is_had_at_once_and_without_a_turn);
    tcase_add_test(t, a_turn_never_comes_inside_a_call_of_the_queue);
    tcase_add_test(t, without_numbers_one_runs_and_1024_wait);
    tcase_add_test(t, queue_is_fair_among_callers_and_servers);
    tcase_add_test(t, who_comes_back_waits_behind_those_who_are_there);
    tcase_add_test(t, a_thousand_calls_of_one_delay_another_by_one);
    tcase_add_test(t, who_leaves_while_waiting_is_passed_over);
    tcase_add_test(t, who_leaves_between_grant_and_turn_passes_the_slot_on);
    tcase_add_test(t, a_turn_may_be_the_end_of_ticket_and_queue);
    tcase_add_test(t, more_slots_take_effect_at_once_and_fewer_as_calls_end);
    tcase_add_test(t, one_too_many_is_refused_with_the_numbers);
    tcase_add_test(t, the_limit_is_kept_at_every_moment_and_every_turn_is_the_right_one);
    tcase_add_test(t, a_hundred_thousand_calls_of_a_thousand_users_take_no_second);
    tcase_add_test(t, without_memory_a_call_is_refused_and_the_others_go_on);
}

int main(void)
{
    return run_suite("registry_queue", add);
}
