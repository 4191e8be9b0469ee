#include "plugin/catalogue.h"

#include "base/mem.h"
#include "plugin/props.h"

#include <string.h>

#define FEATURES_MAX 64
#define ACCEPTS_MAX 64
#define NAME_MAX_BYTES 32

#define THROUGH(type, m) (offsetof(type, m) + sizeof(((type *)0)->m))

/* What the structs of the first release measured: their last member then, whatever is
 * appended to them later. Never to be changed within this ABI major. */
#define HEAD_SIZE THROUGH(struct mcplug_plugin, feature_size)
#define PLUGIN_SIZE_1_0 THROUGH(struct mcplug_plugin, fini)
#define FEATURE_SIZE_1_0 THROUGH(struct mcplug_feature, ops)

#if defined(__LP64__)
_Static_assert(HEAD_SIZE == 16, "the head of the descriptor is frozen");
_Static_assert(PLUGIN_SIZE_1_0 == 88, "the first descriptor is frozen");
_Static_assert(FEATURE_SIZE_1_0 == 48, "the first feature is frozen");
#endif

#define BAD(...) mp_plugin_fail(err, MCPLUG_EINVAL, file, __VA_ARGS__)

/* ---- kinds ---- */

/* One function that a kind cannot do without. */
struct duty {
    const char *name;
    size_t offset;
};

struct kind {
    const char *name;
    size_t ops_size; /* through the last of its duties */
    struct duty duties[5];
};

#define DUTY(kind, m) #m, offsetof(struct mcplug_##kind##_ops, m)

static const struct kind kinds[] = {
    [MCPLUG_TRANSPORT] = {"transport",
                          THROUGH(struct mcplug_transport_ops, destroy),
                          {{DUTY(transport, open)},
                           {DUTY(transport, send)},
                           {DUTY(transport, close)},
                           {DUTY(transport, destroy)}}},
    [MCPLUG_PROBE] = {"probe",
                      THROUGH(struct mcplug_probe_ops, destroy),
                      {{DUTY(probe, start)},
                       {DUTY(probe, stop)},
                       {DUTY(probe, destroy)}}},
    [MCPLUG_CONVERTER] = {"converter",
                          THROUGH(struct mcplug_converter_ops, convert),
                          {{DUTY(converter, match)}, {DUTY(converter, convert)}}},
    [MCPLUG_VAULT] = {"vault",
                      THROUGH(struct mcplug_vault_ops, get),
                      {{DUTY(vault, get)}}},
    [MCPLUG_SERVICE] = {"service", sizeof(struct mcplug_service_ops), {{NULL, 0}}},
    [MCPLUG_LOCATOR] = {"locator",
                        THROUGH(struct mcplug_locator_ops, locate),
                        {{DUTY(locator, locate)}}},
    [MCPLUG_MODEL] = {"model",
                      THROUGH(struct mcplug_model_ops, drop),
                      {{DUTY(model, open)},
                       {DUTY(model, close)},
                       {DUTY(model, ask)},
                       {DUTY(model, drop)}}},
};

bool mp_kind_known(uint32_t kind)
{
    return kind < MP_COUNT(kinds) && kinds[kind].name;
}

bool mp_kind_is_type(uint32_t kind)
{
    return kind == MCPLUG_TRANSPORT || kind == MCPLUG_LOCATOR;
}

const char *mp_kind_name(uint32_t kind)
{
    static const char *const others[] = {
        "kind 0",  NULL,      NULL,      NULL,      NULL,      NULL,
        NULL,      NULL,      "kind 8",  "kind 9",  "kind 10", "kind 11",
        "kind 12", "kind 13", "kind 14", "kind 15",
    };
    if (mp_kind_known(kind))
        return kinds[kind].name;
    return kind < MP_COUNT(others) ? others[kind] : "a kind above 15";
}

/* ---- one feature ---- */

struct mcplug_feature mp_plugin_feature(const struct mcplug_plugin *d, size_t i)
{
    struct mcplug_feature f;
    size_t n = d->feature_size < sizeof f ? d->feature_size : sizeof f;

    memset(&f, 0, sizeof f);
    memcpy(&f, (const char *)d->features + i * d->feature_size, n);
    return f;
}

static bool plain_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n >= 1 && n <= NAME_MAX_BYTES && name[n] == '\0';
}

static int check_lists(const struct mcplug_feature *f, const char *file,
                       struct mcplug_error *err)
{
    const struct mcplug_option *o = f->options;

    for (size_t i = 0; o && o->name; i++, o++) {
        if (i == MP_OPTIONS_MAX)
            return BAD("\"%s\" declares more than %d options", f->name, MP_OPTIONS_MAX);
        if (!*o->name)
            return BAD("option %zu of \"%s\" has an empty name", i, f->name);
        for (size_t j = 0; j < i; j++)
            if (strcmp(f->options[j].name, o->name) == 0)
                return BAD("\"%s\" declares the option \"%.64s\" twice", f->name,
                           o->name);
        if (!o->type)
            return BAD("the option \"%.64s\" of \"%s\" has no type", o->name, f->name);
        if (!mp_option_type(o->type))
            return BAD("the option \"%.64s\" of \"%s\" has the unknown type \"%.32s\"",
                       o->name, f->name, o->type);
        if (!o->help || !*o->help)
            return BAD("the option \"%.64s\" of \"%s\" has no help text", o->name,
                       f->name);
    }
    for (size_t i = 0; f->accepts && f->accepts[i]; i++)
        if (i == ACCEPTS_MAX)
            return BAD("\"%s\" accepts more than %d schemes or types", f->name,
                       ACCEPTS_MAX);
    return MCPLUG_OK;
}

