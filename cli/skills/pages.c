#include "cli/skills/skills.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <string.h>

#define BYTES_MAX ((size_t)32 << 20) /* of all pages */
#define CURSOR_MAX 65536
#define URIS_SHOWN 8

static const char extension[] = "io.modelcontextprotocol/skills";

bool cli_skills_offered(struct cli_oneshot *link)
{
    mp_view can = mp_text(mcplug_server_capabilities(link->server));

    if (mp_view_is_object(mp_view_get(mp_view_get(can, "extensions"), extension)))
        return true;
    cli_error("server \"%s\" does not offer skills: it lacks the extension %s",
              mcplug_server_name(link->server), extension);
    cli_oneshot_finish(link, CLI_UNSUPPORTED);
    return false;
}

/* ---- pages ---- */

static void ask(struct cli_oneshot *link, struct cli_skill_list *list);

static int page_sink(void *arg, const char *data, size_t len)
{
    return mp_str_add(arg, data, len);
}

/* The page as one text, which a result with long strings is not. */
static int keep_page(struct cli_skill_list *list, const struct cli_doc *doc, mp_view *out,
                     struct mcplug_error *err)
{
    struct mp_str *page = &list->pages[list->n_pages++];

    mp_str_init(page, BYTES_MAX);
    int r = mcplug_result_write(doc->result, 0, doc->len, page_sink, page, err);
    list->bytes += page->len;
    if (page->failed)
        r = mp_fail(err, MCPLUG_ETOOBIG, "a page of skills/list has more than 32 MiB");
    *out = mp_view_trim(mp_bytes(page->data, page->len));
    return r;
}

/* `early` becomes why not all were taken. */
static int add_items(struct cli_skill_list *list, mp_view page, const char **early,
                     struct mcplug_error *err)
{
    mp_view skills = mp_view_get(page, "skills"), item;
    struct mp_walk w = mp_walk_into(skills);

    if (!mp_view_is_array(skills))
        return mp_fail(err, MCPLUG_EPROTO, "a page of skills/list has no skills");
    while (mp_walk_element(&w, &item)) {
        if (list->n == CLI_SKILL_ITEMS_MAX) {
            *early = "more than 10000 items";
            break;
        }
        if (list->n == list->cap) {
            size_t cap = list->cap ? 2 * list->cap : 16;
            mp_view *more = mp_resize(list->items, cap * sizeof *more);
            if (!more)
                return mp_fail_nomem(err);
            list->items = more;
            list->cap = cap;
        }
        list->items[list->n++] = item;
    }
    return MCPLUG_OK;
}

/* Is there another page to ask for? */
static bool has_more(struct cli_skill_list *list, mp_view page, const char **early)
{
    mp_view cursor = mp_view_get(page, "nextCursor");

    if (*early || !mp_view_is_string(cursor))
        return false;
    if (list->cursor && mp_bytes_eq(cursor, list->cursor))
        *early = "the server repeats a cursor";
    else if (list->n_pages == CLI_SKILL_PAGES_MAX)
        *early = "more than 64 pages";
    else if (list->n == CLI_SKILL_ITEMS_MAX)
        *early = "more than 10000 items";
    else if (list->bytes > BYTES_MAX)
        *early = "more than 32 MiB";
    else if (cursor.len > CURSOR_MAX)
        *early = "a cursor of more than 64 KiB";
    if (*early)
        return false;
    mp_free(list->cursor);
    list->cursor = mp_strndup((const char *)cursor.data, cursor.len);
    return true;
}

static void warn(const struct cli_oneshot *link, const char *why)
{
    char source[MCPLUG_NAME_MAX + 8], text[128];

    snprintf(source, sizeof source, "mcp:%s", mcplug_server_name(link->server));
    snprintf(text, sizeof text, "skills/list ended early: %s", why);
    cli_log_line(MCPLUG_LOG_WARN, source, text);
}

