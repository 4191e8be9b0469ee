/* A third part of faults_http.c: many calls at once. */
#include "faults_http.h"
#include "run.h"

int main(void)
{
    Suite *suite = suite_create("faults_load");

    add_http_load_tests(suite);
    return run_faults(suite);
}
