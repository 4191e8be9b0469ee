/* Sessions with a peer that breaks the rules of HTTP, one way each, through the public
 * API alone. Every test has a process, and a peer, of its own. */
#include "faults_http.h"
#include "run.h"

int main(void)
{
    Suite *suite = suite_create("faults_http");

    add_http_reply_tests(suite);
    add_http_connect_tests(suite);
    add_sse_tests(suite);
    return run_faults(suite);
}
