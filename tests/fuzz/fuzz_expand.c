/* Texts with references. What must hold whatever they are: text without "${" is itself,
 * nothing is asked for that mp_expand_each() does not name, what was put in is put in as
 * it is, and a failure leaves nothing behind. */
#include "base/error.h"
#include "config/expand.h"
#include "must.h"

#include <stdlib.h>

#define MARK "\x01" /* stands for a value */
#define VALUE "${A}${cmd:x}${B:-}${"

struct world {
    const char *value; /* of everything that is set */
    struct mp_str asked;
    bool secrets; /* one was asked for */
};

/* Each name with the byte behind it that none has. */
static void note(struct mp_str *to, const char *kind, const char *name)
{
    MUST(mp_str_addf(to, "%s%s%s", kind, kind[0] ? ":" : "", name));
    MUST(mp_str_addc(to, '\0'));
}

static const char *variable(void *arg, const char *name)
{
    struct world *w = arg;
    size_t n = strlen(name);

    MUST(n > 0);
    for (const char *p = name; *p; p++)
        MUST((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
             (*p >= 'A' && *p <= 'Z') || *p == '_');
    note(&w->asked, "", name);
    return n % 3 == 0 ? NULL : n % 3 == 1 ? w->value : "";
}

static int secret(void *arg, const char *kind, const char *name, struct mp_str *out,
                  struct mcplug_error *err)
{
    struct world *w = arg;

    w->secrets = true;
    MUST(kind[0] && name[0] && !strchr(name, '}'));
    for (const char *p = kind; *p; p++)
        MUST((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || *p == '-');
    note(&w->asked, kind, name);
    if (name[0] == '!')
        return mp_fail(err, MCPLUG_EAUTH, "no");
    return mp_str_adds(out, w->value) ? MCPLUG_OK : mp_fail_nomem(err);
}

static void missing(void *arg, const char *name)
{
    (void)arg;
    MUST(strlen(name) % 3 == 0);
}

static void on_name(void *arg, const char *name)
{
    note(arg, "", name);
}

/* Is every name of `a` in `b`, in that order? */
static bool is_part(const struct mp_str *a, const struct mp_str *b)
{
    const char *p = a->data, *q = b->data;

    while (p && p < a->data + a->len) {
        while (q && q < b->data + b->len && strcmp(p, q) != 0)
            q += strlen(q) + 1;
        if (!q || q == b->data + b->len)
            return false;
        p += strlen(p) + 1;
        q += strlen(q) + 1;
    }
    return true;
}

static int expand(const char *text, const char *value, struct world *w,
                  struct mp_str *out)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const struct mp_expansion e = {variable, secret, missing, w};

    memset(w, 0, sizeof *w);
    w->value = value;
    mp_str_init(&w->asked, 1 << 26);
    mp_str_init(out, MP_EXPAND_MAX + 2);
    MUST(mp_str_adds(out, "="));
    int r = mp_expand(&e, text, out, &err);
    MUST(r == err.code);
    MUST(out->data[0] == '=' && strlen(out->data) == out->len);
    if (r != MCPLUG_OK)
        MUST(out->len == 1 && err.text[0]);
    if (r == MCPLUG_ECONFIG)
        MUST(w->asked.len == 0 && !w->secrets);
    return r;
}

/* `marked` is `whole` with MARK for every VALUE. */
static void check_values(const char *marked, const char *whole)
{
    for (; *marked; marked++) {
        if (*marked == MARK[0]) {
            MUST(strncmp(whole, VALUE, sizeof VALUE - 1) == 0);
            whole += sizeof VALUE - 1;
        } else {
            MUST(*marked == *whole++);
        }
    }
    MUST(!*whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world a, b;
    struct mp_str short_out, long_out, named;

    if (size > 30000)
        return 0;
    char *text = strndup((const char *)data, size);
    MUST(text != NULL);
    for (char *p = text; *p; p++)
        *p = *p == MARK[0] ? ' ' : *p;

    mp_str_init(&named, 1 << 26);
    mp_expand_each(text, on_name, &named);
    int r = expand(text, MARK, &a, &short_out);
    int s = expand(text, VALUE, &b, &long_out);
    MUST(r == s);
    MUST(is_part(&a.asked, &named));
    MUST(a.asked.len == b.asked.len);
    MUST(!a.asked.len || memcmp(a.asked.data, b.asked.data, a.asked.len) == 0);
    if (r == MCPLUG_OK)
        check_values(short_out.data + 1, long_out.data + 1);
    if (!strstr(text, "${"))
        MUST(r == MCPLUG_OK && !named.len && strcmp(short_out.data + 1, text) == 0);
    mp_str_clear(&named);
    mp_str_clear(&a.asked);
    mp_str_clear(&b.asked);
    mp_str_clear(&short_out);
    mp_str_clear(&long_out);
    free(text);
    return 0;
}
