/* suite.h - what suites are made of, and how they end: what their main() returns. */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>

int run_to_end(Suite *suite); /* take */
/* A module of this build offers that transport or probe. If none does, it is said that
 * tests are skipped. */
bool offered(const char *name);
/* How many times the processor time of work(n) work(8 * n) takes: 8 where it is linear,
 * 64 where it is quadratic. The best of several runs, so that others may be busy. */
double grows_by(void (*work)(size_t n), size_t n);

#endif
