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

static int add_secret(struct mcplug_bytes secret, const char *vault, const char *name,
                      struct mp_str *out, struct mcplug_error *err)
{
    size_t len = secret.len;

    if (len && secret.data[len - 1] == '\n')
        len--;
    if (len && secret.data[len - 1] == '\r')
        len--;
    if (len > MP_VAULT_MAX)
        return mp_fail(err, MCPLUG_ETOOBIG,
                       "%s: the secret \"%s\" has more than %zu bytes", vault, name,
                       MP_VAULT_MAX);
    if (!is_line(mp_bytes(secret.data, len)))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "%s: the secret \"%s\" is not one line of UTF-8 text", vault,
                       name);
    if (mp_str_add(out, secret.data, len))
        return MCPLUG_OK;
    if (out->len > out->max || len > out->max - out->len)
        return mp_fail(err, MCPLUG_ETOOBIG, "%s: out of memory for the secret \"%s\"",
                       vault, name);
    return mp_fail_nomem(err);
}

bool mp_vault_takes_settings(const struct mp_offer *offer)
{
    const struct mcplug_vault_ops *ops = offer->feature.ops;
    return MCPLUG_HAS(ops, struct mcplug_vault_ops, get_with);
}

int mp_vault_ask(const struct mp_offer *offer, const mcplug_props *settings,
                 const char *name, struct mp_str *out, struct mcplug_error *err)
{
    const struct mcplug_vault_ops *ops = offer->feature.ops;
    const char *vault = offer->feature.name;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_buf *buf = NULL;

    struct mcplug_bytes text = mp_text(name);
    if (!text.len || text.len > MP_VAULT_NAME_MAX || !is_line(text))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "%s: the name of a secret is one line of UTF-8 with 1 to %d bytes",
                       vault, MP_VAULT_NAME_MAX);
    int r = mp_vault_takes_settings(offer)
                ? ops->get_with(offer->plugin->ctx, name, settings, &buf, &why)
                : ops->get(offer->plugin->ctx, name, &buf, &why);
    why.text[sizeof why.text - 1] = '\0';
    if (r > 0)
        return mp_fail(err, MCPLUG_EINVAL,
                       "the vault \"%s\" returned the unknown code %d", vault, r);
    if (r < 0 && why.text[0] == '\0') /* a module may have forgotten it */
        return mp_fail(err, r, "%s: no secret \"%s\": %s", vault, name, mp_error_name(r));
    if (r < 0) {
        mp_fail(err, r, "%s", why.text);
        if (err)
            err->os_error = why.os_error;
        return r;
    }
    if (!buf)
        return mp_fail(err, MCPLUG_EINVAL, "the vault \"%s\" returned no secret", vault);
    struct mcplug_bytes secret = mp_buf_bytes(buf);
    r = add_secret(secret, vault, name, out, err);
    explicit_bzero((void *)secret.data, secret.len); /* ours alone, says the contract */
    mp_buf_unref(buf);
    return r;
}
