/* What secrets are called, and what they look like. */
#include "config/mask_text.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Parts of names that are given to secrets, anywhere in the name. */
static const char *const telling[] = {
    "token",  "secret", "pass", "pwd",     "key",  "auth",  "header",
    "cred",   "cookie", "sess", "session", "pin",  "sig",   "jwt",
    "bearer", "user",   "dsn",  "conn",    "priv", "licen",
};

/* The same, where they are too short to be looked for inside of words. */
static const char *const telling_words[] = {"pat", "pw", "otp", "sas", "pk", "sk"};

/* What tokens of well-known services begin with. */
static const char *const heads[] = {
    "ghp_",   "gho_",  "ghs_",    "ghu_",  "ghr_",  "github_pat_",
    "glpat-", "sk-",   "sk_",     "pk_",   "rk_",   "xox",
    "xapp-",  "AKIA",  "ASIA",    "eyJ",   "AIza",  "hf_",
    "npm_",   "ntn_",  "secret_", "lin_",  "sbp_",  "dop_v1_",
    "shpat_", "figd_", "ATATT",   "tvly-", "ya29.", "whsec_",
    "SG.",    "r8_",   "gsk_",    "xai-",  "pypi-", "dckr_pat_",
};

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

bool mp_mask_in(const char *const *list, size_t n, const char *text, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == len && strncasecmp(list[i], text, len) == 0)
            return true;
    return false;
}

/* ---- names ---- */

static bool has_part(const char *name, size_t len, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= len; i++)
        if ((name[i] | 0x20) == part[0] && strncasecmp(name + i, part, n) == 0)
            return true;
    return false;
}

bool mp_mask_name_tells(const char *name, size_t len)
{
    for (size_t i = 0; i < MP_COUNT(telling); i++)
        if (has_part(name, len, telling[i]))
            return true;
    for (size_t i = 0, n; i < len; i += n + 1) {
        for (n = 0; i + n < len && isalpha((unsigned char)name[i + n]);)
            n++;
        if (mp_mask_in(telling_words, MP_COUNT(telling_words), name + i, n))
            return true;
    }
    return false;
}

bool mp_mask_word_tells(const char *word, size_t len)
{
    static const char *const words[] = {
        "token",       "secret",        "password", "passwd",    "passphrase",
        "pwd",         "bearer",        "basic",    "auth",      "authorization",
        "apikey",      "api-key",       "api_key",  "api_token", "access_token",
        "credentials", "identified_by", "pat",
    };
    return mp_mask_in(words, MP_COUNT(words), word, len);
}

bool mp_mask_variable_is_plain(const char *name, size_t name_len, const char *value,
                               size_t len)
{
    static const char *const names[] = {
        "LANG",      "LC_ALL", "TZ",       "TERM", "NODE_ENV", "PYTHONUNBUFFERED",
        "LOG_LEVEL", "DEBUG",  "NO_COLOR", "PORT", "HOST",
    };
    static const char *const values[] = {"true", "false", "0", "1"};

    return mp_mask_in(names, MP_COUNT(names), name, name_len) ||
           mp_mask_in(values, MP_COUNT(values), value, len);
}

/* ---- looks ---- */

/* Words have vowels, and no more than five consonants in a row. */
static bool can_be_said(const char *word, size_t len)
{
    size_t vowels = 0, row = 0;
    for (size_t i = 0; i < len; i++) {
        bool vowel =
            (unsigned char)word[i] >= 0x80 || strchr("aeiouyAEIOUY", word[i]) != NULL;
        vowels += vowel;
        row = vowel ? 0 : row + 1;
        if (row > 5)
            return false;
    }
    return len < 4 || vowels > 0;
}

/* Small letters, or a capital before each of a few parts: fileSystem, MyProject. */
static bool has_few_humps(const char *word, size_t len)
{
    size_t humps = 0;
    for (size_t i = 0; i < len; i++) {
        if (!isupper((unsigned char)word[i]))
            continue;
        if (i + 1 < len && isupper((unsigned char)word[i + 1]))
            return false;
        humps += i > 0;
    }
    return humps == 0 || (humps + 1) * 3 <= len;
}

static bool is_word(const char *word, size_t len, bool capitals)
{
    size_t letters = 0, digits = 0, upper = 0;

    while (letters < len && is_letter(word[letters]))
        upper += isupper((unsigned char)word[letters++]) != 0;
    while (letters + digits < len && isdigit((unsigned char)word[letters + digits]))
        digits++;
    if (letters + digits < len)
        return false;
    if (letters == 0) /* 2024, 20241231, 1 */
        return digits <= 4 ||
               (digits == 8 && (!memcmp(word, "20", 2) || !memcmp(word, "19", 2)));
    if (digits > 2 || letters > 20 || !can_be_said(word, letters))
        return false;
    if (upper == letters)
        return letters == 1 || (capitals && letters <= 14);
    return has_few_humps(word, letters);
}

bool mp_mask_is_wordlike(const char *piece, size_t len)
{
    bool capitals = !memchr(piece, '-', len); /* SOME_NAME, but not ABCD-EFGH */
    for (size_t i = 0, n; i <= len; i += n + 1) {
        for (n = 0; i + n < len && !strchr("-_.", piece[i + n]);)
            n++;
        if (!is_word(piece + i, n, capitals))
            return false;
    }
    return true;
}

static bool has_head(const char *piece, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        if (at && isalnum((unsigned char)piece[at - 1]))
            continue;
        for (size_t i = 0; i < MP_COUNT(heads); i++) {
            size_t n = strlen(heads[i]);
            if (len - at >= n + 4 && memcmp(piece + at, heads[i], n) == 0)
                return true;
        }
    }
    return false;
}

/* A part without - _ . in which small letters and capitals take turns all the time. */
static bool has_many_turns(const char *piece, size_t len)
{
    for (size_t i = 0, n; i < len; i += n + 1) {
        size_t turns = 0;
        bool high = isupper((unsigned char)piece[i]) != 0;
        for (n = 0; i + n < len && !strchr("-_.", piece[i + n]); n++) {
            unsigned char c = (unsigned char)piece[i + n];
            turns += isalpha(c) && high != (isupper(c) != 0);
            high = isalpha(c) ? isupper(c) != 0 : high;
        }
        if (n >= 12 && turns * 4 >= n)
            return true;
    }
    return false;
}

bool mp_mask_looks_secret(const char *piece, size_t len)
{
    size_t digits = 0, upper = 0, lower = 0, odd = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)piece[i];
        digits += isdigit(c) != 0;
        upper += isupper(c) != 0;
        lower += islower(c) || c >= 0x80;
        odd += strchr("!$^*%+~", c) != NULL;
    }
    if (len >= 10 && digits && upper && lower && odd) /* what rules for passwords want */
        return true;
    if ((len >= 16 && digits && upper + lower) || len >= 24 || has_many_turns(piece, len))
        if (!mp_mask_is_wordlike(piece, len))
            return true;
    return has_head(piece, len);
}
