/* A configuration that gets an entry and loses it again. Whatever the text: it is refused
 * with words, or nothing but the entry changes. */
#include "base/buf.h"
#include "cli/import/relax.h"
#include "config/edit.h"
#include "config/jsontext.h"
#include "must.h"

#include <stdlib.h>

#define MAX ((size_t)1 << 22)
#define SERVERS "mcpServers"
#define VALUE "{\"command\":\"y\"}"

static const char *const path[] = {SERVERS, "x", NULL};

static mp_view view(const struct mp_str *s)
{
    return mp_bytes(s->data, s->len);
}

static bool same(mp_view a, mp_view b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static mp_view whole(mp_view text)
{
    while (text.len && strchr(" \t\r\n", text.data[0]))
        text.data++, text.len--;
    while (text.len && strchr(" \t\r\n", text.data[text.len - 1]))
        text.len--;
    return text;
}

/* Is `in` a JSON text? Its place and words must be fit for people when not. */
static bool check(mp_view in)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_place at = {0, 0};
    int r = mp_json_check(in, &at, &err);
    int scanned =
        mp_scan_text((const char *)in.data, in.len, &mp_scan_defaults, NULL, NULL);

    if (r == MCPLUG_OK) {
        MUST(scanned == MCPLUG_OK && at.line == 0);
        return true;
    }
    MUST(r == MCPLUG_ECONFIG || r == MCPLUG_ETOOBIG);
    MUST(err.code == r && err.text[0] && strlen(err.text) < 200);
    MUST(at.line >= 1 && at.column >= 1);
    MUST(scanned != MCPLUG_OK || strstr(err.text, "twice") || strstr(err.text, "NUL") ||
         r == MCPLUG_ETOOBIG);
    return false;
}

static void check_spellings(mp_view in)
{
    struct mp_str once, twice, laid;

    mp_str_init(&once, MAX);
    mp_str_init(&twice, MAX);
    mp_str_init(&laid, MAX);
    MUST(mp_json_canonical(in, &once) && check(view(&once)));
    MUST(mp_json_canonical(view(&once), &twice) && same(view(&once), view(&twice)));
    static const char *const units[] = {"  ", "\t", ""};
    for (size_t i = 0; i < 3; i++) {
        mp_str_reset(&laid);
        mp_str_reset(&twice);
        const struct mp_json_style style = {.newline = mp_text(!*units[i] ? ""
                                                               : i        ? "\r\n"
                                                                          : "\n"),
                                            .indent = mp_text(i ? units[i] : ""),
                                            .unit = mp_text(units[i]),
                                            .comma = ", ",
                                            .colon = ": ",
                                            .pad = ""};
        MUST(mp_json_write(in, &style, &laid));
        MUST(check(view(&laid)));
        MUST(mp_json_canonical(view(&laid), &twice) && same(view(&once), view(&twice)));
    }
    mp_str_clear(&once);
    mp_str_clear(&twice);
    mp_str_clear(&laid);
}

/* Every member of `a` but the servers stands in `b`, byte for byte, in order. */
static void check_others(mp_view a, mp_view b)
{
    struct mp_walk wa = mp_walk_into(whole(a)), wb = mp_walk_into(whole(b));
    mp_view ka, va, kb, vb;

    while (mp_walk_member(&wa, &ka, &va)) {
        MUST(mp_walk_member(&wb, &kb, &vb) && same(ka, kb));
        MUST(same(va, vb) || mp_view_equals(ka, SERVERS));
    }
    if (mp_walk_member(&wb, &kb, &vb))
        MUST(mp_view_equals(kb, SERVERS) && !mp_walk_member(&wb, &kb, &vb));
}

static void check_removal(mp_view in, mp_view set)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_view servers = mp_view_get(whole(in), SERVERS);
    struct mp_str out;

    mp_str_init(&out, MAX);
    MUST(mp_edit_remove(set, path, &out, &err) == MCPLUG_OK && check(view(&out)));
    mp_view left = mp_view_get(whole(view(&out)), SERVERS);
    MUST(mp_view_is_object(left) && mp_view_get(left, "x").len == 0);
    check_others(in, view(&out));
    if (mp_view_count(servers) && mp_view_get(servers, "x").len == 0)
        MUST(same(in, view(&out)));
    struct mp_str none;
    mp_str_init(&none, MAX);
    MUST(mp_edit_remove(view(&out), path, &none, &err) == MCPLUG_EINVAL && !none.data);
    mp_str_clear(&out);
}

static void check_edits(mp_view in)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str out, again, value;

    mp_str_init(&out, MAX);
    mp_str_init(&again, MAX);
    mp_str_init(&value, MAX);
    int r = mp_edit_set(in, path, mp_text(VALUE), &out, &err);
    mp_view servers = mp_view_get(whole(in), SERVERS);
    if (!mp_view_is_object(whole(in)) || (servers.len && !mp_view_is_object(servers))) {
        MUST(r == MCPLUG_ECONFIG && err.text[0] && out.len == 0);
    } else {
        MUST(r == MCPLUG_OK && check(view(&out)));
        servers = mp_view_get(whole(view(&out)), SERVERS);
        MUST(mp_json_canonical(mp_view_get(servers, "x"), &value));
        MUST(mp_bytes_eq(view(&value), VALUE));
        check_others(in, view(&out));
        MUST(mp_edit_set(view(&out), path, mp_text(VALUE), &again, &err) == MCPLUG_OK);
        MUST(same(view(&out), view(&again)));
        check_removal(in, view(&out));
    }
    mp_str_clear(&out);
    mp_str_clear(&again);
    mp_str_clear(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mp_view in = mp_bytes(data, size);
    char *relaxed = malloc(size ? size : 1);

    if (size > 1 << 16 || !relaxed) {
        free(relaxed);
        return 0;
    }
    if (size)
        memcpy(relaxed, data, size);
    cli_import_relax(relaxed, size);
    bool good = check(in);
    if (good)
        MUST(size == 0 || memcmp(relaxed, data, size) == 0);
    in = mp_bytes(relaxed, size);
    if (good || check(in)) {
        check_spellings(in);
        check_edits(in);
    }
    free(relaxed);
    return 0;
}
