/* Dies while it is being loaded, before any check of a descriptor could help. */
#include <signal.h>

__attribute__((constructor)) static void crash(void)
{
    /* The default action, because sanitizers would make a report of it. */
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}
