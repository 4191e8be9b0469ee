#include "cli/base/key_value.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/nearest.h"
#include "cli/base/message.h"
#include "cli/base/outcome.h"
#include "cli/base/typed_args.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define STEP 65536

static int read_fd(int fd, const char *name, struct mp_str *out, struct mcplug_error *err)
{
    for (;;) {
        if (!mp_str_reserve(out, STEP))
            return mp_fail_nomem(err);
        ssize_t n = read(fd, out->data + out->len, STEP);
        if (n == 0)
            return MCPLUG_OK;
        if (n < 0 && errno != EINTR)
            return mp_fail_os(err, MCPLUG_EIO, errno, "cannot read %s", name);
        if (n > 0)
            out->len += (size_t)n;
        if (out->len > CLI_FILE_MAX)
            return mp_fail(err, MCPLUG_EINVAL, "%s is longer than %zu MiB", name,
                           CLI_FILE_MAX >> 20);
    }
}

/* JSON carries text, so bytes that are none have no way through. */
static int need_text(const struct mp_str *s, const char *name, struct mcplug_error *err)
{
    const unsigned char *p = (const unsigned char *)s->data;
    for (size_t at = 0; at < s->len;) {
        size_t n = mp_utf8_len(p + at, s->len - at);
        if (n == 0 || p[at] == 0)
            return mp_fail(err, MCPLUG_EINVAL,
                           "%s is not text in UTF-8 (byte %zu); encode it first, with "
                           "base64 for example",
                           name, at);
        at += n;
    }
    return MCPLUG_OK;
}

static char *read_file(const char *path, struct mcplug_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct mp_str text;
    if (fd < 0) {
        mp_fail_os(err, MCPLUG_EIO, errno, "cannot open %s", path);
        return NULL;
    }
    mp_str_init(&text, CLI_FILE_MAX + 2 * STEP);
    int r = read_fd(fd, name, &text, err);
    if (r == MCPLUG_OK)
        r = need_text(&text, name, err);
    if (!is_stdin)
        close(fd);
    if (r != MCPLUG_OK) {
        mp_str_clear(&text);
        return NULL;
    }
    char *taken = mp_str_take(&text);
    if (!taken)
        mp_fail_nomem(err);
    return taken;
}

char *cli_read_value(const char *text, struct mcplug_error *err)
{
    if (strcmp(text, "-") == 0)
        return read_file(text, err);
    if (text[0] == '@')
        return read_file(text + 1, err);
    char *copy = mp_strdup(text);
    if (!copy)
        mp_fail_nomem(err);
    return copy;
}

char *cli_read_object(const char *option, const char *text, struct mcplug_error *err)
{
    static const struct mp_scan_limits limits = {.depth = 64, .tokens = 1000000};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char *json = cli_read_value(text, err);
    if (!json)
        return NULL;
    if (mp_scan_text(json, strlen(json), &limits, NULL, &why) != MCPLUG_OK)
        mp_fail(err, MCPLUG_EINVAL, "%s is not JSON: %s", option, why.text);
    else if (json[strspn(json, " \t\r\n")] != '{')
        mp_fail(err, MCPLUG_EINVAL, "%s: expected a JSON object", option);
    else
        return json;
    mp_free(json);
    return NULL;
}

/* ---- words ---- */

static int read_word(const char *text, struct cli_word *out, struct mcplug_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return mp_fail(err, MCPLUG_EINVAL, "expected KEY=VALUE, got \"%.100s\"", text);
    const char *value = equals + 1;
    out->from_file = value[0] == '@' && value[1] != '@';
    out->key = mp_strndup(text, (size_t)(equals - text));
    if (out->from_file)
        out->value = read_file(value + 1, err);
    else
        out->value = mp_strdup(value[0] == '@' ? value + 1 : value);
    if (!out->value && out->from_file)
        return err->code;
    return out->key && out->value ? MCPLUG_OK : mp_fail_nomem(err);
}

int cli_words_read(const char *const *words, size_t n, struct cli_words *out,
                   struct mcplug_error *err)
{
    int r = MCPLUG_OK;
    memset(out, 0, sizeof *out);
    out->items = mp_alloc(n * sizeof *out->items);
    if (!out->items)
        return mp_fail_nomem(err);
    for (out->n = 0; r == MCPLUG_OK && out->n < n; out->n++)
        r = read_word(words[out->n], &out->items[out->n], err);
    return r;
}

int cli_words_outcome(const struct mcplug_error *err)
{
    return err->code == MCPLUG_EIO ? CLI_IO_ERROR : CLI_BAD_ARGUMENTS;
}

void cli_words_clear(struct cli_words *words)
{
    for (size_t i = 0; i < words->n; i++) {
        mp_free(words->items[i].key);
        mp_free(words->items[i].value);
    }
    mp_free(words->items);
    memset(words, 0, sizeof *words);
}

static int set_typed(json_t *args, const json_t *schema, const struct cli_word *word,
                     struct cli_numbers *numbers, struct mcplug_error *err)
{
    int r = cli_typed_args_set(args, schema, word->key, word->value, numbers, err);
    const json_t *known =
        json_object_get(json_object_get(schema, "properties"), word->key);
    if (r == MCPLUG_OK && word->from_file && !known && json_object_get(args, word->key))
        if (json_object_set_new(args, word->key, json_string(word->value)) != 0)
            return mp_fail_nomem(err);
    return r;
}

/* A tool that does not refuse what it does not know is likely to ignore it. */
static void warn_of_slip(const json_t *schema, const char *key)
{
    json_t *named = json_object_get(schema, "properties"), *any;
    const char *name, *best = NULL;

    if (json_object_get(named, key) || strchr(key, '.') ||
        json_object_get(schema, "additionalProperties") ||
        json_object_get(schema, "patternProperties"))
        return;
    json_object_foreach(named, name, any) mp_nearest(key, name, &best);
    if (best)
        cli_note("warning: the tool has no argument \"%.64s\"; did you mean \"%.64s\"?",
                 key, best);
}

char *cli_words_typed(const struct cli_words *words, const json_t *schema,
                      struct mcplug_error *err)
{
    struct cli_numbers numbers = {0};
    json_t *args = json_object();
    char *text = NULL;
    int r = args ? MCPLUG_OK : mp_fail_nomem(err);

    for (size_t i = 0; r == MCPLUG_OK && i < words->n; i++)
        r = set_typed(args, schema, &words->items[i], &numbers, err);
    for (size_t i = 0; r == MCPLUG_OK && i < words->n; i++)
        warn_of_slip(schema, words->items[i].key);
    if (r == MCPLUG_OK)
        r = cli_typed_args_check_required(args, schema, err);
    if (r == MCPLUG_OK && !(text = cli_tree_text(args, &numbers)))
        mp_fail_nomem(err);
    json_decref(args);
    cli_numbers_clear(&numbers);
    return text;
}

json_t *cli_words_strings(const struct cli_words *words, struct mcplug_error *err)
{
    json_t *args = json_object();
    if (!args)
        mp_fail_nomem(err);
    for (size_t i = 0; args && i < words->n; i++) {
        const struct cli_word *w = &words->items[i];
        if (json_object_set_new(args, w->key, json_string(w->value)) != 0) {
            mp_fail(err, MCPLUG_EINVAL, "the value of %s is not UTF-8", w->key);
            json_decref(args);
            args = NULL;
        }
    }
    return args;
}
