/* What this user has agreed to run of what projects bring along.
 *
 * An approval is of one text: the entry as it stands in its file, before expansion, with
 * the file's real path, the server's name, and the users to whom the file and its
 * directory belong. Any change of it has to be approved again; only the layout and
 * "disabled" do not count. Approvals are kept beside the user's own files, where no
 * project can write. */
#ifndef MP_CONFIG_APPROVAL_H
#define MP_CONFIG_APPROVAL_H

#include "base/sha256.h"
#include "config/file.h"
#include "json/walk.h"

#include <mcplug/admin.h>

#define MP_APPROVALS_MAX 1000                /* that are kept */
#define MP_APPROVALS_BYTES (MP_FILE_MAX / 2) /* of them; one alone may have more */

/* Reads the file at `path`, which may be missing; NULL: there are none. One that others
 * can write, that is not ours or that is broken is MCPLUG_ECONFIG, and counts as empty.
 * Clear in any case. */
int mp_approvals_read(const char *path, struct mp_file *out, struct mcplug_error *err);

/* `file` is a real path, `entry` has passed mp_json_check(). With
 * MCPLUG_APPROVAL_CHANGED, `was` gets the entry that was approved, borrow. What was
 * approved when it belonged to others is not approved at all. */
enum mcplug_approval mp_approvals_of(const struct mp_file *approvals, const char *file,
                                     struct mp_owners owners, const char *name,
                                     mp_view entry, mp_view *was);

/* Of the entry under that name in that file, whoever owns it. false: no memory */
bool mp_approval_digest(const char *file, const char *name, mp_view entry,
                        char out[MP_SHA256_HEX + 1]);

/* Both write, and messages begin with the path. What is added replaces what there was of
 * that name in that file. Approvals of files whose directory is gone are forgotten with
 * that, and the oldest ones of too many. `file` or `name` NULL: all of them; `removed`
 * gets how many there were. */
int mp_approvals_add(const char *path, const char *file, struct mp_owners owners,
                     const char *name, mp_view entry, struct mcplug_error *err);
int mp_approvals_remove(const char *path, const char *file, const char *name,
                        size_t *removed, struct mcplug_error *err);

#endif
