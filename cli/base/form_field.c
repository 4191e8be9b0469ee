#include "cli/base/form_field.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define DEFAULT_MAX ((size_t)1 << 16)

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

/* Is that the value or the title of a choice? */
static bool is_called(const char *value, const char *title, const char *text,
                      int (*compare)(const char *, const char *))
{
    return compare(value, text) == 0 || (title && compare(title, text) == 0);
}

/* By its value, its title, or its number in the list; `N)` is always the number. */
static int choose(const json_t *schema, const char *text, const char **out,
                  struct mcplug_error *err)
{
    int (*const compares[])(const char *, const char *) = {strcmp, strcasecmp};
    const char *value, *title, *numbered = NULL, *found = NULL;
    bool several = false;
    char *end;
    unsigned long n = *text >= '1' && *text <= '9' ? strtoul(text, &end, 10) : 0;

    if (n && (!*end || strcmp(end, ")") == 0) && choice(schema, n - 1, &value, &title)) {
        numbered = value;
        found = value;
    }
    for (size_t c = 0; c < MP_COUNT(compares) && (!numbered || !*end); c++) {
        for (size_t i = 0; choice(schema, i, &value, &title); i++) {
            if (!is_called(value, title, text, compares[c]))
                continue;
            several = several || (found && strcmp(found, value) != 0);
            found = value;
        }
        if (found)
            break;
    }
    if (!found)
        return mp_fail(err, MCPLUG_EINVAL, "\"%.64s\" is not one of the choices", text);
    if (several)
        return mp_fail(err, MCPLUG_EINVAL,
                       "\"%.64s\" may be more than one of the choices; type the number "
                       "with a parenthesis, as in 1)",
                       text);
    *out = found;
    return MCPLUG_OK;
}

static void list_choices(const json_t *schema, struct mp_str *out)
{
    const char *value, *title;
    for (size_t i = 0; choice(schema, i, &value, &title); i++) {
        mp_str_addf(out, "  %zu) %s", i + 1, value);
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

    mp_str_adds(out, name);
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
        mp_str_addf(out, "  %s\n", description);
    list_choices(many ? items : schema, out);
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

/* What is no number in JSON, but would be one in C: +5, .5 */
static json_t *read_number(const char *text, bool whole)
{
    char *end;

    errno = 0;
    long long i = whole ? strtoll(text, &end, 10) : 0;
    double d = whole ? 0 : strtod(text, &end);
    if (end == text || *end || errno != 0)
        return NULL;
    return whole ? json_integer(i) : json_real(d); /* NULL for inf and nan */
}

static int parse_number(const json_t *schema, const char *text,
                        struct cli_numbers *numbers, json_t **out,
                        struct mcplug_error *err)
{
    static const struct mp_scan_limits scalar = {.depth = 1, .tokens = 1};
    bool whole = is_type(schema, "integer");
    struct mp_schemas own;
    json_t *value = NULL;

    mp_schemas_init(&own, NULL);
    mp_schemas_add(&own, schema);
    mp_schemas_expand(&own, false);
    if (mp_scan_text(text, strlen(text), &scalar, NULL, NULL) == MCPLUG_OK) {
        value = cli_tree(mp_text(text), numbers, err);
        if (!value)
            return MCPLUG_ENOMEM;
        if (!mp_schemas_accept(&own, value)) {
            json_decref(value);
            value = NULL;
        }
    } else {
        value = read_number(text, whole);
    }
    if (!value)
        return mp_fail(err, MCPLUG_EINVAL, "\"%.64s\" is not %s", text,
                       whole ? "a whole number" : "a number");
    int r = need_range(schema, json_number_value(value), text, err);
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
    const char *value = NULL;
    int r = choose(schema, text, &value, err);
    if (r != MCPLUG_OK)
        return r;
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

int cli_field_parse(const json_t *schema, const char *text, struct cli_numbers *numbers,
                    json_t **out, struct mcplug_error *err)
{
    if (has_choices(schema))
        return parse_choice(schema, text, out, err);
    if (is_type(schema, "array"))
        return parse_list(schema, text, out, err);
    if (is_type(schema, "boolean"))
        return parse_boolean(text, out, err);
    if (is_type(schema, "integer") || is_type(schema, "number"))
        return parse_number(schema, text, numbers, out, err);
    return parse_string(schema, text, out, err);
}

/* ---- defaults ---- */

/* give; NULL: not as it is, since it has a NUL. */
static char *text_of_string(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? mp_strdup(text) : NULL;
}

static char *text_of_list(const json_t *list)
{
    struct mp_str out;
    size_t i;
    json_t *value;

    mp_str_init(&out, DEFAULT_MAX);
    mp_str_adds(&out, "");
    json_array_foreach(list, i, value)
    {
        char *text = text_of_string(value);
        mp_str_addf(&out, "%s%s", i ? "," : "", text ? text : "");
        out.failed = out.failed || !text;
        mp_free(text);
    }
    return mp_str_take(&out);
}

static char *text_of_default(const json_t *value, struct cli_numbers *numbers)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return text_of_string(value);
    case JSON_TRUE:
        return mp_strdup("yes");
    case JSON_FALSE:
        return mp_strdup("no");
    case JSON_ARRAY:
        return text_of_list(value);
    case JSON_INTEGER:
    case JSON_REAL:
        return cli_tree_text(value, numbers);
    default:
        return NULL;
    }
}

char *cli_field_default(const json_t *schema, struct cli_numbers *numbers)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const json_t *value = json_object_get(schema, "default");
    char *text = value ? text_of_default(value, numbers) : NULL;
    json_t *typed = NULL;

    if (text) {
        cli_field_parse(schema, text, numbers, &typed, &err);
        if (!typed || !json_equal(typed, value)) {
            mp_free(text);
            text = NULL;
        }
    }
    json_decref(typed);
    return text;
}

/* ---- secrets ---- */

bool cli_field_is_secret(const char *name, const json_t *schema)
{
    static const char *const words[] = {
        "passw",   "passphrase", "secret",     "token",       "api key",    "apikey",
        "api_key", "api-key",    "credential", "private key", "private_key"};
    const char *const texts[] = {name, text_of(schema, "title"),
                                 text_of(schema, "format"),
                                 text_of(schema, "description")};

    for (size_t i = 0; i < MP_COUNT(texts); i++)
        for (size_t w = 0; texts[i] && w < MP_COUNT(words); w++)
            if (strcasestr(texts[i], words[w]))
                return true;
    return false;
}
