/* TOML: what is accepted becomes JSON, the same each time; what is not has a place and a
 * reason in one line, and adds nothing. */
#include "base/buf.h"
#include "cli/import/toml.h"
#include "must.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT, err2 = MCPLUG_ERROR_INIT;
    struct mp_place at = {0, 0}, at2 = {0, 0};
    struct mp_str out, out2;

    mp_str_init(&out, (size_t)64 << 20);
    mp_str_init(&out2, (size_t)64 << 20);
    int e = cli_toml_to_json(mp_bytes(data, size), &out, &at, &err);
    int e2 = cli_toml_to_json(mp_bytes(data, size), &out2, &at2, &err2);

    MUST(e == e2 && out.len == out2.len && at.line == at2.line &&
         at.column == at2.column && strcmp(err.text, err2.text) == 0);
    if (e == MCPLUG_OK) {
        MUST(memcmp(out.data, out2.data, out.len) == 0 && out.data[0] == '{');
        MUST(mp_json_check(mp_bytes(out.data, out.len), &at, &err) == MCPLUG_OK);
    } else {
        MUST(e == MCPLUG_ECONFIG || e == MCPLUG_ETOOBIG);
        MUST(err.code == e && err.text[0] && !strchr(err.text, '\n'));
        MUST(out.len == 0 && at.line >= 1 && at.column >= 1);
    }
    mp_str_clear(&out);
    mp_str_clear(&out2);
    return 0;
}
