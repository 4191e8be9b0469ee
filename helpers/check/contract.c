#include "helpers/check/kit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "connect/locate.h"
#include "loop/loop.h"
#include "plugin/props.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <time.h>

#define LINE_BYTES 512

void mp_kit_say(struct mp_kit *kit, bool passed, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&kit->lock);
    if (!kit->left) {
        kit->failed += !passed;
        kit->report.finding(kit->report.arg, passed, line);
    }
    pthread_mutex_unlock(&kit->lock);
}

/* ---- the descriptor ---- */

static bool empty(const char *text)
{
    return !text || !*text;
}

static bool is_scheme(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    return *text >= 'a' && *text <= 'z' && text[n] == '\0';
}

bool mp_kit_is_mime(const char *text)
{
    static const char token[] = "abcdefghijklmnopqrstuvwxyz0123456789!#$&^_.+-";
    size_t type = strspn(text, token);
    if (type == 0 || text[type] != '/')
        return false;
    size_t sub = strspn(text + type + 1, token);
    return sub > 0 && text[type + 1 + sub] == '\0';
}

static void check_option(struct mp_kit *kit, const char *feature,
                         const struct mcplug_option *o)
{
    bool many = strcmp(o->type, "list") == 0 || strcmp(o->type, "map") == 0;
    int64_t n;

    if (empty(o->fallback))
        return;
    if (many)
        mp_kit_say(kit, false,
                   "\"%s\": the option \"%s\" is a %s and cannot have a "
                   "fallback",
                   feature, o->name, o->type);
    else if (!mp_option_parse(o->type, o->fallback, &n))
        mp_kit_say(kit, false,
                   "\"%s\": the fallback \"%s\" of the option \"%s\" is "
                   "not of its type \"%s\"",
                   feature, o->fallback, o->name, o->type);
}

static void check_feature(struct mp_kit *kit, const struct mcplug_feature *f)
{
    const char *kind = mp_kind_name(f->kind);

    if (empty(f->summary))
        mp_kit_say(kit, true, "warning: %s \"%s\": has no summary", kind, f->name);
    if (f->kind == MCPLUG_MODEL)
        mp_kit_model_options(kit, f);
    if (f->kind == MCPLUG_VAULT && f->accepts && f->accepts[0])
        mp_kit_say(kit, true, "warning: vault \"%s\": `accepts` of a vault is ignored",
                   f->name);
    if (f->kind == MCPLUG_VAULT && f->options && f->options[0].name &&
        !MCPLUG_HAS((const struct mcplug_vault_ops *)f->ops, struct mcplug_vault_ops,
                    get_with))
        mp_kit_say(kit, true,
                   "warning: vault \"%s\": its options are ignored, because it has no "
                   "get_with()",
                   f->name);
    for (size_t i = 0; f->options && f->options[i].name; i++)
        check_option(kit, f->name, &f->options[i]);
    for (size_t i = 0; f->accepts && f->accepts[i]; i++) {
        const char *what = f->accepts[i];
        if (f->kind == MCPLUG_VAULT)
            break;
        if (f->kind == MCPLUG_CONVERTER ? !mp_kit_is_mime(what) : !is_scheme(what))
            mp_kit_say(kit, false,
                       "%s \"%s\": accepts \"%.64s\", which is not a %s in lower case",
                       kind, f->name, what,
                       f->kind == MCPLUG_CONVERTER ? "mime type" : "URL scheme");
    }
}

static void check_descriptor(struct mp_kit *kit, const struct mcplug_plugin *d)
{
    int before = kit->failed;

    if (empty(d->license))
        mp_kit_say(kit, false, "the descriptor has no license");
    if (empty(d->summary))
        mp_kit_say(kit, false, "the descriptor has no summary");
    for (size_t i = 0; i < d->n_features; i++) {
        struct mcplug_feature f = mp_plugin_feature(d, i);
        if (mp_kind_known(f.kind))
            check_feature(kit, &f);
        else
            mp_kit_say(kit, true,
                       "warning: feature %zu is of kind %u, which this core "
                       "does not know",
                       i, (unsigned)f.kind);
    }
    if (kit->failed == before)
        mp_kit_say(kit, true, "descriptor: complete");
}

