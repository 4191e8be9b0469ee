/* must.h - what fuzz targets assert: a condition that does not hold is a finding. */
#ifndef TESTS_FUZZ_MUST_H
#define TESTS_FUZZ_MUST_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                  \
    do {                                                                                 \
        if (!(condition))                                                                \
            abort();                                                                     \
    } while (0)

#endif
