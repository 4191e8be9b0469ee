/* suite.h - how suites end: what their main() returns. */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>

int run_to_end(Suite *suite); /* take */

#endif
