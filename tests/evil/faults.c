/* Sessions with a peer that breaks the rules, one way each, over stdio and through the
 * public API alone. Every test runs in a process of its own, so that its peak memory,
 * its children and its descriptors are its own, too. */
#include "faults.h"
#include "run.h"

int main(void)
{
    Suite *suite = suite_create("faults");

    add_reply_tests(suite);
    add_flood_tests(suite);
    add_life_tests(suite);
    add_closing_tests(suite);
    add_connect_tests(suite);
    return run_faults(suite);
}
