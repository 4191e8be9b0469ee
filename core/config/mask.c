/* What may be a secret is not shown. */
#include "config/config.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <strings.h>

#define MASK "***"

/* Parts of names that are given to secrets. */
static const char *const telling[] = {
    "token",
    "secret",
    "password",
    "passwd",
    "pass",
    "pwd",
    "apikey",
    "api_key",
    "api-key",
    "_key",
    "-key",
    "key",
    "auth",
    "bearer",
    "cookie",
    "session",
    "credential",
    "signature",
    "private",
    "dsn",
    "_pat",
    "jwt",
    "connection_string",
    "database_url",
};

/* What tokens of well-known services begin with. */
static const char *const heads[] = {
    "ghp_",   "gho_",  "ghs_",  "github_pat_", "glpat-", "sk-",  "sk_",
    "pk_",    "rk_",   "xox",   "AKIA",        "ASIA",   "eyJ",  "AIza",
    "hf_",    "npm_",  "ntn_",  "secret_",     "lin_",   "sbp_", "dop_v1_",
    "shpat_", "figd_", "ATATT", "tvly-",       "ya29.",
};

static bool name_tells(const char *name, size_t len)
{
    char lower[128];
    len = len < sizeof lower ? len : sizeof lower - 1;
    for (size_t i = 0; i < len; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    lower[len] = '\0';
    for (size_t i = 0; i < MP_COUNT(telling); i++)
        if (strstr(lower, telling[i]))
            return true;
    return false;
}

/* Long, and of letters and digits mixed: nobody writes that by hand. */
static bool looks_random(const char *text, size_t len)
{
    size_t digits = 0, letters = 0;
    if (len < 20)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!isalnum(c) && !strchr("+/=_-.~", c))
            return false;
        digits += isdigit(c) != 0;
        letters += isalpha(c) != 0;
    }
    return digits >= 3 && letters >= 3 && !memchr(text, '/', len);
}

static bool value_tells(const char *text, size_t len)
{
    for (size_t i = 0; i < MP_COUNT(heads); i++) {
        size_t n = strlen(heads[i]);
        if (len >= n + 6 && strncmp(text, heads[i], n) == 0)
            return true;
    }
    return looks_random(text, len);
}

/* `text` with everything but references replaced. */
static void add_hidden(struct mp_str *out, const char *text)
{
    bool hidden = false;
    while (*text) {
        const char *end = strncmp(text, "${", 2) == 0 ? strchr(text, '}') : NULL;
        if (end && !strstr(text, ":-")) {
            mp_str_add(out, text, (size_t)(end + 1 - text));
            text = end + 1;
            hidden = false;
        } else if (strncasecmp(text, "Bearer ", 7) == 0 && !hidden) {
            mp_str_add(out, text, 7); /* the scheme is no secret */
            text += 7;
        } else {
            if (!hidden)
                mp_str_adds(out, MASK);
            hidden = true;
            text++;
        }
    }
}

/* User and password, and values of the query whose names tell. */
static void add_url(struct mp_str *out, const char *url)
{
    const char *host = strstr(url, "://"), *at;
    if (host) {
        host += 3;
        size_t span = strcspn(host, "/?#");
        at = memrchr(host, '@', span);
        if (at) {
            mp_str_add(out, url, (size_t)(host - url));
            mp_str_adds(out, MASK);
            url = at;
        }
    }
    size_t head = strcspn(url, "?#");
    mp_str_add(out, url, head);
    url += head;
    while (*url) {
        size_t len = 1 + strcspn(url + 1, "&#?");
        const char *equals = memchr(url, '=', len);
        size_t name = equals ? (size_t)(equals - url) : len;
        if (equals &&
            (name_tells(url + 1, name - 1) || value_tells(equals + 1, len - name - 1))) {
            char *value = mp_strndup(equals + 1, len - name - 1);
            mp_str_add(out, url, name + 1);
            add_hidden(out, value ? value : MASK);
            mp_free(value);
        } else {
            mp_str_add(out, url, len);
        }
        url += len;
    }
}

