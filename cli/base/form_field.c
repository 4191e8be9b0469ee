#include "cli/base/form_field.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static const char *text_of(const json_t *schema, const char *name)
{
    return json_string_value(json_object_get(schema, name));
}

static const char *type_of(const json_t *schema)
{
    const char *type = text_of(schema, "type");
    return type ? type : "string";
}

static bool is_type(const json_t *schema, const char *type)
{
    return strcmp(type_of(schema), type) == 0;
}

/* ---- choices ---- */

/* The i-th choice of `enum` (with enumNames) or `oneOf`/`anyOf` (const and title). */
static bool choice(const json_t *schema, size_t i, const char **value, const char **title)
{
    const json_t *list = json_object_get(schema, "enum");
    if (list) {
        *value = json_string_value(json_array_get(list, i));
        *title =
            json_string_value(json_array_get(json_object_get(schema, "enumNames"), i));
        return *value != NULL;
    }
    list = json_object_get(schema, "oneOf");
    if (!list)
        list = json_object_get(schema, "anyOf");
    const json_t *entry = json_array_get(list, i);
    *value = text_of(entry, "const");
    *title = text_of(entry, "title");
    return *value != NULL;
}

static bool has_choices(const json_t *schema)
{
    const char *value, *title;
    return choice(schema, 0, &value, &title);
}

/* By its value, its title, or its number in the list. */
static const char *choose(const json_t *schema, const char *text)
{
    const char *value, *title;
    for (size_t i = 0; choice(schema, i, &value, &title); i++)
        if (strcmp(value, text) == 0)
            return value;
    for (size_t i = 0; choice(schema, i, &value, &title); i++)
        if (strcasecmp(value, text) == 0 || (title && strcasecmp(title, text) == 0))
            return value;
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end != text && !*end && n >= 1 && choice(schema, n - 1, &value, &title))
        return value;
    return NULL;
}

static void list_choices(const json_t *schema, struct mp_str *out)
{
    const char *value, *title;
    for (size_t i = 0; choice(schema, i, &value, &title); i++) {
        mp_str_addf(out, "    %zu) %s", i + 1, value);
        if (title && strcmp(title, value) != 0)
            mp_str_addf(out, " - %s", title);
        mp_str_addc(out, '\n');
    }
}

/* ---- describing ---- */

/* The number takes the place of `#` in `fmt`. */
static void add_limit(const json_t *schema, const char *member, const char *fmt,
                      struct mp_str *out)
{
    const json_t *limit = json_object_get(schema, member);
    char number[32];
    if (!json_is_number(limit))
        return;
    snprintf(number, sizeof number, "%.15g", json_number_value(limit));
    mp_str_adds(out, ", ");
    for (; *fmt; fmt++)
        if (*fmt == '#')
            mp_str_adds(out, number);
        else
            mp_str_addc(out, *fmt);
}

void cli_field_describe(const char *name, const json_t *schema, bool required,
                        struct mp_str *out)
{
    const char *title = text_of(schema, "title"), *format = text_of(schema, "format");
    const char *description = text_of(schema, "description");
    const json_t *items = json_object_get(schema, "items");
    bool many = is_type(schema, "array");

    mp_str_addf(out, "  %s", name);
    if (title && strcmp(title, name) != 0)
        mp_str_addf(out, " - %s", title);
    if (has_choices(schema))
        mp_str_adds(out, " (one of these");
    else if (many)
        mp_str_adds(out, " (any of these, with commas between");
    else if (is_type(schema, "boolean"))
        mp_str_adds(out, " (yes or no");
    else
        mp_str_addf(out, " (%s", format ? format : type_of(schema));
    add_limit(schema, "minimum", "at least #", out);
    add_limit(schema, "maximum", "at most #", out);
    add_limit(schema, "minLength", "# characters at least", out);
    add_limit(schema, "maxLength", "# characters at most", out);
    add_limit(schema, "minItems", "# at least", out);
    add_limit(schema, "maxItems", "# at most", out);
    mp_str_adds(out, required ? ")\n" : ", optional)\n");
    if (description)
        mp_str_addf(out, "    %s\n", description);
    list_choices(many ? items : schema, out);
}

