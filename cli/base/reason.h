/* Errors for people: the reason first. The texts of the library begin with the class of
 * the failure, which is for logs and programs. */
#ifndef CLI_REASON_H
#define CLI_REASON_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_REASON_SIZE 512

/* "Process not found - stdio server process terminated (server exited with status 1)"
 * becomes "The server exited with status 1", with " before it answered" if `unanswered`;
 * what comes before and after that part of `text` stays. Other texts are copied. */
const char *cli_reason(const char *text, bool unanswered, char room[CLI_REASON_SIZE]);

#endif
