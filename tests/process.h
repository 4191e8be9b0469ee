/* process.h - other programs that tests start, and what the system says of processes. */
#ifndef TESTS_PROCESS_H
#define TESTS_PROCESS_H

#include <stddef.h>

/* The program of that name beside this one. */
void program_beside(const char *name, char *out, size_t size);
/* Starts argv[0], not as a child of ours, so that whoever is one is the library's, and
 * waits for the line that it prints. Its stdin is `lifeline`, unless that is NULL. */
void program_apart(const char *const *argv, int *lifeline, char *line, size_t size);

unsigned open_fds(void);
unsigned alive(const char *name); /* processes; zombies are as bad as the living */

#endif
