#include "plugin/catalogue.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "plugin/pins.h"
#include "plugin/props.h"
#include "plugin/search.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#ifndef MCPLUG_HELPER_DIR
#error "define MCPLUG_HELPER_DIR as a string: where helper programs are installed"
#endif

#ifndef MCPLUG_SYSCONF_DIR
#error "define MCPLUG_SYSCONF_DIR as a string: where the administrator's files are"
#endif

#define TOLD_MAX 256 /* refusals remembered */
#define WANT_MAX 128 /* the longest name, scheme or mime type */

#define BUILT_IN "(compiled in)"

struct record {
    struct mp_plugin plugin;
    char *file;
    dev_t dev;
    ino_t ino;
    struct mp_offer *offers; /* those of known kinds */
    size_t n_offers;
    bool over; /* fini() was called */
};

struct told {
    struct told *next;
    char *text;
};

struct mp_catalogue {
    struct mp_catalogue_options options;
    struct mcplug_host host;
    char *helper_dir;
    char *pins;
    struct mp_search search;
    struct record **records; /* in order of loading */
    size_t n, cap;
    struct told *told; /* lines logged already */
    size_t n_told;
    struct mp_events silent; /* when there is no log */
};

/* What somebody is looking for. */
struct want {
    uint32_t kind;
    const char *name;
    bool accepts; /* the name is a URL scheme or mime type */
};

/* One line per refusal and once, however often somebody asks. */
static void tell(struct mp_catalogue *cat, const char *text)
{
    for (struct told *t = cat->told; t; t = t->next)
        if (strcmp(t->text, text) == 0)
            return;
    mp_log(cat->options.log, MCPLUG_LOG_ERROR, "core", "%s", text);
    if (cat->n_told >= TOLD_MAX)
        return;
    struct told *t = mp_alloc(sizeof *t);
    if (t && (t->text = mp_strdup(text))) {
        t->next = cat->told;
        cat->told = t;
        cat->n_told++;
    } else {
        mp_free(t);
    }
}

/* ---- life ---- */

static char *find_helper_dir(const char *given)
{
    const char *env = secure_getenv("MCPLUG_HELPER_PATH");

    if (!given && env && *env == '/') /* relative: see the search path */
        given = env;
    return mp_path_absolute(given ? given : MCPLUG_HELPER_DIR);
}

struct mp_catalogue *mp_catalogue_new(const struct mp_catalogue_options *options,
                                      struct mcplug_error *err)
{
    struct mp_catalogue *cat = mp_alloc(sizeof *cat);
    if (cat) {
        cat->options = *options;
        cat->options.dirs = cat->options.more_dirs = NULL; /* cat->search has copies */
        cat->options.helper_dir = NULL;
        cat->options.pins = NULL;
        if (!options->log)
            cat->options.log = &cat->silent;
        cat->pins = mp_strdup(options->pins ? options->pins
                                            : MCPLUG_SYSCONF_DIR "/mcplug/modules.allow");
        cat->helper_dir = find_helper_dir(options->helper_dir);
        if (mp_search_init(&cat->search, options->dirs, options->more_dirs,
                           cat->options.log) == MCPLUG_OK &&
            cat->helper_dir && cat->pins) {
            mp_host_init(&cat->host, &cat->options, cat->helper_dir);
            return cat;
        }
    }
    mp_catalogue_free(cat);
    mp_fail_nomem(err);
    return NULL;
}

static void record_free(struct record *record)
{
    if (!record)
        return;
    mp_self_free(record->plugin.self);
    mp_free(record->offers);
    mp_free(record->file);
    mp_free(record);
}

static void record_fini(struct record *record)
{
    if (!record->over && record->plugin.descriptor->fini)
        record->plugin.descriptor->fini(record->plugin.ctx);
    record->over = true;
}

size_t mp_catalogue_fini(struct mp_catalogue *cat)
{
    size_t running = 0;

    for (size_t i = cat->n; i-- > 0;) {
        record_fini(cat->records[i]);
        running += mp_self_running(cat->records[i]->plugin.self);
    }
    return running;
}

