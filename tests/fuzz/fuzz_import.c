/* Files of other programs; the first byte tells of which one. Whatever they hold: entries
 * are JSON objects, their names fit the rules and are unique, their texts can be
 * expanded, and none of them runs a command or reads a file that is not asked for there.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "cli/import/parts.h"
#include "config/expand.h"
#include "config/jsontext.h"
#include "must.h"

#include <stdlib.h>

static const char *variable(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return NULL;
}

static int secret(void *arg, const char *kind, const char *name, struct mp_str *out,
                  struct mcplug_error *err)
{
    (void)name;
    (void)out;
    (void)err;
    MUST(arg == &cli_importers[CLI_WINDSURF] && strcmp(kind, "file") == 0);
    return MCPLUG_OK;
}

static void missing(void *arg, const char *name)
{
    (void)arg;
    (void)name;
}

static void check_text(const struct cli_importer *from, mp_view text)
{
    struct mp_expansion expansion = {variable, secret, missing, (void *)from};
    struct mp_str out;
    char *s = mp_view_strdup(text);

    mp_str_init(&out, MP_EXPAND_MAX);
    MUST(s && mp_expand(&expansion, s, &out, NULL) == MCPLUG_OK);
    mp_str_clear(&out);
    mp_free(s);
}

static void check_entry(const struct cli_importer *from, mp_view entry)
{
    static const char *const translated[] = {"command", "args", "env",
                                             "cwd",     "url",  "headers"};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_place at;

    MUST(mp_json_check(entry, &at, &err) == MCPLUG_OK && mp_view_is_object(entry));
    MUST(mp_view_get(entry, "command").len || mp_view_get(entry, "url").len);
    for (size_t i = 0; i < MP_COUNT(translated); i++) {
        mp_view v = mp_view_get(entry, translated[i]), key, value;
        struct mp_walk w = mp_walk_into(v);
        if (mp_view_is_string(v))
            check_text(from, v);
        else if (mp_view_is_array(v))
            while (mp_walk_element(&w, &value))
                check_text(from, value);
        else
            while (mp_walk_member(&w, &key, &value))
                check_text(from, value);
    }
}

static void check(const struct cli_importer *from, const struct cli_import *import)
{
    MUST(import->n + import->n_skipped <= CLI_IMPORT_ENTRIES + 8);
    for (size_t i = 0; i < import->n; i++) {
        const struct cli_imported *it = &import->list[i];
        size_t n = strspn(it->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_-");
        MUST(n > 0 && it->name[n] == '\0' && n <= CLI_IMPORT_NAME && it->name[0] != '-');
        for (size_t k = 0; k < i; k++)
            MUST(strcmp(it->name, import->list[k].name) != 0);
        MUST(!it->as || strcmp(it->as, it->name) != 0);
        MUST(!it->note || it->note[0]);
        check_entry(from, mp_text(it->entry));
    }
    for (size_t i = 0; i < import->n_skipped; i++)
        MUST(strncmp(import->skipped[i], "file: ", 6) == 0 &&
             !strchr(import->skipped[i], '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cli_import_places paths = {"/home/u", NULL, "/home/u/work",
                                                   false};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_import import = {NULL, 0, NULL, 0, NULL, 0};

    if (size == 0)
        return 0;
    const struct cli_importer *from = &cli_importers[data[0] % 8];
    int e = cli_import_text(from, &paths, "file", data[0] & 8 ? "/home/u/work" : NULL,
                            mp_bytes(data + 1, size - 1), &import, &err);
    if (e)
        MUST((e == MCPLUG_ECONFIG || e == MCPLUG_ETOOBIG) &&
             strncmp(err.text, "file:", 5) == 0 && !strchr(err.text, '\n'));
    check(from, &import);
    cli_import_clear(&import);
    return 0;
}
