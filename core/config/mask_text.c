/* What of one text is shown: each rule marks what it hides. */
#include "config/mask_text.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <strings.h>

#define MASK "***"
#define OPAQUE '\1' /* stands in `work` for what no rule looks at */

enum mark { SHOWN, HIDDEN, KEPT };

struct text {
    const char *raw;
    char *work; /* the same length; references are OPAQUE, control characters blank */
    unsigned char *mark;
    size_t len;
    size_t rest; /* all from here on is hidden already */
};

static void hide(struct text *t, size_t from, size_t to)
{
    if (to == t->len) {
        to = t->rest;
        t->rest = from < to ? from : to;
    }
    for (; from < to; from++)
        if (t->mark[from] == SHOWN)
            t->mark[from] = HIDDEN;
}

static void make_opaque(struct text *t, size_t from, size_t to)
{
    if (from < to)
        memset(t->work + from, OPAQUE, to - from);
}

static bool is_quote(char c)
{
    return c == '\'' || c == '"' || c == '`';
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' ||
           (unsigned char)c >= 0x80;
}

static size_t skip(const struct text *t, size_t at, const char *what)
{
    while (at < t->len && strchr(what, t->work[at]))
        at++;
    return at;
}

static size_t until(const struct text *t, size_t at, size_t end, const char *what)
{
    while (at < end && !strchr(what, t->work[at]))
        at++;
    return at;
}

static size_t name_end(const struct text *t, size_t at)
{
    while (at < t->len && in_name(t->work[at]))
        at++;
    return at;
}

/* Hides the rest; the word that says how it is meant is no secret. */
static void hide_rest(struct text *t, size_t from)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "token "};
    from = skip(t, from, " ");
    for (size_t i = 0; i < MP_COUNT(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (t->len - from > n && strncasecmp(t->work + from, schemes[i], n) == 0) {
            hide(t, from + n, t->len);
            return;
        }
    }
    hide(t, from, t->len);
}

/* ---- references; they are read as expand.c reads them ---- */

static void scan(struct text *t);

static bool all_in(const char *p, const char *end, bool is_vault)
{
    bool some = p < end;
    for (; p < end; p++)
        if (!(is_vault
                  ? islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '-'
                  : isalnum((unsigned char)*p) || *p == '_'))
            return false;
    return some;
}

static const char *find_close(const char *p, const char *end)
{
    for (size_t open = 1; p < end; p++) {
        if (*p == '}' && --open == 0)
            return p;
        if (*p == '$' && end - p > 1 && p[1] == '{') {
            open++;
            p++;
        }
    }
    return NULL;
}

static void keep(struct text *t, const char *from, const char *to)
{
    size_t at = (size_t)(from - t->raw), end = (size_t)(to - t->raw);
    for (size_t i = at; i < end; i++)
        if (t->mark[i] == SHOWN)
            t->mark[i] = KEPT;
    make_opaque(t, at, end);
}

/* ${cmd:COMMAND} and its like are shown, but a command may have a secret in it. */
static void look_inside(struct text *t, const char *inner, const char *close)
{
    size_t at = (size_t)(inner - t->raw);
    struct text part = {inner, t->work + at, t->mark + at, (size_t)(close - inner),
                        (size_t)(close - inner)};
    scan(&part);
}

/* `open` is at "${". Returns what is behind the reference, or behind the "${" where
 * there is none; NULL: nothing behind it is one. */
static const char *find_reference(struct text *t, const char *open, const char *end)
{
    const char *word = open + 2, *stop = word, *close;

    while (stop < end && (isalnum((unsigned char)*stop) || *stop == '_' || *stop == '-'))
        stop++;
    bool colon = stop < end && *stop == ':';
    bool fallback = colon && end - stop > 1 && stop[1] == '-';
    bool vault = colon && !fallback;
    if (!all_in(word, stop, vault) || (!colon && stop < end && *stop != '}') ||
        (!vault && mp_mask_looks_secret(word, (size_t)(stop - word))))
        return word; /* perhaps braces were put around the secret itself */
    close =
        fallback ? find_close(stop + 2, end) : memchr(stop, '}', (size_t)(end - stop));
    if (!close)
        return NULL;
    if (vault)
        look_inside(t, stop + 1, close);
    if (fallback)
        hide(t, (size_t)(stop + 2 - t->raw), (size_t)(close - t->raw));
    keep(t, open, close + 1);
    return close + 1;
}