void mp_catalogue_free(struct mp_catalogue *cat)
{
    if (!cat)
        return;
    while (cat->n) {
        struct record *record = cat->records[--cat->n];
        record_fini(record);
        record_free(record);
    }
    while (cat->told) {
        struct told *next = cat->told->next;
        mp_free(cat->told->text);
        mp_free(cat->told);
        cat->told = next;
    }
    mp_search_clear(&cat->search);
    mp_free(cat->records);
    mp_free(cat->helper_dir);
    mp_free(cat->pins);
    mp_free(cat);
}

static struct record *record_new(struct mp_catalogue *cat, const struct mcplug_plugin *d,
                                 const char *file)
{
    struct record *record = mp_alloc(sizeof *record);
    if (!record)
        return NULL;
    record->offers = mp_alloc(d->n_features * sizeof *record->offers);
    record->file = mp_strdup(file);
    record->plugin.self = mp_self_new(d->name, cat->options.log, cat->options.loop);
    if (!record->offers || (file && !record->file) || !record->plugin.self) {
        record_free(record);
        return NULL;
    }
    record->plugin.descriptor = d;
    record->plugin.file = record->file;
    for (size_t i = 0; i < d->n_features; i++) {
        struct mcplug_feature f = mp_plugin_feature(d, i);
        if (mp_kind_known(f.kind))
            record->offers[record->n_offers++] = (struct mp_offer){f, &record->plugin};
        else
            mp_log(cat->options.log, MCPLUG_LOG_VERBOSE, "core",
                   "%s: its feature %zu is of kind %u, which this core does not know",
                   file ? file : BUILT_IN, i, (unsigned)f.kind);
    }
    return record;
}

static bool reserve_record(struct mp_catalogue *cat)
{
    if (cat->n < cat->cap)
        return true;
    size_t cap = cat->cap ? cat->cap * 2 : 8;
    struct record **records = mp_resize(cat->records, cap * sizeof *records);
    if (!records)
        return false;
    cat->records = records;
    cat->cap = cap;
    return true;
}

static int call_init(struct mp_catalogue *cat, struct record *record, const char *file,
                     struct mcplug_error *err)
{
    const struct mcplug_plugin *d = record->plugin.descriptor;
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    int r = d->init ? d->init(&cat->host, record->plugin.self, &record->plugin.ctx, &why)
                    : MCPLUG_OK;
    if (r == MCPLUG_OK)
        return MCPLUG_OK;
    why.text[sizeof why.text - 1] = '\0';
    r = r < 0 ? r : MCPLUG_EINVAL;
    return mp_plugin_fail(err, r, file, "refused to load: %s",
                          why.text[0] ? why.text : mp_error_name(r));
}

/* Takes in a module whose descriptor has been read. `file` NULL: compiled in. */
static int admit(struct mp_catalogue *cat, const struct mcplug_plugin *d,
                 const char *file, struct record **out, struct mcplug_error *err)
{
    const char *where = file ? file : BUILT_IN;

    for (size_t i = 0; i < cat->n; i++) {
        const struct mp_plugin *other = &cat->records[i]->plugin;
        if (other->descriptor == d) {
            *out = cat->records[i];
            return MCPLUG_OK;
        }
        if (strcmp(other->descriptor->name, d->name) == 0)
            return mp_plugin_fail(err, MCPLUG_EINVAL, where,
                                  "a module named \"%s\" is loaded already, from %s",
                                  d->name, other->file ? other->file : BUILT_IN);
    }
    struct record *record = reserve_record(cat) ? record_new(cat, d, file) : NULL;
    int r = record ? call_init(cat, record, where, err) : mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        *out = cat->records[cat->n++] = record;
    else
        record_free(record);
    return r;
}

/* ---- loading ---- */