/* ---- exported symbols ---- */

/* What the dynamic section says of a loaded object. */
struct dynamic {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash, *gnu_hash;
};

/* Some systems leave these addresses as they are in the file. */
static const void *mapped(const struct link_map *map, ElfW(Addr) at)
{
    return (const void *)(at < map->l_addr ? at + map->l_addr : at);
}

static void read_dynamic(const struct link_map *map, struct dynamic *out)
{
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        const void *at = mapped(map, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB)
            out->symbols = at;
        else if (d->d_tag == DT_STRTAB)
            out->strings = at;
        else if (d->d_tag == DT_HASH)
            out->hash = at;
        else if (d->d_tag == DT_GNU_HASH)
            out->gnu_hash = at;
    }
}

/* The table has no length of its own; the hash tables tell. */
static size_t count_symbols(const struct dynamic *d)
{
    if (d->hash)
        return d->hash[1];
    if (!d->gnu_hash)
        return 0;
    uint32_t n_buckets = d->gnu_hash[0], first = d->gnu_hash[1], words = d->gnu_hash[2];
    const uint32_t *buckets =
        d->gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + n_buckets;
    uint32_t last = 0;

    for (uint32_t i = 0; i < n_buckets; i++)
        last = buckets[i] > last ? buckets[i] : last;
    if (last < first)
        return 0;
    while (!(chain[last - first] & 1))
        last++;
    return (size_t)last + 1;
}

/* Names that begin with an underscore are those of linkers and sanitizers. */
static void check_exports(struct mp_kit *kit, const struct mcplug_plugin *d)
{
    struct dynamic dynamic = {0};
    void *map = NULL;
    Dl_info info;
    size_t more = 0;
    const char *one = NULL;

    if (!dladdr1(d, &info, &map, RTLD_DL_LINKMAP) || !map)
        return;
    read_dynamic(map, &dynamic);
    size_t n = dynamic.symbols && dynamic.strings ? count_symbols(&dynamic) : 0;
    for (size_t i = 0; i < n; i++) {
        const ElfW(Sym) *s = &dynamic.symbols[i];
        const char *name = dynamic.strings + s->st_name;
        unsigned bind = s->st_info >> 4; /* the same in both classes of ELF */
        if (s->st_shndx == SHN_UNDEF || (bind != STB_GLOBAL && bind != STB_WEAK) ||
            *name == '_' || strcmp(name, MCPLUG_SYMBOL) == 0)
            continue;
        more++;
        one = name;
    }
    if (more)
        mp_kit_say(kit, true,
                   "warning: exports %zu symbols besides " MCPLUG_SYMBOL
                   ", such as \"%s\"; hide them with -fvisibility=hidden",
                   more, one);
    else
        mp_kit_say(kit, true, "exports nothing but " MCPLUG_SYMBOL);
}

/* ---- lives ---- */

/* One feature gets all the settings, so that a wrong name is found; where there are
 * several, each gets those it knows. */
static void try_settings(struct mp_kit *kit, const struct mp_offer *offer, bool only,
                         const mcplug_props *settings,
                         void (*tried)(struct mp_kit *kit, const struct mp_offer *offer,
                                       const mcplug_props *settings))
{
    const char *kind = mp_kind_name(offer->feature.kind);
    const struct mcplug_feature *f = &offer->feature;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_str needs;
    char what[64];

    mp_str_init(&needs, 16384);
    if (mp_props_missing(settings, f->options, &needs)) {
        mp_kit_say(kit, true, "%s \"%s\": needs: %s", kind, f->name,
                   needs.data ? needs.data : "settings");
        mp_kit_say(kit, true, "%s \"%s\": %s not checked: pass these settings", kind,
                   f->name, f->kind == MCPLUG_TRANSPORT ? "its life was" : "it was");
        mp_str_clear(&needs);
        return;
    }
    mp_str_clear(&needs);
    mcplug_props *mine = !settings ? mp_props_new()
                         : only    ? mp_props_copy(settings)
                                   : mp_props_known(settings, f->options);
    snprintf(what, sizeof what, "%s \"%s\"", kind, f->name);
    if (!mine)
        mp_kit_say(kit, false, "%s: out of memory", what);
    else if (mp_props_check(mine, f->options, what, &why) != MCPLUG_OK)
        mp_kit_say(kit, false, "%s", why.text);
    else
        tried(kit, offer, mine);
    if (!kit->stuck)
        mp_props_free(mine);
}

