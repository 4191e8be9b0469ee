/* Why a scan failed, kept as numbers until somebody asks. */
#ifndef MP_JSON_FAULT_H
#define MP_JSON_FAULT_H

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

#endif