/* The list is read anew each time: it may have changed, and loading is rare. */
static int load_file(struct mp_catalogue *cat, const char *real, struct record **out,
                     struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const struct mcplug_plugin *d = NULL;
    struct mp_pins pins;

    int r = mp_pins_read(&pins, cat->pins, cat->options.pins_owner, &why);
    if (r != MCPLUG_OK)
        return mp_plugin_fail(err, r, real, "no module may be loaded: %s", why.text);
    r = mp_pins_allow_file(&pins, real, err);
    if (r == MCPLUG_OK)
        r = mp_plugin_file_open(real, &d, err);
    if (r == MCPLUG_OK)
        r = mp_pins_allow_name(&pins, real, d->name, err);
    if (r == MCPLUG_OK)
        r = admit(cat, d, real, out, err);
    mp_pins_clear(&pins);
    return r;
}

/* A path or a link of another name for what is loaded already. */
static struct record *loaded_from(struct mp_catalogue *cat, const char *real,
                                  const struct stat *st)
{
    for (size_t i = 0; i < cat->n; i++) {
        struct record *record = cat->records[i];
        if (!record->file)
            continue;
        if (strcmp(record->file, real) == 0 ||
            (record->dev == st->st_dev && record->ino == st->st_ino))
            return record;
    }
    return NULL;
}

static int load(struct mp_catalogue *cat, const char *file, struct record **out,
                struct mcplug_error *err)
{
    struct stat st = {0};
    char *real = NULL;

    int r = mp_plugin_file_check(file, &real, err);
    if (r != MCPLUG_OK)
        return r;
    struct record *record = NULL;
    if (stat(real, &st) != 0)
        r = mp_plugin_fail(err, MCPLUG_EIO, file, "went away: %s", strerror(errno));
    else if (!(record = loaded_from(cat, real, &st)))
        r = load_file(cat, real, &record, err);
    if (r == MCPLUG_OK) {
        record->dev = st.st_dev;
        record->ino = st.st_ino;
        *out = record;
    }
    mp_free(real);
    return r;
}

int mp_catalogue_load(struct mp_catalogue *cat, const char *file,
                      const struct mp_plugin **out, struct mcplug_error *err)
{
    struct record *record = NULL;
    int r = load(cat, file, &record, err);
    if (r == MCPLUG_OK)
        *out = &record->plugin;
    return r;
}

/* ---- listing ---- */

int mp_catalogue_each(const struct mp_catalogue *cat,
                      bool (*fn)(void *arg, const struct mp_listed *one), void *arg)
{
    struct mp_files files = {0};
    bool more = true;

    int r = mp_search_files(&cat->search, &files);
    for (size_t i = 0; r == MCPLUG_OK && more && mp_builtins[i]; i++)
        more = fn(arg, &(struct mp_listed){.name = mp_builtins[i]->name});
    for (size_t i = 0; r == MCPLUG_OK && more && i < files.n; i++) {
        char *real = realpath(files.list[i].path, NULL);
        if (real)
            more = fn(arg, &(struct mp_listed){.name = files.list[i].name,
                                               .file = real,
                                               .again = files.list[i].again});
        free(real);
    }
    if (r == MCPLUG_OK)
        mp_files_clear(&files);
    return r;
}

const char *mp_catalogue_dir(const struct mp_catalogue *cat, size_t i)
{
    return i < cat->search.n ? cat->search.dirs[i] : NULL;
}

/* ---- finding ---- */

static bool serves(const struct mcplug_feature *f, const struct want *want)
{
    if (f->kind != want->kind)
        return false;
    if (!want->accepts)
        return strcmp(f->name, want->name) == 0;
    for (size_t i = 0; f->accepts && f->accepts[i]; i++)
        if (strcasecmp(f->accepts[i], want->name) == 0)
            return true;
    return false;
}

static const struct mp_offer *offer_of(const struct record *record,
                                       const struct want *want)
{
    for (size_t i = 0; i < record->n_offers; i++)
        if (serves(&record->offers[i].feature, want))
            return &record->offers[i];
    return NULL;
}