/* One argument of a command; `before` is the one before it, which may name it. */
static void add_arg(struct mp_str *out, const char *arg, const char *before)
{
    const char *equals =
        arg[0] == '-' || isalpha((unsigned char)arg[0]) ? strpbrk(arg, "=:") : NULL;
    if (before && before[0] == '-' && name_tells(before, strlen(before)) &&
        !strchr(before, '=') && arg[0] != '-') {
        add_hidden(out, arg);
    } else if (strstr(arg, "://")) {
        add_url(out, arg);
    } else if (equals && name_tells(arg, (size_t)(equals - arg))) {
        size_t head = (size_t)(equals - arg) + 1 + strspn(equals + 1, " ");
        mp_str_add(out, arg, head);
        add_hidden(out, arg + head);
    } else if (value_tells(arg, strlen(arg))) {
        mp_str_adds(out, MASK);
    } else {
        mp_str_adds(out, arg);
    }
}

/* ---- JSON ---- */

enum place { PLAIN, HEADERS, VARIABLES, ARGUMENTS };

static void add_text(struct mp_str *out, enum place place, const char *name,
                     const char *before, const char *text)
{
    static const char *const harmless[] = {"accept", "content-type", "user-agent"};
    struct mp_str shown;
    bool plain = false;

    mp_str_init(&shown, MP_FILE_MAX);
    for (size_t i = 0; place == HEADERS && i < MP_COUNT(harmless); i++)
        plain = plain || strcasecmp(name, harmless[i]) == 0;
    if (place == ARGUMENTS)
        add_arg(&shown, text, before);
    else if (place == HEADERS && !plain)
        add_hidden(&shown, text);
    else if (strstr(text, "://"))
        add_url(&shown, text);
    else if ((name && name_tells(name, strlen(name)) && strcmp(name, "keyFile") != 0) ||
             value_tells(text, strlen(text)))
        add_hidden(&shown, text);
    else
        mp_str_adds(&shown, text);
    mp_str_add_json(out, shown.data ? shown.data : "", shown.len);
    mp_str_clear(&shown);
}

static void add_value(struct mp_str *out, enum place place, const char *name, mp_view v);

static void add_members(struct mp_str *out, enum place place, mp_view object)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;
    bool first = true;

    mp_str_addc(out, '{');
    while (mp_walk_member(&w, &key, &value)) {
        char *name = mp_view_strdup(key);
        enum place inner = place;
        if (name && place == PLAIN)
            inner = strcmp(name, "headers") == 0 ? HEADERS
                    : strcmp(name, "env") == 0   ? VARIABLES
                    : strcmp(name, "args") == 0  ? ARGUMENTS
                                                 : PLAIN;
        if (!first)
            mp_str_addc(out, ',');
        first = false;
        mp_str_add(out, key.data, key.len);
        mp_str_addc(out, ':');
        add_value(out, inner, name ? name : "key", value);
        mp_free(name);
    }
    mp_str_addc(out, '}');
}

static void add_elements(struct mp_str *out, enum place place, const char *name,
                         mp_view array)
{
    struct mp_walk w = mp_walk_into(array);
    mp_view value;
    char *before = NULL;
    bool first = true;

    mp_str_addc(out, '[');
    while (mp_walk_element(&w, &value)) {
        char *text = mp_view_strdup(value);
        if (!first)
            mp_str_addc(out, ',');
        first = false;
        if (text)
            add_text(out, place, name, before, text);
        else
            add_value(out, place, name, value);
        mp_free(before);
        before = text;
    }
    mp_free(before);
    mp_str_addc(out, ']');
}

static void add_value(struct mp_str *out, enum place place, const char *name, mp_view v)
{
    char *text;
    if (mp_view_is_object(v)) {
        add_members(out, place, v);
    } else if (mp_view_is_array(v)) {
        add_elements(out, place, name, v);
    } else if (mp_view_is_string(v) && (text = mp_view_strdup(v))) {
        add_text(out, place, name, NULL, text);
        mp_free(text);
    } else if (mp_view_is_string(v)) {
        mp_str_adds(out, "\"" MASK "\"");
    } else {
        mp_str_add(out, v.data, v.len);
    }
}

bool mp_mask_entry(mp_view entry, struct mp_str *out)
{
    add_value(out, PLAIN, "", entry);
    return !out->failed;
}