char *cli_field_default(const json_t *schema)
{
    const json_t *value = json_object_get(schema, "default");
    if (json_is_string(value))
        return mp_strdup(json_string_value(value));
    if (json_is_boolean(value))
        return mp_strdup(json_is_true(value) ? "yes" : "no");
    if (json_is_array(value)) {
        struct mp_str out;
        mp_str_init(&out, 4096);
        for (size_t i = 0; i < json_array_size(value); i++) {
            const char *s = json_string_value(json_array_get(value, i));
            mp_str_addf(&out, "%s%s", i ? "," : "", s ? s : "");
        }
        return mp_str_take(&out);
    }
    if (!json_is_number(value))
        return NULL;
    char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    char *text = mp_strdup(dumped);
    free(dumped);
    return text;
}

/* ---- reading ---- */

static int need_range(const json_t *schema, double n, const char *text,
                      struct mcplug_error *err)
{
    const json_t *low = json_object_get(schema, "minimum");
    const json_t *high = json_object_get(schema, "maximum");
    if (json_is_number(low) && n < json_number_value(low))
        return mp_fail(err, MCPLUG_EINVAL, "%s is less than %.15g", text,
                       json_number_value(low));
    if (json_is_number(high) && n > json_number_value(high))
        return mp_fail(err, MCPLUG_EINVAL, "%s is more than %.15g", text,
                       json_number_value(high));
    return MCPLUG_OK;
}

static int parse_number(const json_t *schema, const char *text, json_t **out,
                        struct mcplug_error *err)
{
    char *end;
    bool whole = is_type(schema, "integer");
    errno = 0;
    long long i = whole ? strtoll(text, &end, 10) : 0;
    double d = whole ? (double)i : strtod(text, &end);
    json_t *value = NULL;
    if (end != text && !*end && errno == 0)
        value = whole ? json_integer(i) : json_real(d); /* NULL for inf and nan */
    if (!value)
        return mp_fail(err, MCPLUG_EINVAL, "\"%.64s\" is not %s", text,
                       whole ? "a whole number" : "a number");
    int r = need_range(schema, d, text, err);
    if (r == MCPLUG_OK)
        *out = value;
    else
        json_decref(value);
    return r;
}

static int parse_boolean(const char *text, json_t **out, struct mcplug_error *err)
{
    static const char *const words[][2] = {
        {"no", "yes"}, {"n", "y"}, {"false", "true"}, {"0", "1"}, {"off", "on"}};
    for (size_t i = 0; i < MP_COUNT(words); i++)
        for (int truth = 0; truth < 2; truth++)
            if (strcasecmp(text, words[i][truth]) == 0) {
                *out = json_boolean(truth);
                return MCPLUG_OK;
            }
    return mp_fail(err, MCPLUG_EINVAL, "expected yes or no, got \"%.64s\"", text);
}

static int parse_choice(const json_t *schema, const char *text, json_t **out,
                        struct mcplug_error *err)
{
    const char *value = choose(schema, text);
    if (!value)
        return mp_fail(err, MCPLUG_EINVAL, "\"%.64s\" is not one of the choices", text);
    *out = json_string(value);
    return *out ? MCPLUG_OK : mp_fail_nomem(err);
}

static int add_choice(const json_t *items, char *word, json_t *list,
                      struct mcplug_error *err)
{
    json_t *one = NULL;
    while (*word == ' ')
        word++;
    for (size_t n = strlen(word); n && word[n - 1] == ' '; n--)
        word[n - 1] = '\0';
    int r = parse_choice(items, word, &one, err);
    if (r == MCPLUG_OK && json_array_append_new(list, one) != 0)
        r = mp_fail_nomem(err);
    return r;
}

