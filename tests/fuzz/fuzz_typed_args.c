/* Arguments from words: a schema, then keys and values, divided by NUL bytes. */
#include "cli/base/typed_args.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>

static void must(bool held)
{
    if (!held)
        abort();
}

/* The next C string of the input; an empty one at its end. */
static const char *next(const char **p, const char *end)
{
    const char *text = *p;
    if (text == end)
        return "";
    const char *stop = memchr(text, '\0', (size_t)(end - text));
    *p = stop ? stop + 1 : end;
    return text;
}

static void set(json_t *args, const json_t *schema, const char *key, const char *value,
                struct cli_numbers *numbers)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *before = json_deep_copy(args);

    int r = cli_typed_args_set(args, schema, key, value, numbers, &err);
    if (r == MCPLUG_OK) {
        must(json_object_size(args) > 0);
    } else {
        must(r == MCPLUG_EINVAL && err.code == r && err.text[0]);
        must(json_equal(args, before));
    }
    json_decref(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    memcpy(copy, data, size);
    copy[size] = '\0';

    const char *p = copy, *end = copy + size;
    const char *text = next(&p, end);
    json_t *schema = json_loads(text, JSON_DECODE_ANY, NULL);
    json_t *args = json_object();
    struct cli_numbers numbers = {0};
    for (int i = 0; i < 8 && p < end; i++) {
        const char *key = next(&p, end);
        set(args, schema, key, next(&p, end), &numbers);
    }
    static const struct mp_scan_limits limits = {200, 10000000};
    char *written = cli_tree_text(args, &numbers);
    must(written && mp_scan_text(written, strlen(written), &limits, NULL, NULL) == 0);
    mp_free(written);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int r = cli_typed_args_check_required(args, schema, &err);
    must(r == MCPLUG_OK || (r == MCPLUG_EINVAL && err.text[0]));
    json_decref(args);
    cli_numbers_clear(&numbers);
    json_decref(schema);
    free(copy);
    return 0;
}
