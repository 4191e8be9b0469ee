/* A directory for a skill: written beside where it belongs and moved there at the end, so
 * that it is there whole or not at all. */
#ifndef CLI_SKILLS_PLACE_H
#define CLI_SKILLS_PLACE_H

#include <mcplug/types.h>

#include <stdbool.h>

struct cli_place {
    char *path;                  /* where it belongs */
    const char *top, *below;     /* parts of that: what the user named, and the rest */
    char *temp;                  /* a directory in `top`; NULL: none yet */
    int top_fd, temp_fd, new_fd; /* `new_fd`: what is to be moved, in `temp`; -1: none */
    bool made_top, force;
};

#define CLI_PLACE_NONE                                                                   \
    {                                                                                    \
        .top_fd = -1, .temp_fd = -1, .new_fd = -1                                        \
    }

/* Where `below`, a relative path, is in the directory `top`. Something that is there
 * already is an error, but a skill with `force`; so is a symbolic link on the way.
 * Nothing is written yet. MCPLUG_EIO. Clear in any case; `top` and `below` are borrowed.
 */
int cli_place_init(struct cli_place *p, const char *top, const char *below, bool force,
                   struct mcplug_error *err);
/* Makes what the files go to. */
int cli_place_begin(struct cli_place *p, struct mcplug_error *err);
/* A new file, for writing; `path` is relative, and safe. -1 with `err`. */
int cli_place_create(struct cli_place *p, const char *path, struct mcplug_error *err);
/* Moves it to its place. */
int cli_place_commit(struct cli_place *p, struct mcplug_error *err);
/* Leaves nothing behind but what was committed. */
void cli_place_clear(struct cli_place *p);

#endif
