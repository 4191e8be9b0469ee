/* Which part of a result is the answer. Servers put the same data into several members of
 * a result; this is the one place that decides which of them count. [any]
 *
 * Blocks come first: they are what a server wrote for models and people, and images are
 * nowhere else. Structured content counts without blocks, and beside them where it says
 * something that the blocks do not. */
#ifndef MP_CONTENT_ANSWER_H
#define MP_CONTENT_ANSWER_H

#include "json/walk.h"

#include <mcplug/admin.h>

struct mp_answer {
    enum mcplug_answer kind;
    mp_view part;   /* as mcplug_result_answer() has it */
    mp_view beside; /* structured content that the blocks do not repeat; len 0: none */
};

/* false: no memory */
bool mp_answer_of(const mcplug_result *result, struct mp_answer *out);

/* Adds `beside` with a note in place of each string that is the data of a block, or long
 * Base64 that could be. false: a string that was spilled is neither, so it is not whole;
 * `out` is of no use then. */
bool mp_answer_add_structured(struct mp_str *out, const mcplug_result *result,
                              const struct mp_answer *answer);

#endif
