/* YAML: what is accepted is a mapping, the same each time, and the same again when it is
 * read from the JSON that it means, since JSON is YAML; what is not has a reason in one
 * line. */
#include "base/buf.h"
#include "cli/skills/yaml.h"
#include "must.h"

#include <stdlib.h>

/* What only JSON has: this many levels and values, escapes that are longer. */
static void read_again(const json_t *tree)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *text = json_dumps(tree, JSON_COMPACT | JSON_ENSURE_ASCII);
    struct mp_str line;

    MUST(text != NULL);
    mp_str_init(&line, (size_t)16 << 20);
    mp_str_addf(&line, "a: %s\n", text);
    json_t *again = cli_yaml_mapping(mp_bytes(line.data, line.len), &err);
    MUST(again ? json_equal(json_object_get(again, "a"), (json_t *)tree)
               : err.code == MCPLUG_ETOOBIG || strstr(text, "\\u0000") != NULL);
    json_decref(again);
    mp_str_clear(&line);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT, err2 = MCPLUG_ERROR_INIT;
    json_t *tree = cli_yaml_mapping(mp_bytes(data, size), &err);
    json_t *tree2 = cli_yaml_mapping(mp_bytes(data, size), &err2);

    MUST(!tree == !tree2);
    if (tree) {
        MUST(json_is_object(tree) && json_equal(tree, tree2));
        read_again(tree);
    } else {
        MUST(err.code == MCPLUG_EPROTO || err.code == MCPLUG_ETOOBIG);
        MUST(err.text[0] && !strchr(err.text, '\n') && strcmp(err.text, err2.text) == 0);
    }
    json_decref(tree);
    json_decref(tree2);
    return 0;
}