static int check_feature(const struct mcplug_plugin *d, size_t i, const char *file,
                         struct mcplug_error *err)
{
    struct mcplug_feature f = mp_plugin_feature(d, i);
    uint32_t size;

    if (!mp_kind_known(f.kind))
        return MCPLUG_OK;
    const struct kind *kind = &kinds[f.kind];
    if (!f.name || !*f.name)
        return BAD("feature %zu, a %s, has no name", i, kind->name);
    if (!plain_name(f.name))
        return BAD("the %s name \"%.64s\" is not 1 to %d of a-z, 0-9 and -", kind->name,
                   f.name, NAME_MAX_BYTES);
    for (size_t j = 0; j < i; j++) {
        struct mcplug_feature other = mp_plugin_feature(d, j);
        if (!mp_kind_known(other.kind) || strcmp(other.name, f.name) != 0)
            continue;
        if (other.kind == f.kind)
            return BAD("offers the %s \"%s\" twice", kind->name, f.name);
        if (mp_kind_is_type(f.kind) && mp_kind_is_type(other.kind))
            return BAD("offers the type \"%s\" twice, as a %s and as a %s", f.name,
                       mp_kind_name(other.kind), kind->name);
    }
    if (f.kind == MCPLUG_SERVICE && f.version == 0)
        return BAD("the service \"%s\" has no version", f.name);
    if (!f.ops)
        return BAD("the %s \"%s\" has no functions", kind->name, f.name);
    memcpy(&size, f.ops, sizeof size);
    if (size < kind->ops_size)
        return BAD(
            "the functions of the %s \"%s\" take %u bytes, less than the minimum of %zu",
            kind->name, f.name, (unsigned)size, kind->ops_size);
    for (const struct duty *duty = kind->duties; duty->name; duty++) {
        void *fn; /* only whether it is NULL */
        memcpy(&fn, (const char *)f.ops + duty->offset, sizeof fn);
        if (!fn)
            return BAD("the %s \"%s\" lacks the function %s", kind->name, f.name,
                       duty->name);
    }
    return check_lists(&f, file, err);
}

/* ---- the whole ---- */

/* Whether it may be read at all comes first. The head before the rest, because it says
 * how much of that there is. */
int mp_plugin_handshake(const struct mcplug_plugin *d, const char *file,
                        struct mcplug_error *err)
{
    int r = MCPLUG_OK;

    if (d->magic != MCPLUG_MAGIC)
        return BAD("is not a module: its descriptor begins with 0x%08x instead of 0x%08x",
                   (unsigned)d->magic, MCPLUG_MAGIC);
    if (d->struct_size >= HEAD_SIZE && d->abi_major != MCPLUG_ABI_MAJOR)
        return mp_plugin_fail(err, MCPLUG_ENOTSUP, file,
                              "its descriptor is of module ABI %u, this core has %d",
                              d->abi_major, MCPLUG_ABI_MAJOR);
    if (d->struct_size < PLUGIN_SIZE_1_0)
        return BAD("its descriptor has %u bytes, less than the minimum of %zu",
                   (unsigned)d->struct_size, PLUGIN_SIZE_1_0);
    if (d->abi_needs > MCPLUG_ABI_MINOR)
        return mp_plugin_fail(
            err, MCPLUG_ENOTSUP, file, "needs module ABI %d.%u, this core has %d.%d",
            MCPLUG_ABI_MAJOR, d->abi_needs, MCPLUG_ABI_MAJOR, MCPLUG_ABI_MINOR);
    if (d->feature_size < FEATURE_SIZE_1_0)
        return BAD("its features have %u bytes each, less than the minimum of %zu",
                   d->feature_size, FEATURE_SIZE_1_0);
    if (!d->name || !*d->name)
        return BAD("has no name");
    if (!plain_name(d->name))
        return BAD("its name \"%.64s\" is not 1 to %d of a-z, 0-9 and -", d->name,
                   NAME_MAX_BYTES);
    if (!d->version || !*d->version)
        return BAD("has no version");
    if (d->n_features == 0 || !d->features)
        return BAD("offers nothing");
    if (d->n_features > FEATURES_MAX)
        return BAD("offers %zu features, %d are allowed", d->n_features, FEATURES_MAX);
    for (size_t i = 0; r == MCPLUG_OK && i < d->n_features; i++)
        r = check_feature(d, i, file, err);
    return r;
}

void mp_probe_name(const char *name, char out[MP_PROBE_NAME])
{
    size_t n = 0;
    for (; *name && n + 2 < MP_PROBE_NAME; name++) {
        bool upper = *name >= 'A' && *name <= 'Z';
        if (upper)
            out[n++] = '-';
        out[n++] = upper ? (char)(*name | 0x20) : *name;
    }
    out[n] = '\0';
}
