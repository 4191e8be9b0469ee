/* Which word was meant. */
#include "base/mem.h"
#include "base/nearest.h"

#include "fake.h"

START_TEST(the_nearest_word_is_a_typing_mistake_away)
{
    static const struct {
        const char *word, *candidate;
        bool near;
    } pairs[] = {
        {"htpp", "http", true},
        {"htp", "http", true},
        {"comand", "command", true},
        {"websockt", "websocket", true},
        {"sse", "stdio", false},
        {"x", "y", false},
        {"s", "ws", true},
        {"ws", "wx", false},
        {"", "a", false},
    };
    for (size_t i = 0; i < MP_COUNT(pairs) - 1; i++) {
        const char *best = NULL;
        mp_nearest(pairs[i].word, pairs[i].candidate, &best);
        ck_assert_msg((best != NULL) == pairs[i].near, "%s %s", pairs[i].word,
                      pairs[i].candidate);
    }
    const char *best = NULL;
    mp_nearest("tcq", "tcpx", &best);
    mp_nearest("tcq", "tcp", &best);
    mp_nearest("tcq", "tcpy", &best);
    ck_assert_str_eq(best, "tcp");
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, the_nearest_word_is_a_typing_mistake_away);
}

int main(void)
{
    return run_suite("base_nearest", add);
}