static void on_page(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_skill_list *list = arg;
    const char *early = NULL;
    mp_view page;

    int r = keep_page(list, doc, &page, &err);
    if (r == MCPLUG_OK)
        r = add_items(list, page, &early, &err);
    bool more = r == MCPLUG_OK && has_more(list, page, &early);
    if (more && !list->cursor)
        r = mp_fail_nomem(&err);
    if (r != MCPLUG_OK) {
        cli_oneshot_fail(link, &err, NULL);
        return;
    }
    if (early)
        warn(link, early);
    if (more)
        ask(link, list);
    else
        list->done(link, arg);
}

static void ask(struct cli_oneshot *link, struct cli_skill_list *list)
{
    struct mp_str params;

    mp_str_init(&params, CURSOR_MAX + 64);
    mp_str_adds(&params, "{");
    if (list->cursor)
        mp_str_addf(&params, "\"cursor\":%s", list->cursor);
    mp_str_adds(&params, "}");
    cli_oneshot_request(link, "skills/list", "skills/list", params.data, on_page);
    mp_str_clear(&params);
}

void cli_skill_list_get(struct cli_oneshot *link, struct cli_skill_list *list,
                        cli_ready_fn *done)
{
    list->done = done;
    ask(link, list);
}

void cli_skill_list_clear(struct cli_skill_list *list)
{
    for (size_t i = 0; i < list->n_pages; i++)
        mp_str_clear(&list->pages[i]);
    mp_free(list->items);
    mp_free(list->cursor);
    memset(list, 0, sizeof *list);
}

/* ---- one of them ---- */

static mp_view name_of(mp_view item)
{
    return mp_view_get(mp_view_get(item, "frontmatter"), "name");
}

static void tell_none(const struct cli_oneshot *link, const struct cli_skill_list *list,
                      const char *word)
{
    const char *best = NULL;
    char *kept = NULL;

    for (size_t i = 0; i < list->n; i++) {
        char *name = mp_view_strdup(name_of(list->items[i]));
        best = kept;
        if (name)
            mp_nearest(word, name, &best);
        if (name && best == name) {
            mp_free(kept);
            kept = name;
        } else {
            mp_free(name);
        }
    }
    cli_error("server \"%s\" lists no skill \"%s\"%s%s%s",
              mcplug_server_name(link->server), word, kept ? "; did you mean \"" : "",
              kept ? kept : "", kept ? "\"?" : "");
    if (!kept)
        cli_hint("A server need not list all its skills: `mcplug skill` takes the URI "
                 "of a SKILL.md as well.");
    mp_free(kept);
}

static void tell_several(const struct cli_oneshot *link,
                         const struct cli_skill_list *list, const char *word)
{
    size_t shown = 0;

    cli_error("server \"%s\" has several skills \"%s\"; give the URI of one",
              mcplug_server_name(link->server), word);
    for (size_t i = 0; i < list->n && shown < URIS_SHOWN; i++) {
        char *uri = mp_view_equals(name_of(list->items[i]), word)
                        ? mp_view_strdup(mp_view_get(list->items[i], "uri"))
                        : NULL;
        if (uri) {
            cli_hint("%s", uri);
            shown++;
        }
        mp_free(uri);
    }
}

mp_view cli_skill_list_find(struct cli_oneshot *link, const struct cli_skill_list *list,
                            const char *word)
{
    mp_view found = mp_bytes(NULL, 0);
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        if (mp_view_equals(mp_view_get(list->items[i], "uri"), word))
            return list->items[i];
    for (size_t i = 0; i < list->n; i++)
        if (mp_view_equals(name_of(list->items[i]), word)) {
            found = list->items[i];
            n++;
        }
    if (n == 1)
        return found;
    if (n)
        tell_several(link, list, word);
    else
        tell_none(link, list, word);
    cli_oneshot_finish(link, CLI_NOT_FOUND);
    return mp_bytes(NULL, 0);
}