static void find_references(struct text *t)
{
    const char *p = t->raw, *end = p + t->len, *open;

    while (p && (open = memmem(p, (size_t)(end - p), "${", 2))) {
        bool text = open > p && open[-1] == '$'; /* $${ is ${ */
        p = text ? open + 2 : find_reference(t, open, end);
    }
}

/* ---- URLs ---- */

static void hide_pieces(struct text *t, size_t at, size_t end, const char *separators)
{
    while (at < end) {
        size_t stop = until(t, at, end, separators);
        if (mp_mask_looks_secret(t->work + at, stop - at))
            hide(t, at, stop);
        at = stop + 1;
    }
}

/* Values of the query and the fragment; `at` is at its ? or #. */
static void hide_query(struct text *t, size_t at, size_t end)
{
    static const char *const harmless[] = {"version", "v", "page", "limit", "lang"};

    while (at < end) {
        size_t name = at + 1, stop = until(t, name, end, "?&#;");
        size_t value = until(t, name, stop, "="), from = value + 1;
        bool plain =
            mp_mask_in(harmless, MP_COUNT(harmless), t->work + name, value - name);
        if (value == stop)
            from = name; /* no name: all of it is a value */
        else if (mp_mask_looks_secret(t->work + name, value - name) ||
                 (skip(t, value, "=") >= stop && /* base64 ends with = */
                  !mp_mask_is_wordlike(t->work + name, value - name)))
            hide(t, name, value);
        if (!plain || mp_mask_looks_secret(t->work + from, stop - from))
            hide(t, from, stop);
        at = stop;
    }
}

/* From the host on. */
static void hide_url(struct text *t, size_t at, size_t end)
{
    static const char *const names[] = {"key",   "apikey", "api-key",
                                        "token", "secret", "password"};
    size_t path = until(t, at, end, "/?#;");
    hide_pieces(t, at, path, ".:,");
    make_opaque(t, at, path); /* so that user.example.com:80 names nothing */

    size_t query = until(t, path, end, "?#;");
    bool named = false;
    while (path < query) {
        size_t from = path + 1, stop = until(t, from, query, "/");
        if (named || mp_mask_looks_secret(t->work + from, stop - from))
            hide(t, from, stop);
        named = named || mp_mask_in(names, MP_COUNT(names), t->work + from, stop - from);
        path = stop;
    }
    if (query < end && t->work[query] == ';') /* jdbc:..;user=..;password=.. */
        hide(t, query + 1, end);
    else
        hide_query(t, query, end);
    if (end == t->len)
        make_opaque(t, query, end);
}

/* Does a host with its path begin here, rather than a user? An @ is part of the path
 * then: github.com/me/server.git@main. */
static bool is_host(const struct text *t, size_t at, size_t end)
{
    size_t stop = until(t, at, end, "/?#@:");
    return stop < end && t->work[stop] == '/' &&
           !memchr(t->work + stop, ':', end - stop) &&
           memchr(t->work + at, '.', stop - at) &&
           mp_mask_is_wordlike(t->work + at, stop - at);
}

/* Is what stands before the last @ surely a user and a password? In h/?key=a@b the host
 * is elsewhere, and a part of the secret is behind the @. */
static bool is_user(const struct text *t, size_t at, size_t sign)
{
    size_t stop = until(t, at, sign, "/?#"), colon = until(t, at, stop, ":");
    size_t digits = colon < stop ? colon + 1 : stop;

    while (digits < stop && isdigit((unsigned char)t->work[digits]))
        digits++;
    return stop == sign || (digits < stop && until(t, at, sign, "?#") == sign);
}

