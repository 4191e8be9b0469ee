/* Another part of faults_http.c, so that they can run side by side: what comes for a long
 * time. */
#include "faults_http.h"
#include "run.h"

int main(void)
{
    Suite *suite = suite_create("faults_web");

    add_http_flood_tests(suite);
    add_http_budget_tests(suite);
    add_http_stream_tests(suite);
    return run_faults(suite);
}
