/* For the suites of the module openai: JSON with ' for ", and the module itself. */
#ifndef OPENAI_KIT_H
#define OPENAI_KIT_H

#include "loop/loop.h"
#include "model_kit.h"
#include "suite.h"

#include <check.h>

/* The text with " for '. Valid until four others were asked for. */
static inline const char *quoted(const char *text)
{
    static char *kept[4];
    static size_t n;
    char *copy = strdup(text);
    KIT_MUST(copy != NULL);
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    free(kept[n % 4]);
    kept[n % 4] = copy;
    return kept[n++ % 4];
}

static inline void check_has(const char *text, const char *part, int line)
{
    const char *wanted = quoted(part);
    ck_assert_msg(strstr(text, wanted) != NULL, "line %d: %s\n has no\n%s", line, text,
                  wanted);
}

#define HAS(text, part) check_has(text, part, __LINE__)
#define LACKS(text, part) ck_assert_ptr_null(strstr(text, quoted(part)))
#define IS(text, whole) ck_assert_str_eq(text, quoted(whole))

static struct mp_catalogue *openai_modules;
static struct mp_loop *openai_loop;

/* The module of this build, be it a file or compiled in. */
static inline void openai_setup(const char *feature)
{
    static const struct mcplug_wire wire = {.struct_size = sizeof wire};
    struct mp_catalogue_options options = {.wire = &wire};
    const struct mp_offer *offer;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    options.loop = openai_loop = mp_loop_new(&err);
    openai_modules = mp_catalogue_new(&options, &err);
    int r = mp_catalogue_find(openai_modules, MCPLUG_MODEL, "openai", &offer, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    unsetenv("OPENAI_API_KEY");
    kit_init(offer->plugin->descriptor, feature);
}

static inline void openai_teardown(void)
{
    kit_fini();
    mp_catalogue_free(openai_modules);
    mp_loop_free(openai_loop);
    quoted(""), quoted(""), quoted(""), quoted("");
}

/* Opens it with one setting more, or NULL. */
static inline void openai_open(const char *name, const char *value)
{
    kit_close();
    kit_setting("apiKey", "sk-secret-key");
    if (name != NULL)
        kit_setting(name, value);
    ck_assert_msg(kit_open() == MCPLUG_OK, "%s", kit.err.text);
}

static inline void asks(const struct mcplug_prompt *prompt)
{
    ck_assert_msg(kit_ask(prompt) == MCPLUG_OK, "%s", kit.err.text);
}

/* Answers with this stream, whose cuts do not matter. */
static inline void hears(const char *stream)
{
    char *text = strdup(quoted(stream));
    kit_every_cut(text);
    free(text);
}

static inline void ends_with(enum mcplug_stop stop)
{
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_msg(told.why.code == 0, "%s", told.why.text);
    ck_assert_int_eq(told.stop, stop);
}

static inline void fails_with(int code, int status, const char *words)
{
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_msg(told.why.code == code, "%d: %s", told.why.code, told.why.text);
    ck_assert_int_eq(told.why.peer_status, status);
    ck_assert_msg(strstr(told.why.text, words) != NULL, "%s", told.why.text);
    ck_assert_ptr_null(strstr(told.why.text, "sk-secret-key"));
}

#define RETRIES ((told.why.flags & MCPLUG_ERROR_RETRY) != 0)

#endif
