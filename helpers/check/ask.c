/* A vault and a locator, asked once. */
#include "helpers/check/kit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "connect/locate.h"
#include "plugin/services.h"

#include <string.h>

/* ---- vaults ---- */

/* The secret is not shown. A refusal with a reason is an answer. */
void mp_kit_vault(struct mp_kit *kit, const struct mp_offer *offer,
                  const mcplug_props *settings)
{
    const struct mcplug_vault_ops *ops = offer->feature.ops;
    const char *vault = offer->feature.name, *name = kit->words[0];
    bool with = MCPLUG_HAS(ops, struct mcplug_vault_ops, get_with);
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_buf *buf = NULL;

    mp_kit_enter(kit, "vault \"%s\": %s()", vault, with ? "get_with" : "get");
    int r = with ? ops->get_with(offer->plugin->ctx, name, settings, &buf, &why)
                 : ops->get(offer->plugin->ctx, name, &buf, &why);
    mp_kit_leave(kit);
    why.text[sizeof why.text - 1] = '\0';
    if (r > 0)
        mp_kit_say(kit, false, "vault \"%s\": get() returned the unknown code %d", vault,
                   r);
    else if (r == MCPLUG_OK && !buf)
        mp_kit_say(kit, false, "vault \"%s\": get() returned no secret", vault);
    else if (r < 0 && !why.text[0])
        mp_kit_say(kit, false, "vault \"%s\": get() failed without a reason", vault);
    else if (r < 0)
        mp_kit_say(kit, true, "vault \"%s\": returned no secret: %s", vault, why.text);
    else
        mp_kit_say(kit, true, "vault \"%s\": returned a secret of %zu bytes", vault,
                   mp_kit_mem.buf_bytes(buf).len);
    if (r < 0 && buf)
        mp_kit_say(kit, false, "vault \"%s\": get() failed, but returned a secret",
                   vault);
    mp_kit_mem.buf_unref(buf);
}

/* ---- locators ---- */

static void place_free(struct mcplug_place *place)
{
    for (size_t i = 0; i < place->n_facts; i++) {
        mp_free((char *)place->facts[i].name);
        mp_free((char *)place->facts[i].value);
    }
    mcplug_settings_free(place->settings);
    mp_free(place->greeting);
    mp_free(place->greeting_params);
    mp_free(place);
}

static bool is_object(const char *text)
{
    struct mcplug_bytes view = {(const unsigned char *)text, strlen(text)};
    return text[strspn(text, " \t\r\n")] == '{' && mp_service_json()->valid(view);
}

static void judge(struct mp_kit *kit, const char *name, const struct mcplug_place *place)
{
    const char *type = place->settings->type;

    if (place->failed && place->failed != MCPLUG_ENOMEM)
        mp_kit_say(kit, false, "locator \"%s\": returned an invalid answer (%s)", name,
                   mp_error_name(place->failed));
    if (!type)
        mp_kit_say(kit, false, "locator \"%s\": named no transport", name);
    else if (strcmp(type, name) == 0)
        mp_kit_say(kit, false, "locator \"%s\": names itself as the transport", name);
    if (place->greeting && !is_object(place->greeting_params))
        mp_kit_say(
            kit, false,
            "locator \"%s\": the parameters of its notification are not a JSON object",
            name);
}

void mp_kit_locate(struct mp_kit *kit, const struct mp_offer *offer,
                   const mcplug_props *settings)
{
    const struct mcplug_locator_ops *ops = offer->feature.ops;
    const char *name = offer->feature.name;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mcplug_place *place = mp_alloc(sizeof *place);
    int before = kit->failed;

    if (place)
        place->settings = mcplug_settings_new(NULL);
    if (!place || !place->settings) {
        mp_free(place);
        mp_kit_say(kit, false, "locator \"%s\": out of memory", name);
        return;
    }
    mp_kit_enter(kit, "locator \"%s\": locate()", name);
    int r = ops->locate(offer->plugin->ctx, settings, place, &why);
    mp_kit_leave(kit);
    why.text[sizeof why.text - 1] = '\0';
    if (r > 0)
        mp_kit_say(kit, false, "locator \"%s\": locate() returned the unknown code %d",
                   name, r);
    else if (r < 0)
        mp_kit_say(kit, false, "locator \"%s\": locate() failed: %s", name,
                   why.text[0] ? why.text : "no reason given");
    if (r >= 0)
        judge(kit, name, place);
    if (kit->failed == before)
        mp_kit_say(kit, true, "locator \"%s\": found a server by the transport \"%s\"",
                   name, place->settings->type);
    place_free(place);
}