static void try_converter(struct mp_kit *kit, const struct mp_offer *offer, bool only,
                          const mcplug_props *settings)
{
    mp_kit_match(kit, offer);
    if (kit->words)
        try_settings(kit, offer, only, settings, mp_kit_converter);
    else
        mp_kit_say(kit, true, "converter \"%s\": not called: pass -- FILE",
                   offer->feature.name);
}

static const char *url_option(const struct mcplug_feature *f)
{
    for (const struct mcplug_option *o = f->options; o && o->name; o++)
        if (strcmp(o->type, "url") == 0)
            return o->name;
    return NULL;
}

/* What the user has not set is ours: the name of a model, and where it is. */
static void try_model(struct mp_kit *kit, const struct mp_offer *offer, bool only,
                      const mcplug_props *settings)
{
    const char *url = url_option(&offer->feature), *name = offer->feature.name;
    mcplug_props *mine = settings ? mp_props_copy(settings) : mp_props_new();
    int r = mine ? MCPLUG_OK : MCPLUG_ENOMEM;

    if (r == MCPLUG_OK && !mp_props_is_set(mine, "model"))
        r = mp_props_set(mine, "model", "check");
    if (r == MCPLUG_OK && url && !mp_props_is_set(mine, url)) {
        kit->endpoint = mp_kit_endpoint_open();
        r = kit->endpoint ? mp_props_set(mine, url, mp_kit_endpoint_url(kit->endpoint))
                          : MCPLUG_EIO;
    }
    if (r == MCPLUG_OK)
        try_settings(kit, offer, only, mine, mp_kit_model);
    else
        mp_kit_say(kit, false, "model \"%s\": cannot be asked: %s", name,
                   mp_error_name(r));
    mp_kit_endpoint_free(kit->endpoint);
    kit->endpoint = NULL;
    mp_props_free(mine);
}

static bool takes_settings(const struct mcplug_plugin *d, size_t i)
{
    uint32_t kind = mp_plugin_feature(d, i).kind;
    return kind == MCPLUG_TRANSPORT || kind == MCPLUG_LOCATOR || kind == MCPLUG_PROBE ||
           kind == MCPLUG_CONVERTER || kind == MCPLUG_MODEL;
}

static void try_features(struct mp_kit *kit, const struct mp_plugin *plugin,
                         const mcplug_props *settings)
{
    const struct mcplug_plugin *d = plugin->descriptor;
    size_t takers = 0;

    for (size_t i = 0; i < d->n_features; i++)
        takers += takes_settings(d, i);
    for (size_t i = 0; !kit->stuck && i < d->n_features; i++) {
        struct mp_offer offer = {mp_plugin_feature(d, i), plugin};
        if (offer.feature.kind == MCPLUG_TRANSPORT)
            try_settings(kit, &offer, takers == 1, settings, mp_kit_live);
        else if (offer.feature.kind == MCPLUG_LOCATOR && (settings || kit->words))
            try_settings(kit, &offer, takers == 1, settings, mp_kit_locate);
        else if (offer.feature.kind == MCPLUG_LOCATOR)
            mp_kit_say(kit, true,
                       "locator \"%s\": not called: pass settings, or -- SERVER",
                       offer.feature.name);
        else if (offer.feature.kind == MCPLUG_PROBE && kit->peer)
            try_settings(kit, &offer, takers == 1, settings, mp_kit_probe);
        else if (offer.feature.kind == MCPLUG_VAULT && kit->words)
            try_settings(kit, &offer, false, settings, mp_kit_vault);
        else if (offer.feature.kind == MCPLUG_MODEL)
            try_model(kit, &offer, takers == 1, settings);
        else if (offer.feature.kind == MCPLUG_CONVERTER)
            try_converter(kit, &offer, takers == 1, settings);
        else if (offer.feature.kind == MCPLUG_VAULT)
            mp_kit_say(kit, true,
                       "vault \"%s\": not called, because it may prompt the user; pass "
                       "-- SECRET",
                       offer.feature.name);
        else if (offer.feature.kind == MCPLUG_PROBE)
            mp_kit_say(
                kit, true,
                "probe \"%s\": not started, because it needs a server; pass -- SERVER",
                offer.feature.name);
    }
    size_t running = kit->stuck ? 0 : mp_self_running(plugin->self);
    if (running)
        mp_kit_say(kit, true,
                   "warning: %zu timers or watches are running without any instance",
                   running);
}

