/* What a run itself takes: 100 steps with ten calls each, by a model and tools that
 * answer at once. */
#include "quick.h"
#include "run_kit.h"
#include "sanitized.h"

enum { STEPS = 100, CALLS = 10, US = 200, MIB = 16 };

/* The bounds are those of a build for users. */
static bool is_judged(void)
{
#ifdef __OPTIMIZE__
    return !SANITIZED && !is_slow();
#else
    return false;
#endif
}

static uint64_t rss_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long kib = 0;

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %lu", &kib) == 1)
            break;
    fclose(f);
    return kib;
}

/* Every step calls each of ten tools with other arguments than the step before. */
static struct script_turn *write_turns(void)
{
    static char arguments[STEPS * CALLS][64], names[CALLS][16];
    static struct script_turn turns[STEPS];

    for (size_t i = 0; i < STEPS; i++) {
        turns[i].at_once = true;
        turns[i].text = i + 1 < STEPS ? "On." : "Done.";
        turns[i].raw = "[{\"type\":\"text\",\"text\":\"On.\"}]";
        turns[i].input = 100;
        turns[i].output = 10;
        for (size_t k = 0; k < CALLS && i + 1 < STEPS; k++) {
            char *text = arguments[i * CALLS + k];
            snprintf(text, sizeof arguments[0], "{\"step\":%zu,\"call\":%zu}", i, k);
            snprintf(names[k], sizeof names[k], "tool%zu", k);
            turns[i].calls[k] = (struct script_call){names[k], text, NULL};
        }
    }
    return turns;
}

START_TEST(a_step_of_ten_calls_takes_little_time_and_memory)
{
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"step\":{\"type\":\"integer\"},"
        "\"call\":{\"type\":\"integer\"}},\"required\":[\"step\",\"call\"]}";
    static struct mcplug_tool tools[CALLS];
    static char names[CALLS][16];
    const struct mcplug_tool *list[CALLS + 1] = {0};
    double best = 1e9;

    begin_run();
    for (size_t i = 0; i < CALLS; i++) {
        snprintf(names[i], sizeof names[i], "tool%zu", i);
        tools[i] = (struct mcplug_tool){.struct_size = sizeof tools[i],
                                        .name = names[i],
                                        .description = "Answers with its arguments.",
                                        .schema = schema,
                                        .call = reply_now,
                                        .flags = i % 2 ? MCPLUG_TOOL_READ_ONLY : 0};
        list[i] = &tools[i];
    }
    o.tools = list;
    o.max_steps = STEPS;
    o.event = NULL;
    uint64_t before = rss_kib();
    /* the best of some, for others may be busy */
    for (int k = 0; k < 3 || (is_judged() && best > US && k < 40); k++) {
        script_begin(write_turns(), STEPS);
        player.forgets = true;
        mcplug_thread_free(thread);
        thread = mcplug_thread_new();
        mcplug_thread_say(thread, "hi");
        double began = work_ms();
        start_run();
        UNTIL(ran.times);
        double us = (work_ms() - began) * 1000 / STEPS;
        await_run();
        best = us < best ? us : best;
        RAN("done", "Done.");
        ck_assert_uint_eq(ran.result.steps, STEPS);
        ck_assert_uint_eq(ran.result.calls, (STEPS - 1) * CALLS);
    }
    double grown = (double)(rss_kib() - before) / 1024;
    printf("%d steps with %d calls each: %.0f us a step, %.1f MiB more\n", STEPS, CALLS,
           best, grown);
    fflush(stdout);
    if (is_judged()) {
        ck_assert_msg(best <= US, "%.0f us a step, at most %d", best, US);
        ck_assert_msg(grown <= MIB, "%.1f MiB more, at most %d", grown, MIB);
    }
    end_run();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_step_of_ten_calls_takes_little_time_and_memory);
}

int main(void)
{
    return run_suite("run_speed", add);
}
