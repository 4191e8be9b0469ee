/* Servers that stay up, over minutes and hours: real processes, and a clock that the
 * tests move. Every test
 * has a process of its own, so that its children and descriptors are its own, too. */
#include "matrix.h"
#include "../evil/run.h"

int main(void)
{
    Suite *suite = suite_create("registry_clock");

    add_loop_tests(suite);
    add_probe_tests(suite);
    return run_faults(suite);
}
