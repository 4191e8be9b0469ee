/* plugins/common/cgroup.h - a cgroup for the processes of one server.
 *
 * It is a directory below our own cgroup, named after the mark of the start, in the v2
 * hierarchy and without any controller: nothing is limited or counted there, but what is
 * in it can be ended at once, however it left its tree. It is made only where our own
 * cgroup belongs to our user. mcplug-reaper holds a lock on it; one without is left over
 * from a reaper that was killed.
 */
#ifndef MCPLUG_CGROUP_H
#define MCPLUG_CGROUP_H

#include <stdbool.h>

#define CGROUP_END_MS 2000  /* that an end takes at most */
#define CGROUP_STALE_MAX 64 /* ended with one start */

/* Our own cgroup, a directory in which we may make others; -1: there is none. Without
 * /proc it cannot be found: `has_proc`. [any] */
int cgroup_open_own(bool *has_proc);

/* A new one for `mark`, locked until the descriptor is closed; -1: it cannot be had. */
int cgroup_make(int own, const char *mark);

/* SIGKILL for all that are in it. False: the kernel has no way to do that at once. */
bool cgroup_kill(int cgroup);

/* Removes that of `mark`, with all that is in it: processes, which get SIGKILL, and
 * cgroups that they made. Blocks for CGROUP_END_MS at most. True: it is gone. [any] */
bool cgroup_end(int own, const char *mark);

/* Ends those that are left over from others. Waits for nothing: with true, one is still
 * there. `has_one`: one of those in `own` is in use by us. */
bool cgroup_end_stale(int own, bool has_one);

#endif /* MCPLUG_CGROUP_H */