/* ---- the whole ---- */

/* What the module itself says may be the cause of all that follows. */
static void on_log(void *arg, int level, const char *source, const char *text)
{
    (void)level;
    if (strncmp(source, "plugin:", strlen("plugin:")) == 0)
        mp_kit_say(arg, true, "warning: it logged: %.400s", text);
}

/* Services that the module uses are also looked for beside it. */
static int begin(struct mp_kit *kit, const char *file, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char *path = mp_path_absolute(file), *slash = path ? strrchr(path, '/') : NULL;
    const char *dirs[] = {path, NULL};

    if (slash)
        slash[slash == path] = '\0';
    mp_events_init(&kit->log, on_log, kit, MCPLUG_LOG_WARN);
    kit->loop = mp_loop_new(&why);
    struct mp_catalogue_options options = {
        .log = &kit->log,
        .loop = kit->loop,
        .dirs = dirs,
        .wire = &mp_kit_wire,
        .health = kit->peer ? &mp_kit_health : NULL,
        .place = &mp_place_ops,
        .reply = &mp_kit_reply,
        .mem = &mp_kit_mem,
    };
    if (kit->loop && path)
        kit->cat = mp_catalogue_new(&options, &why);
    else if (!path)
        mp_fail_nomem(&why);
    mp_free(path);
    return kit->cat ? MCPLUG_OK : mp_fail(err, why.code, "%s", why.text);
}

/* What hangs on a module that would not end stays as it is: fini() may only be called
 * when its instances are gone. */
static void end(struct mp_kit *kit)
{
    if (!kit->stuck) {
        mp_kit_enter(kit, "fini()");
        size_t left = kit->cat ? mp_catalogue_fini(kit->cat) : 0;
        mp_events_init(&kit->log, NULL, NULL, MCPLUG_LOG_ERROR); /* of the core's own */
        mp_catalogue_free(kit->cat);
        mp_loop_free(kit->loop);
        mp_kit_leave(kit);
        if (left && !kit->timers_left)
            mp_kit_say(kit, false, "%zu timers or watches still run after fini()", left);
        kit->timers_left = kit->timers_left || left;
    }
    kit->cat = NULL;
    kit->loop = NULL;
}

static void check_memory(struct mp_kit *kit)
{
    size_t bytes, blocks = mp_kit_memory_left(&bytes);
    if (blocks)
        mp_kit_say(kit, false,
                   "%zu blocks of host->mem with %zu bytes were not freed by the end of "
                   "fini()",
                   blocks, bytes);
}

struct trial {
    struct mp_kit *kit;
    char *file;
    mcplug_props *settings; /* may be NULL */
    struct mcplug_error err;
    int r;
};

/* Once from init() to fini(); the second time brings it to life. 1: it loaded, 0: it
 * did not, below: an error of ours. */