/* The URL whose host or user is at `at`. User and password may hold anything but blanks,
 * so they end at `last`, the last @. Returns where the host is. */
static size_t hide_user(struct text *t, size_t at, const char *last, size_t end)
{
    if (!last || last < t->work + at || is_host(t, at, end))
        return at;
    size_t sign = (size_t)(last - t->work);
    bool sure = is_user(t, at, sign);
    hide(t, at, sure ? sign : end);
    return sure ? sign + 1 : end;
}

/* `at` to `end` has no blanks. */
static void hide_urls(struct text *t, size_t at, size_t end)
{
    char *slashes = memmem(t->work + at, end - at, "://", 3);
    const char *sign = memrchr(t->work + at, '@', end - at), *colon;

    if (!slashes && sign &&
        (colon = memchr(t->work + at, ':', (size_t)(sign - t->work) - at)) &&
        colon + 1 < sign && (colon - t->work < 3 || strncmp(colon - 3, "npm", 3) != 0))
        hide(t, at, (size_t)(sign - t->work)); /* me:password@host */
    while (slashes) {
        *slashes = OPAQUE; /* the : names nothing */
        at = hide_user(t, (size_t)(slashes - t->work) + 3, sign, end);
        size_t stop = until(t, at, end, "'\"`");
        hide_url(t, at, stop);
        slashes = memmem(t->work + stop, end - stop, "://", 3);
    }
}

/* ---- names ---- */

/* API_KEY=.., "apiKey": "..", <password>.. */
static void hide_named(struct text *t)
{
    for (size_t i = 0, last = 0; i < t->len; i++) {
        if (!strchr("=:>", t->work[i]))
            continue;
        size_t end = i, from;
        while (end > 0 && i - end < 8 && strchr(" '\"`\\]=:>", t->work[end - 1]))
            end--;
        for (from = end; from > 0 && end - from < 128 && in_name(t->work[from - 1]);)
            from--;
        if (from > 1 && t->work[from - 1] == ' ') /* "User Id=" */
            for (from--; from > 0 && end - from < 128 && in_name(t->work[from - 1]);)
                from--;
        if (end > last && mp_mask_name_tells(t->work + from, end - from)) {
            hide_rest(t, i + 1);
            return;
        }
        last = end;
    }
}

/* NAME=value of an option or of a shell: */
enum how {
    WHOLE,   /* the value ends with the text */
    WORD,    /* it may end at a blank */
    SHOUTED, /* the same, where only NAME says that it is a variable */
};

/* `at` is at what may be a name. */
static void hide_variable(struct text *t, size_t at, enum how how)
{
    size_t end = at, stop;
    while (end < t->len &&
           (isalnum((unsigned char)t->work[end]) || t->work[end] == '_') &&
           !(how == SHOUTED && islower((unsigned char)t->work[end])))
        end++;
    if (end == at || end == t->len || t->work[end] != '=' ||
        isdigit((unsigned char)t->work[at]))
        return;
    stop = t->len - end > 8 ? end + 8 : t->len; /* no longer value is plain */
    stop = until(t, end + 1, stop, how == WHOLE ? "" : " '\"`");
    bool goes_on =
        stop + 1 < t->len && is_quote(t->work[stop]) && in_name(t->work[stop + 1]);
    while (how == SHOUTED && stop > end + 1 && strchr(";&|)", t->work[stop - 1]))
        stop--;
    if (goes_on || !mp_mask_variable_is_plain(t->work + at, end - at, t->work + end + 1,
                                              stop - end - 1))
        hide(t, end + 1, t->len);
}

