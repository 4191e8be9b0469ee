#include "json/fault.h"

#include "base/error.h"

#include <stdio.h>

static int report_character(const struct mp_scan *s, const char *where,
                            struct mcplug_error *err)
{
    char shown[8];
    bool print = s->fault_byte > 0x20 && s->fault_byte < 0x7f;
    snprintf(shown, sizeof shown, print ? "'%c'" : "0x%02x", s->fault_byte);
    return mp_fail(err, MCPLUG_EPROTO, "unexpected character %s%s at byte %llu", shown,
                   where, (unsigned long long)s->fault_at);
}

int mp_scan_report(const struct mp_scan *s, struct mcplug_error *err)
{
    static const char *const plain[] = {
        [UTF8] = "invalid UTF-8",
        [BEHIND] = "unexpected text behind the value",
        [NO_VALUE] = "text ends before a value",
        [ENDS_IN_STRING] = "text ends inside a string",
        [ENDS_IN_NUMBER] = "text ends inside a number",
        [ENDS_IN_LITERAL] = "text ends inside a literal",
        [ENDS_IN_ARRAY] = "text ends inside an array",
        [ENDS_IN_OBJECT] = "text ends inside an object",
    };
    unsigned long long at = s->fault_at;

    switch (s->fault) {
    case CHARACTER:
        return report_character(s, "", err);
    case IN_ESCAPE:
        return report_character(s, " in an escape", err);
    case CONTROL:
        return mp_fail(err, MCPLUG_EPROTO,
                       "control character 0x%02x in a string at byte %llu", s->fault_byte,
                       at);
    case TOO_DEEP:
        return mp_fail(err, MCPLUG_ETOOBIG, "nesting deeper than %u at byte %llu",
                       s->limits.depth, at);
    case TOO_MANY:
        return mp_fail(err, MCPLUG_ETOOBIG, "more than %u values at byte %llu",
                       s->limits.tokens, at);
    case TWICE:
        return mp_fail(err, MCPLUG_EPROTO, "duplicate member \"%.*s\" at byte %llu",
                       (int)s->key_len, s->key, at);
    default:
        return mp_fail(err, MCPLUG_EPROTO, "%s at byte %llu", plain[s->fault], at);
    }
}
