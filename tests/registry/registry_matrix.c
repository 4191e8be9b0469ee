/* Servers that stay up, and what can happen to them: real processes and sockets, over
 * every wire, through the public API. Every test
 * has a process of its own, so that its children and descriptors are its own, too. */
#include "matrix.h"
#include "../evil/run.h"

int main(void)
{
    Suite *suite = suite_create("registry_matrix");

    add_kill_tests(suite);
    add_start_tests(suite);
    add_share_tests(suite);
    add_call_tests(suite);
    add_want_tests(suite);
    return run_faults(suite);
}