/* `at` is at what may be "Name: value" of a header; returns where the value is. */
static size_t header_value(const struct text *t, size_t at)
{
    size_t end = at;
    while (end < t->len && (isalpha((unsigned char)t->work[end]) || t->work[end] == '-'))
        end++;
    return end > at && end < t->len && t->work[end] == ':' && end - at <= 64 ? end + 1
                                                                             : at;
}

/* ---- options ---- */

static bool is_option(const char *word, size_t len, const char *a, const char *b)
{
    return (len == strlen(a) && memcmp(word, a, len) == 0) ||
           (len == strlen(b) && memcmp(word, b, len) == 0);
}

/* Options of one letter that take secrets: -u -p -H -k -a, also behind letters that take
 * nothing, -sSu. Returns where the value begins, `len` when it is the next word; 0: it
 * is none of these. `word` begins with -. */
static size_t short_value(const char *word, size_t len)
{
    static const char *const longer[] = {
        "port",  "path",     "addr",     "address", "all",     "app",
        "api",   "url",      "uri",      "user",    "pass",    "auth",
        "key",   "username", "print",    "project", "pwd",     "profile",
        "quiet", "prefix",   "password", "apikey",  "package", "input",
    };
    size_t at = 1;
    while (at < len && strchr("sSfLvigjnNqt", word[at]))
        at++;
    if (at >= len || !strchr(at == 1 ? "upHka" : "upH", word[at]))
        return 0;
    size_t name = 1;
    while (name < len && in_name(word[name]))
        name++;
    if (mp_mask_in(longer, MP_COUNT(longer), word + 1, name - 1))
        return 0;
    return at + 1;
}

/* The option at `at`, up to `end`, inside of a text. */
static void hide_option(struct text *t, size_t at, size_t end)
{
    size_t from = skip(t, end, " '\"`,\\");
    size_t room = t->len - at < 64 ? t->len - at : 64;
    size_t value = short_value(t->work + at, room), next = at + value;
    const char *word = t->work + at;
    bool tells = mp_mask_name_tells(word, end - at);

    if (end - at > 2 && word[1] != '-')
        hide_variable(t, at + 2, SHOUTED); /* -eNAME=value */
    if (value && next < t->len && t->work[next] != ' ' && !is_quote(t->work[next])) {
        hide(t, next, t->len);
    } else if (value || (tells && from > end)) {
        from = skip(t, value ? next : from, " '\"`,\\");
        if (is_option(word, end - at, "-H", "--header"))
            from = header_value(t, from);
        hide_rest(t, from);
    } else if (from > end && is_option(word, end - at, "-e", "--env")) {
        hide_variable(t, from, WORD);
    }
}

static void hide_words(struct text *t)
{
    for (size_t at = 0, end; at < t->rest; at = end) {
        end = name_end(t, at);
        if (end == at) {
            end++;
            continue;
        }
        bool first = at == 0 || !strchr("/@\\", t->work[at - 1]);
        if (t->work[at] == '-' && first)
            hide_option(t, at, end);
        else if (first && mp_mask_word_tells(t->work + at, end - at) && end < t->len &&
                 t->work[end] == ' ')
            hide_rest(t, end);
        if (first)
            hide_variable(t, at, SHOUTED);
    }
}

/* ---- looks ---- */

/* Base64 has slashes as paths do, but words between them it has not. What begins with /
 * is a path if its first word is one. */
static bool is_base64(const char *run, size_t len)
{
    if (len < 24 || !memchr(run, '/', len))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)run[i]) && !strchr("+/_-", run[i]))
            return false;
    for (size_t from = run[0] == '/', n; from < len; from += n + 1) {
        for (n = 0; from + n < len && run[from + n] != '/';)
            n++;
        if (!mp_mask_is_wordlike(run + from, n))
            return true;
        if (run[0] == '/')
            return false;
    }
    return false;
}

