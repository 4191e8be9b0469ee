/* Files that the command keeps for itself, in a directory below the user's state
 * directory. They are the user's alone: those that others could have written are refused.
 */
#ifndef CLI_STATE_FILE_H
#define CLI_STATE_FILE_H

#include <mcplug/admin.h>

#include <stdbool.h>
#include <sys/stat.h>

/* give `out`: the directory of that name. -1 and MCPLUG_OK: it is not there, and not to
 * be made. `paths`->state must be known. */
int cli_state_dir(const struct mcplug_paths *paths, const char *dir_name, bool make,
                  int *out, struct mcplug_error *err);
/* give `out`: a file in it, opened with `flags`. -1 and MCPLUG_OK: it is not there. */
int cli_state_file(const struct mcplug_paths *paths, const char *dir_name, int dir_fd,
                   const char *file, int flags, int *out, struct stat *st,
                   struct mcplug_error *err);
/* Fills `err` with what is wrong with that file, "" for the directory, and returns its
 * code. `os_error` 0: it is refused. */
int cli_state_fail(const struct mcplug_paths *paths, const char *dir_name,
                   const char *file, int os_error, const char *what,
                   struct mcplug_error *err);

#endif