static const struct mp_offer *offer_of_loaded(const struct mp_catalogue *cat,
                                              const struct want *want)
{
    const struct mp_offer *offer = NULL;
    for (size_t i = 0; !offer && i < cat->n; i++)
        offer = offer_of(cat->records[i], want);
    return offer;
}

/* Whatever is wrong with one module is logged and must not keep others from being
 * tried, but for the lack of memory. */
static int pass_over(struct mp_catalogue *cat, int r, const struct mcplug_error *why)
{
    if (r == MCPLUG_OK || r == MCPLUG_ENOMEM)
        return r;
    tell(cat, why->text);
    return MCPLUG_OK;
}

static bool descriptor_serves(const struct mcplug_plugin *d, const struct want *want)
{
    for (size_t i = 0; i < d->n_features; i++) {
        struct mcplug_feature f = mp_plugin_feature(d, i);
        if (serves(&f, want))
            return true;
    }
    return false;
}

static int try_builtins(struct mp_catalogue *cat, const struct want *want,
                        const struct mp_offer **out)
{
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && !*out && mp_builtins[i]; i++) {
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        struct record *record = NULL;
        r = mp_plugin_handshake(mp_builtins[i], BUILT_IN, &why);
        if (r == MCPLUG_OK && descriptor_serves(mp_builtins[i], want))
            r = admit(cat, mp_builtins[i], NULL, &record, &why);
        if (record)
            *out = offer_of(record, want);
        r = pass_over(cat, r, &why);
    }
    return r;
}

static int try_file(struct mp_catalogue *cat, const char *file, const struct want *want,
                    const struct mp_offer **out, struct mcplug_error *why)
{
    struct record *record = NULL;
    int r = load(cat, file, &record, why);
    if (r == MCPLUG_OK)
        *out = offer_of(record, want);
    return pass_over(cat, r, why);
}

static void file_name(const char *want, char out[WANT_MAX + 1])
{
    for (; *want; want++) {
        bool upper = *want >= 'A' && *want <= 'Z', lower = *want >= 'a' && *want <= 'z';
        bool digit = *want >= '0' && *want <= '9';
        *out++ = upper ? (char)(*want | 0x20) : lower || digit ? *want : '-';
    }
    *out = '\0';
}

/* The file or link named after what is wanted. `why` gets the first refusal. */
static int try_named(struct mp_catalogue *cat, const struct want *want,
                     const struct mp_offer **out, struct mcplug_error *why)
{
    char name[WANT_MAX + 1];
    int r = MCPLUG_OK;

    file_name(want->name, name);
    for (size_t i = 0; r == MCPLUG_OK && !*out && i < cat->search.n; i++) {
        struct mcplug_error this = MCPLUG_ERROR_INIT;
        char *file = mp_search_file(cat->search.dirs[i], name);
        struct stat st;
        if (!file)
            r = MCPLUG_ENOMEM;
        else if (lstat(file, &st) == 0)
            r = try_file(cat, file, want, out, &this);
        if (this.code && !why->code)
            *why = this;
        mp_free(file);
    }
    return r;
}

static int try_others(struct mp_catalogue *cat, const struct want *want,
                      const struct mp_files *files, const struct mp_offer **out)
{
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && !*out && i < files->n; i++) {
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        if (!files->list[i].again &&
            mp_plugin_file_mentions(files->list[i].path, want->name))
            r = try_file(cat, files->list[i].path, want, out, &why);
    }
    return r;
}

/* ---- not finding ---- */