static int round_trip(struct trial *trial, bool again)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const struct mp_plugin *plugin = NULL;
    struct mp_kit *kit = trial->kit;
    struct mp_kit_descriptors descriptors;

    mp_kit_descriptors_look(&descriptors);
    int r = begin(kit, trial->file, &trial->err);
    if (r == MCPLUG_OK) {
        mp_kit_enter(kit, again ? "init()" : "loading it, or init(),");
        int loaded = mp_catalogue_load(kit->cat, trial->file, &plugin, &why);
        mp_kit_leave(kit);
        if (loaded != MCPLUG_OK)
            mp_kit_say(kit, false, "%s%s", again ? "init() after fini(): " : "",
                       why.text);
    }
    if (plugin && !again) {
        mp_kit_say(kit, true, "loads as \"%s\" %s", plugin->descriptor->name,
                   plugin->descriptor->version);
        check_descriptor(kit, plugin->descriptor);
        check_exports(kit, plugin->descriptor);
        for (size_t i = 0; i < plugin->descriptor->n_features; i++)
            kit->has_probe =
                kit->has_probe ||
                mp_plugin_feature(plugin->descriptor, i).kind == MCPLUG_PROBE;
    } else if (plugin) {
        mp_kit_say(kit, true, "init() works again after fini()");
        try_features(kit, plugin, trial->settings);
    }
    end(kit);
    if (plugin && again && !kit->stuck) { /* what a library keeps was there before */
        mp_kit_descriptors_compare(kit, &descriptors);
        check_memory(kit);
    }
    return r < 0 ? r : plugin != NULL;
}

/* For probes, if that was asked for. */
static void reach_server(struct trial *trial)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_kit *kit = trial->kit;

    if (!kit->has_probe || !kit->words)
        return;
    kit->peer = mp_kit_peer_open(kit->words, &why);
    if (!kit->peer)
        mp_kit_say(kit, false, "the server for the probe cannot be used: %s", why.text);
}

static void try_module(void *arg)
{
    struct trial *trial = arg;

    trial->kit->process = mp_kit_process_new();
    trial->r = round_trip(trial, false);
    if (trial->r > 0)
        reach_server(trial); /* before its descriptors are counted */
    if (trial->r > 0)
        trial->r = round_trip(trial, true);
    mp_kit_peer_close(trial->kit->peer);
}

/* NULL: no memory. Both outlive this call when the module does not return. */
static struct trial *trial_new(const char *file, const mcplug_props *settings,
                               const struct mp_kit_report *report)
{
    struct trial *trial = mp_alloc(sizeof *trial);
    struct mp_kit *kit = mp_alloc(sizeof *kit);
    pthread_condattr_t monotonic;

    if (!trial || !kit) {
        mp_free(trial);
        mp_free(kit);
        return NULL;
    }
    kit->report = *report;
    kit->stdout_was = kit->stdout_now = -1;
    pthread_mutex_init(&kit->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&kit->over_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    trial->kit = kit;
    trial->err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    trial->file = mp_strdup(file);
    trial->settings = settings ? mp_props_copy(settings) : NULL;
    return trial;
}

static void trial_free(struct trial *trial)
{
    pthread_cond_destroy(&trial->kit->over_changed);
    pthread_mutex_destroy(&trial->kit->lock);
    mp_kit_process_free(trial->kit->process);
    mp_free(trial->kit);
    mp_free(trial->file);
    mp_props_free(trial->settings);
    mp_free(trial);
}

int mp_plugin_contract(const char *file, const mcplug_props *settings,
                       const char *const *words, const struct mp_kit_report *report,
                       struct mcplug_error *err)
{
    struct trial *trial = trial_new(file, settings, report);
    int r;

    if (!trial || !trial->file || (settings && !trial->settings)) {
        if (trial)
            trial_free(trial);
        return mp_fail_nomem(err);
    }
    struct mp_kit *kit = trial->kit;
    kit->words = words;
    mp_kit_stdout_take(kit);
    bool over = mp_kit_run(kit, try_module, trial);
    mp_kit_stdout_give_back(kit);
    if (!over) {
        pthread_mutex_lock(&kit->lock);
        r = kit->failed;
        pthread_mutex_unlock(&kit->lock);
        return r;
    }
    r = trial->r < 0 ? mp_fail(err, trial->r, "%s", trial->err.text) : kit->failed;
    if (!kit->stuck)
        trial_free(trial);
    return r;
}
