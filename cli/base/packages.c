#include "cli/base/packages.h"

#include <stdlib.h>
#include <string.h>

static int note(void *arg, const struct mcplug_packaged *one)
{
    /* a line that is not UTF-8 gives no object, and is passed over */
    json_array_append_new(arg, json_pack("{s:s,s:s,s:s,s:s}", "kind", one->kind, "name",
                                         one->name, "package", one->package, "summary",
                                         one->summary));
    return 1;
}

json_t *cli_packages(void)
{
    json_t *list = json_array();

    if (list && mcplug_packages_each(note, list) != MCPLUG_OK) {
        json_decref(list);
        list = NULL;
    }
    return list;
}

static bool is(const json_t *one, const char *key, const char *value)
{
    return strcmp(json_string_value(json_object_get(one, key)), value) == 0;
}

const char *cli_package_of(const json_t *packages, const char *kind, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(packages, i, one)
    {
        if (is(one, "kind", kind) && is(one, "name", name))
            return json_string_value(json_object_get(one, "package"));
    }
    return NULL;
}

void cli_program_type(char out[MCPLUG_TYPE_MAX])
{
    static const char program[] = "{\"command\":\"x\"}";
    mcplug_json_type(program, sizeof program - 1, out);
}

bool cli_is_program_type(const char *type)
{
    char program[MCPLUG_TYPE_MAX], given[MCPLUG_TYPE_MAX];
    char *text = NULL;
    json_t *entry = type ? json_pack("{s:s}", "type", type) : NULL;

    if (!type)
        return true;
    if (entry)
        text = json_dumps(entry, JSON_COMPACT);
    cli_program_type(program);
    given[0] = '\0';
    if (text)
        mcplug_json_type(text, strlen(text), given);
    free(text);
    json_decref(entry);
    return strcmp(given, program) == 0;
}