/* `at` to `end` has no blanks and quotes. Behind a secret may be the rest of it. */
static void hide_random(struct text *t, size_t at, size_t end)
{
    while (at < end) {
        size_t stop = until(t, at, end, ";&,=:()?#@|[]{}<>\\\1");
        if (is_base64(t->work + at, stop - at)) {
            hide(t, at, end);
            return;
        }
        while (at < stop) {
            size_t slash = until(t, at, stop, "/");
            bool secret = mp_mask_looks_secret(t->work + at, slash - at);
            if (secret && slash == stop) {
                hide(t, at, end);
                return;
            }
            if (secret)
                hide(t, at, slash);
            at = slash + 1;
        }
        at = stop + 1;
    }
}

static void scan(struct text *t)
{
    if (memmem(t->work, t->len, "-----BEGIN", 10) ||
        memmem(t->work, t->len, "password-stdin", 14)) /* echo .. | x --password-stdin */
        hide(t, 0, t->len);
    for (size_t at = 0, end; at < t->len; at = end + 1) {
        end = until(t, at, t->len, " ");
        hide_urls(t, at, end);
    }
    hide_named(t);
    hide_words(t);
    for (size_t at = 0, end; at < t->len; at = end + 1) {
        end = until(t, at, t->len, " '\"`");
        hide_random(t, at, end);
    }
}

/* ---- the whole ---- */

static bool begin(struct text *t, const char *text, size_t len)
{
    *t = (struct text){.raw = text, .len = len, .rest = len};
    t->work = mp_strndup(text, len);
    t->mark = mp_alloc(len + 1);
    if (!t->work || !t->mark)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            t->work[i] = ' ';
    find_references(t);
    return true;
}

static bool finish(struct text *t, struct mp_str *out)
{
    struct mp_str shown;
    bool ok = t->work && t->mark;

    mp_str_init(&shown, t->len * 3 + 8);
    for (size_t at = 0, end; ok && at < t->len; at = end) {
        bool hidden = t->mark[at] == HIDDEN;
        for (end = at; end < t->len && (t->mark[end] == HIDDEN) == hidden;)
            end++;
        ok = hidden ? mp_str_adds(&shown, MASK)
                    : mp_str_add(&shown, t->raw + at, end - at);
    }
    ok = ok && mp_str_add(out, shown.data, shown.len);
    mp_str_clear(&shown);
    mp_free(t->work);
    mp_free(t->mark);
    return ok;
}

bool mp_mask_hide(struct mp_str *out, const char *text, size_t len)
{
    struct text t;
    if (begin(&t, text, len))
        hide_rest(&t, 0);
    return finish(&t, out);
}

bool mp_mask_text(struct mp_str *out, const char *text, size_t len)
{
    struct text t;
    if (begin(&t, text, len))
        scan(&t);
    return finish(&t, out);
}

/* Does the last word of `before` say that a secret comes next? */
static bool tells_next(const char *word, size_t len)
{
    bool open = len && (word[len - 1] == '=' || word[len - 1] == ':');

    if (!open && len && word[0] == '-' && !memchr(word, '=', len))
        return mp_mask_name_tells(word, len) || short_value(word, len) == len;
    return open ? mp_mask_name_tells(word, len) : mp_mask_word_tells(word, len);
}

bool mp_mask_arg(struct mp_str *out, const char *text, size_t len, const char *before)
{
    const char *word = before ? before + strlen(before) : "", *end = word;
    struct text t;

    while (before && end > before &&
           (isspace((unsigned char)end[-1]) || is_quote(end[-1])))
        end--;
    for (word = end; before && word > before && !isspace((unsigned char)word[-1]) &&
                     !is_quote(word[-1]);)
        word--;
    size_t n = (size_t)(end - word);
    if (begin(&t, text, len)) {
        if (is_option(word, n, "-H", "--header"))
            hide_rest(&t, header_value(&t, 0));
        else if (tells_next(word, n))
            hide_rest(&t, 0);
        else if (is_option(word, n, "-e", "--env"))
            hide_variable(&t, 0, WHOLE);
        scan(&t);
    }
    return finish(&t, out);
}
