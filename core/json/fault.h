/* Why a reader of JSON failed, kept as numbers until somebody asks. */
#ifndef MP_JSON_FAULT_H
#define MP_JSON_FAULT_H

#include <mcplug/types.h>

enum fault {
    NONE,
    CHARACTER,
    IN_ESCAPE,
    CONTROL,
    UTF8,
    TOO_DEEP,
    TOO_MANY,
    TWICE,
    BEHIND,
    NO_VALUE,
    ENDS_IN_STRING,
    ENDS_IN_NUMBER,
    ENDS_IN_LITERAL,
    ENDS_IN_ARRAY,
    ENDS_IN_OBJECT,
};

struct mp_fault {
    uint8_t kind;     /* enum fault */
    uint8_t byte;     /* the one that was wrong */
    uint32_t limit;   /* of TOO_DEEP and TOO_MANY: what is allowed */
    const char *name; /* of TWICE: the member's */
    uint64_t at;      /* offset of the byte */
};

/* Fills `err` with what was wrong, and at which byte. Returns MCPLUG_ETOOBIG for a limit,
 * MCPLUG_EPROTO for all else. */
int mp_fault_report(const struct mp_fault *fault, struct mcplug_error *err);

#endif
