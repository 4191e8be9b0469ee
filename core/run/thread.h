/* A thread: the messages between a user, a model and its tools. It belongs to no host; a
 * run has it for itself.
 *
 * What holds of it, whatever happens to a run: the first message is the user's; a message
 * of the assistant that uses tools is followed by one of the user that begins with their
 * results, in the order of the uses; all of them are there before a model is asked. */
#ifndef MP_RUN_THREAD_H
#define MP_RUN_THREAD_H

#include <mcplug/mcplug.h>

#include "base/buf.h"

#define MP_THREAD_BYTES ((size_t)256 << 20) /* of one thread */
#define MP_THREAD_MESSAGES 100000
#define MP_MESSAGE_ITEMS 8192
/* How deep arguments and raw turns may nest, so that a scan passes the JSON that has
 * them. */
#define MP_THREAD_DEPTH 56

struct mp_said {             /* one message */
    struct mcplug_message m; /* for models */
    struct mcplug_item **items;
    size_t cap;
    char *type, *model; /* of the assistant: who said it */
    struct mp_str raw;  /* as its API wrote it; empty: not known */
};

struct mcplug_thread {
    struct mp_said **said;
    const struct mcplug_message **messages; /* the same, for models */
    size_t n, cap, messages_cap;
    size_t bytes;
    bool is_running;
    bool is_freed; /* goes with the run */
    struct mp_str json;
};

/* give; copies. NULL: no memory */
struct mcplug_item *mp_item_copy(const struct mcplug_item *item);
/* give; the same of its members. NULL is fine for all texts. */
struct mcplug_item *mp_item_new(enum mcplug_item_kind kind, struct mcplug_bytes text,
                                const char *mime, const char *name, const char *id);
void mp_item_free(struct mcplug_item *item); /* NULL is fine */
/* What a user says, or a tool answers: text, or an image or document that models take.
 * MCPLUG_EINVAL */
int mp_item_check(const struct mcplug_item *item, struct mcplug_error *err);
/* take `inner`; false: no memory */
bool mp_item_put(struct mcplug_item *item, struct mcplug_item *inner);

/* take `item`, also NULL, which is a lack of memory: adds to the last message, if it is
 * of that role, or begins another. */
int mp_thread_put(struct mcplug_thread *thread, enum mcplug_role role,
                  struct mcplug_item *item, struct mcplug_error *err);
/* take `result`: puts it where it belongs among those of the last message that uses
 * tools. MCPLUG_EINVAL: nothing waits for it. */
int mp_thread_put_result(struct mcplug_thread *thread, struct mcplug_item *result,
                         struct mcplug_error *err);
/* The use of that id in the last message of the assistant; NULL: none. */
const struct mcplug_item *mp_thread_use(const struct mcplug_thread *thread,
                                        const char *id);
/* Has that use a result? */
bool mp_thread_has_result(const struct mcplug_thread *thread, const char *id);
/* Uses that have no result get `text` as one, a failure. */
int mp_thread_close_turn(struct mcplug_thread *thread, const char *text,
                         struct mcplug_error *err);
/* A message that is no longer what its API wrote is made from its items. */
void mp_thread_drop_raw(struct mcplug_thread *thread, struct mp_said *said);
/* For a model: those of its own turns are sent back as they came. */
void mp_thread_show_raw(struct mcplug_thread *thread, const char *type,
                        const char *model);

#endif
