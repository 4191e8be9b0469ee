#include "plugin/catalogue.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

/* One line of UTF-8: what fits a variable, an argument and a header. */
static bool is_line(struct mcplug_bytes text)
{
    for (size_t i = 0, n; i < text.len; i += n) {
        unsigned char c = text.data[i];
        n = mp_utf8_len(text.data + i, text.len - i);
        if (n == 0 || c == '\0' || c == '\n' || c == '\r')
            return false;
    }
    return true;
}

static struct mcplug_bytes without_newline(struct mcplug_bytes text)
{
    if (text.len && text.data[text.len - 1] == '\n')
        text.len--;
    if (text.len && text.data[text.len - 1] == '\r')
        text.len--;
    return text;
}

static int add_secret(struct mcplug_bytes secret, const char *vault, const char *name,
                      struct mp_str *out, struct mcplug_error *err)
{
    struct mcplug_bytes line = without_newline(secret);

    if (line.len > MP_VAULT_MAX)
        return mp_fail(err, MCPLUG_ETOOBIG,
                       "%s: the secret \"%s\" has more than %zu bytes", vault, name,
                       MP_VAULT_MAX);
    if (!is_line(line))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "%s: the secret \"%s\" is not one line of UTF-8 text", vault,
                       name);
    if (mp_str_add(out, line.data, line.len))
        return MCPLUG_OK;
    if (out->len > out->max || line.len > out->max - out->len)
        return mp_fail(err, MCPLUG_ETOOBIG, "%s: there is no room for the secret \"%s\"",
                       vault, name);
    return mp_fail_nomem(err);
}

static int check_name(const char *vault, const char *name, struct mcplug_error *err)
{
    struct mcplug_bytes text = mp_text(name);

    if (text.len && text.len <= MP_VAULT_NAME_MAX && is_line(text))
        return MCPLUG_OK;
    return mp_fail(err, MCPLUG_ECONFIG,
                   "%s: the name of a secret is one line of UTF-8 with 1 to %d bytes",
                   vault, MP_VAULT_NAME_MAX);
}

/* What a failed get() left in `why`; a module may have forgotten its text. */
static int fail_told(int code, struct mcplug_error *why, const char *vault,
                     const char *name, struct mcplug_error *err)
{
    why->text[sizeof why->text - 1] = '\0';
    if (code > 0)
        return mp_fail(err, MCPLUG_EINVAL,
                       "the vault \"%s\" returned %d, which means nothing", vault, code);
    if (why->text[0] == '\0')
        return mp_fail(err, code, "%s: no secret \"%s\": %s", vault, name,
                       mp_error_name(code));
    mp_fail(err, code, "%s", why->text);
    if (err)
        err->os_error = why->os_error;
    return code;
}

int mp_vault_ask(const struct mp_offer *offer, const char *name, struct mp_str *out,
                 struct mcplug_error *err)
{
    const struct mcplug_vault_ops *ops = offer->feature.ops;
    const char *vault = offer->feature.name;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_buf *buf = NULL;

    int r = check_name(vault, name, err);
    if (r != MCPLUG_OK)
        return r;
    r = ops->get(offer->plugin->ctx, name, &buf, &why);
    if (r != MCPLUG_OK)
        return fail_told(r, &why, vault, name, err);
    if (!buf)
        return mp_fail(err, MCPLUG_EINVAL, "the vault \"%s\" gave nothing", vault);
    struct mcplug_bytes secret = mp_buf_bytes(buf);
    r = add_secret(secret, vault, name, out, err);
    explicit_bzero((void *)secret.data, secret.len); /* ours alone, says the contract */
    mp_buf_unref(buf);
    return r;
}

int mp_vault_get(struct mp_catalogue *cat, const char *vault, const char *name,
                 struct mp_str *out, struct mcplug_error *err)
{
    const struct mp_offer *offer = NULL;
    int r = mp_catalogue_find(cat, MCPLUG_VAULT, vault, &offer, err);
    return r == MCPLUG_OK ? mp_vault_ask(offer, name, out, err) : r;
}
