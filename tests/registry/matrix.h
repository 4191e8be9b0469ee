/* The suites of registry_matrix and registry_clock. */
#ifndef MATRIX_H
#define MATRIX_H

#include <check.h>

void add_kill_tests(Suite *suite);  /* the server goes */
void add_start_tests(Suite *suite); /* it does not come, or not yet */
void add_share_tests(Suite *suite); /* who shares what */
void add_call_tests(Suite *suite);  /* cancelled, queued, sent again */
void add_want_tests(Suite *suite);  /* the system has no more to give */

void add_loop_tests(Suite *suite);  /* attempts, with a clock of their own */
void add_probe_tests(Suite *suite); /* silence, with a clock of its own */

#endif