static const char *package_of(const struct want *want)
{
    static const struct mcplug_pair packages[] = {
        {"stdio", "mcplug-stdio"},         {"http", "mcplug-http"},
        {"https", "mcplug-http"},          {"sse", "mcplug-http"},
        {"ws", "mcplug-websocket"},        {"wss", "mcplug-websocket"},
        {"websocket", "mcplug-websocket"}, {"sse-ide", "mcplug-http"},
        {"ws-ide", "mcplug-websocket"},    {"unix", "mcplug-socket"},
        {"tcp", "mcplug-socket"},          {"http-ide", "mcplug-http"},
    };
    if (want->kind == MCPLUG_VAULT && strcmp(want->name, "keyring") == 0)
        return "mcplug-keyring";
    if (want->kind == MCPLUG_PROBE && strcmp(want->name, "http") == 0)
        return "mcplug-http";
    if (want->kind == MCPLUG_PROBE &&
        (strcmp(want->name, "ping") == 0 || strcmp(want->name, "list-tools") == 0 ||
         strcmp(want->name, "discover") == 0))
        return "mcplug-probe";
    if (want->kind == MCPLUG_TRANSPORT)
        for (size_t i = 0; i < MP_COUNT(packages); i++)
            if (strcmp(packages[i].name, want->name) == 0)
                return packages[i].value;
    return NULL;
}

static const char *nearest(const struct mp_catalogue *cat, const struct want *want,
                           const struct mp_files *files)
{
    const char *best = NULL;

    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->list[i].name, want->name) != 0)
            mp_nearest(want->name, files->list[i].name, &best);
    for (size_t i = 0; i < cat->n; i++)
        for (size_t j = 0; j < cat->records[i]->n_offers; j++)
            if (cat->records[i]->offers[j].feature.kind == want->kind)
                mp_nearest(want->name, cat->records[i]->offers[j].feature.name, &best);
    return best;
}

static int fail_nobody(const struct mp_catalogue *cat, const struct want *want,
                       const struct mp_files *files, const struct mcplug_error *why,
                       struct mcplug_error *err)
{
    struct mp_str text;
    const char *package = package_of(want), *near = NULL;

    mp_str_init(&text, 65536);
    mp_str_addf(&text, "no module offers %s %s%s\"%.64s\"", want->accepts ? "a" : "the",
                mp_kind_name(want->kind), want->accepts ? " for " : " ", want->name);
    if (why->code)
        mp_str_addf(&text, ": %s", why->text);
    else if (package)
        mp_str_addf(&text, ": it comes with the package %s", package);
    else if (!want->accepts && (near = nearest(cat, want, files)))
        mp_str_addf(&text, ", did you mean \"%s\"?", near);
    if (!why->code) {
        for (size_t i = 0; i < cat->search.n; i++)
            mp_str_addf(&text, "%s%s", i ? ", " : " (searched: ", cat->search.dirs[i]);
        mp_str_addc(&text, ')');
    }
    int r = text.failed
                ? mp_fail(err, MCPLUG_ENOTSUP, "no module offers \"%.64s\"", want->name)
                : mp_fail(err, MCPLUG_ENOTSUP, "%s", text.data);
    mp_str_clear(&text);
    return r;
}

static int seek(struct mp_catalogue *cat, const struct want *want,
                const struct mp_offer **out, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_files files = {0};
    const struct mp_offer *offer = offer_of_loaded(cat, want);
    bool sane = *want->name && strlen(want->name) <= WANT_MAX;
    int r = MCPLUG_OK;

    if (!offer && sane)
        r = try_builtins(cat, want, &offer);
    if (!offer && sane && r == MCPLUG_OK)
        r = try_named(cat, want, &offer, &why);
    if (!offer && sane && r == MCPLUG_OK)
        r = mp_search_files(&cat->search, &files);
    if (!offer && sane && r == MCPLUG_OK)
        r = try_others(cat, want, &files, &offer);
    if (r != MCPLUG_OK)
        mp_fail_nomem(err);
    else if (!offer)
        r = fail_nobody(cat, want, &files, &why, err);
    else
        *out = offer;
    mp_files_clear(&files);
    return r;
}

int mp_catalogue_find(struct mp_catalogue *cat, uint32_t kind, const char *name,
                      const struct mp_offer **out, struct mcplug_error *err)
{
    return seek(cat, &(struct want){kind, name, false}, out, err);
}

int mp_catalogue_accepts(struct mp_catalogue *cat, uint32_t kind, const char *what,
                         const struct mp_offer **out, struct mcplug_error *err)
{
    return seek(cat, &(struct want){kind, what, true}, out, err);
}