static int parse_list(const json_t *schema, const char *text, json_t **out,
                      struct mcplug_error *err)
{
    const json_t *items = json_object_get(schema, "items");
    const json_t *low = json_object_get(schema, "minItems");
    const json_t *high = json_object_get(schema, "maxItems");
    json_t *list = json_array();
    char *copy = mp_strdup(text), *rest = NULL;
    int r = list && copy ? MCPLUG_OK : mp_fail_nomem(err);

    for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word && r == MCPLUG_OK;
         word = strtok_r(NULL, ",", &rest))
        r = add_choice(items, word, list, err);
    json_int_t n = (json_int_t)json_array_size(list);
    if (r == MCPLUG_OK && json_is_integer(low) && n < json_integer_value(low))
        r = mp_fail(err, MCPLUG_EINVAL, "choose at least %lld",
                    (long long)json_integer_value(low));
    if (r == MCPLUG_OK && json_is_integer(high) && n > json_integer_value(high))
        r = mp_fail(err, MCPLUG_EINVAL, "choose at most %lld",
                    (long long)json_integer_value(high));
    if (r == MCPLUG_OK)
        *out = json_incref(list);
    json_decref(list);
    mp_free(copy);
    return r;
}

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* Enough to catch a slip; the server has the last word. */
static bool has_format(const char *format, const char *text)
{
    unsigned y, m, d;
    int n = 0;
    if (strcmp(format, "email") == 0) {
        const char *at = strchr(text, '@');
        return at && at != text && at[1] && !strchr(text, ' ');
    }
    if (strcmp(format, "uri") == 0) {
        const char *colon = strchr(text, ':');
        return colon && colon != text && colon[1] && !strchr(text, ' ');
    }
    if (strncmp(format, "date", 4) == 0) {
        bool day = sscanf(text, "%4u-%2u-%2u%n", &y, &m, &d, &n) == 3 && n == 10 &&
                   m >= 1 && m <= 12 && d >= 1 && d <= 31;
        if (strcmp(format, "date") == 0)
            return day && !text[10];
        if (strcmp(format, "date-time") == 0)
            return day && (text[10] == 'T' || text[10] == 't') && strlen(text) >= 17;
    }
    return true;
}

static int parse_string(const json_t *schema, const char *text, json_t **out,
                        struct mcplug_error *err)
{
    const json_t *low = json_object_get(schema, "minLength");
    const json_t *high = json_object_get(schema, "maxLength");
    const char *format = text_of(schema, "format");
    json_int_t n = (json_int_t)characters(text);

    if (json_is_integer(low) && n < json_integer_value(low))
        return mp_fail(err, MCPLUG_EINVAL, "the text is shorter than %lld characters",
                       (long long)json_integer_value(low));
    if (json_is_integer(high) && n > json_integer_value(high))
        return mp_fail(err, MCPLUG_EINVAL, "the text is longer than %lld characters",
                       (long long)json_integer_value(high));
    if (format && !has_format(format, text))
        return mp_fail(err, MCPLUG_EINVAL, "\"%.64s\" does not look like %s", text,
                       format);
    *out = json_string(text);
    return *out ? MCPLUG_OK : mp_fail(err, MCPLUG_EINVAL, "the text is not UTF-8");
}

int cli_field_parse(const json_t *schema, const char *text, json_t **out,
                    struct mcplug_error *err)
{
    if (has_choices(schema))
        return parse_choice(schema, text, out, err);
    if (is_type(schema, "array"))
        return parse_list(schema, text, out, err);
    if (is_type(schema, "boolean"))
        return parse_boolean(text, out, err);
    if (is_type(schema, "integer") || is_type(schema, "number"))
        return parse_number(schema, text, out, err);
    return parse_string(schema, text, out, err);
}
