#include "json/fault.h"

#include "base/error.h"

#include <stdio.h>

int mp_fault_report(const struct mp_fault *fault, struct mcplug_error *err)
{
    static const char *const plain[] = {
        [UTF8] = "invalid UTF-8",
        [BEHIND] = "unexpected text after the value",
        [NO_VALUE] = "text ends before a value",
        [ENDS_IN_STRING] = "text ends inside a string",
        [ENDS_IN_NUMBER] = "text ends inside a number",
        [ENDS_IN_LITERAL] = "text ends inside a literal",
        [ENDS_IN_ARRAY] = "text ends inside an array",
        [ENDS_IN_OBJECT] = "text ends inside an object",
    };
    unsigned long long at = fault->at;
    char shown[8];

    switch (fault->kind) {
    case CHARACTER:
    case IN_ESCAPE:
        snprintf(shown, sizeof shown,
                 fault->byte > 0x20 && fault->byte < 0x7f ? "'%c'" : "0x%02x",
                 fault->byte);
        return mp_fail(err, MCPLUG_EPROTO, "unexpected character %s%s at byte %llu",
                       shown, fault->kind == IN_ESCAPE ? " in an escape" : "", at);
    case CONTROL:
        return mp_fail(err, MCPLUG_EPROTO,
                       "control character 0x%02x in a string at byte %llu", fault->byte,
                       at);
    case TOO_DEEP:
        return mp_fail(err, MCPLUG_ETOOBIG, "nesting deeper than %u at byte %llu",
                       fault->limit, at);
    case TOO_MANY:
        return mp_fail(err, MCPLUG_ETOOBIG, "more than %u values at byte %llu",
                       fault->limit, at);
    case TWICE:
        return mp_fail(err, MCPLUG_EPROTO, "duplicate member \"%s\" at byte %llu",
                       fault->name, at);
    default:
        return mp_fail(err, MCPLUG_EPROTO, "%s at byte %llu", plain[fault->kind], at);
    }
}
