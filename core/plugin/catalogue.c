#include "plugin/catalogue.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "plugin/pins.h"
#include "plugin/props.h"

#include <dirent.h>
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

#ifndef MCPLUG_PLUGIN_DIR
#error "define MCPLUG_PLUGIN_DIR as a string: where modules are installed"
#endif

#define TOLD_MAX 256   /* refusals remembered */
#define WANT_MAX 128   /* the longest name, scheme or mime type */
#define DIRS_MAX 64    /* of the search path, .. */
#define FILES_MAX 4096 /* .. and files in all of them */

#define BUILT_IN "(compiled in)"

struct record {
    struct mp_plugin plugin;
    struct record *outer; /* being loaded: whose init() wants it */
    struct record **uses; /* whose services it has */
    size_t n_uses;
    bool is_left; /* a thread is in it for good */
    dev_t dev;
    ino_t ino;
    struct mp_offer *offers; /* those of known kinds */
    size_t n_offers;
    bool over; /* fini() was called */
};

struct mp_catalogue {
    struct mp_catalogue_options options;
    struct mcplug_host *host;
    struct record *loading; /* the innermost */
    char *helper_dir;
    char *pins;
    char *packages;                      /* NULL: where they always are */
    const struct mcplug_plugin **linked; /* into the program */
    size_t n_linked;
    char *dirs[DIRS_MAX]; /* the search path, absolute */
    size_t n_dirs;
    struct record **records; /* in order of loading */
    size_t n, cap;
    char *told[TOLD_MAX]; /* lines logged already */
    size_t n_told;
    uid_t unmapped_root;     /* see mp_unmapped_root() */
    struct mp_events silent; /* when there is no log */
};

/* What somebody is looking for. */
struct want {
    uint32_t kind; /* MP_TYPE: a transport or a locator */
    const char *name;
    bool accepts; /* the name is a URL scheme or mime type */
};

/* One line per refusal and once, however often somebody asks. */
static void tell(struct mp_catalogue *cat, const char *text)
{
    for (size_t i = 0; i < cat->n_told; i++)
        if (strcmp(cat->told[i], text) == 0)
            return;
    mp_log(cat->options.log, MCPLUG_LOG_ERROR, "core", "%s", text);
    if (cat->n_told < TOLD_MAX && (cat->told[cat->n_told] = mp_strdup(text)))
        cat->n_told++;
}

/* ---- the search path ---- */

static int add_dir(struct mp_catalogue *cat, const char *path)
{
    char *dir = mp_path_absolute(path);
    if (!dir)
        return MCPLUG_ENOMEM;
    bool skip = cat->n_dirs == DIRS_MAX;
    for (size_t i = 0; !skip && i < cat->n_dirs; i++)
        skip = strcmp(cat->dirs[i], dir) == 0;
    if (skip)
        mp_free(dir);
    else
        cat->dirs[cat->n_dirs++] = dir;
    return MCPLUG_OK;
}

/* Relative ones are passed over: they would make what is loaded depend on the
 * directory one happens to be in, that of somebody else's project for one. */
static int add_dirs_from_env(struct mp_catalogue *cat)
{
    const char *at = secure_getenv("MCPLUG_PLUGIN_PATH");
    int r = MCPLUG_OK;

    while (at && *at && r == MCPLUG_OK) {
        size_t len = strcspn(at, ":");
        char *dir = mp_strndup(at, len);
        if (!dir)
            r = MCPLUG_ENOMEM;
        else if (*dir == '/')
            r = add_dir(cat, dir);
        else if (*dir)
            mp_log(
                cat->options.log, MCPLUG_LOG_WARN, "core",
                "MCPLUG_PLUGIN_PATH: \"%s\" is not an absolute path and is not searched",
                dir);
        mp_free(dir);
        at += len + (at[len] == ':');
    }
    return r;
}

static int add_dirs(struct mp_catalogue *cat, const struct mp_catalogue_options *options)
{
    const char *const *dirs = options->dirs, *const *more = options->more_dirs;
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && dirs && dirs[i]; i++)
        r = add_dir(cat, dirs[i]);
    if (r == MCPLUG_OK)
        r = add_dirs_from_env(cat);
    for (size_t i = 0; r == MCPLUG_OK && more && more[i]; i++)
        r = add_dir(cat, more[i]);
    return r == MCPLUG_OK ? add_dir(cat, MCPLUG_PLUGIN_DIR) : r;
}

/* A regular file named *.so on the search path. */
struct found {
    char *path; /* as found, maybe a link */
    char *name; /* without .so */
    dev_t dev;
    ino_t ino;
    bool again; /* another link to a file that was found before */
};

struct files {
    struct found *list; /* in the order of the path, by name in each directory */
    size_t n, cap;
};

static void files_clear(struct files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        mp_free(files->list[i].path);
        mp_free(files->list[i].name);
    }
    mp_free(files->list);
}

/* Links that lead nowhere are passed over. */
static int add_file(struct files *files, const char *dir, const char *entry)
{
    struct found f = {.path = mp_path_join(dir, entry)};
    struct stat st;

    if (f.path && (stat(f.path, &st) != 0 || !S_ISREG(st.st_mode))) {
        mp_free(f.path);
        return MCPLUG_OK;
    }
    f.name = mp_strndup(entry, strlen(entry) - 3);
    if (!f.path || !f.name || !mp_grow(&files->list, &files->cap, files->n + 1)) {
        mp_free(f.name);
        mp_free(f.path);
        return MCPLUG_ENOMEM;
    }
    f.dev = st.st_dev;
    f.ino = st.st_ino;
    for (size_t i = 0; i < files->n; i++)
        f.again |= files->list[i].dev == f.dev && files->list[i].ino == f.ino;
    files->list[files->n++] = f;
    return MCPLUG_OK;
}

static int is_module(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > 3 &&
           strcmp(entry->d_name + len - 3, ".so") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* alphasort() minds the locale */
}

/* Directories that cannot be read are passed over. MCPLUG_OK or _ENOMEM; there is
 * something to clear in any case. */
static int find_files(const struct mp_catalogue *cat, struct files *files)
{
    int r = MCPLUG_OK;

    for (size_t d = 0; r == MCPLUG_OK && d < cat->n_dirs; d++) {
        struct dirent **entries = NULL;
        int n = scandir(cat->dirs[d], &entries, is_module, by_name);
        if (n < 0 && errno == ENOMEM)
            r = MCPLUG_ENOMEM;
        for (int i = 0; i < n; i++) {
            if (r == MCPLUG_OK && files->n < FILES_MAX)
                r = add_file(files, cat->dirs[d], entries[i]->d_name);
            free(entries[i]);
        }
        free(entries);
    }
    return r;
}

/* ---- life ---- */

static bool add_linked(struct mp_catalogue *cat,
                       const struct mcplug_plugin *const *plugins)
{
    size_t n = 0;

    while (plugins && plugins[n])
        n++;
    cat->linked = mp_alloc((n + 1) * sizeof *cat->linked);
    cat->n_linked = cat->linked ? n : 0;
    for (size_t i = 0; i < cat->n_linked; i++)
        cat->linked[i] = plugins[i];
    return cat->linked != NULL;
}

struct mp_catalogue *mp_catalogue_new(const struct mp_catalogue_options *options,
                                      struct mcplug_error *err)
{
    struct mp_catalogue *cat = mp_alloc(sizeof *cat);
    if (cat) {
        const char *helpers = options->helper_dir, *pins = options->pins;
        const char *env = secure_getenv("MCPLUG_HELPER_PATH");
        if (!helpers && env && *env == '/') /* relative: see the search path */
            helpers = env;
        cat->options = *options;
        cat->options.dirs = cat->options.more_dirs = NULL; /* there are copies */
        cat->options.helper_dir = cat->options.pins = cat->options.packages = NULL;
        cat->unmapped_root = mp_unmapped_root();
        if (!pins && cat->unmapped_root)
            cat->options.pins_owner = cat->unmapped_root;
        cat->options.plugins = NULL;
        if (!options->log)
            cat->options.log = &cat->silent;
        cat->pins = mp_strdup(pins ? pins : MCPLUG_SYSCONF_DIR "/mcplug/modules.allow");
        cat->packages = mp_strdup(options->packages);
        cat->helper_dir = mp_path_absolute(helpers ? helpers : MCPLUG_HELPER_DIR);
        cat->host = mp_alloc(sizeof *cat->host);
        if (cat->helper_dir && cat->pins && cat->host &&
            (cat->packages || !options->packages) && add_linked(cat, options->plugins) &&
            add_dirs(cat, options) == MCPLUG_OK) {
            mp_host_init(cat->host, &cat->options, cat->helper_dir);
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
    mp_free(record->uses);
    mp_free(record->offers);
    mp_free(record->plugin.file);
    mp_free(record);
}

static void record_fini(struct record *record)
{
    if (!record->over && record->plugin.descriptor->fini)
        record->plugin.descriptor->fini(record->plugin.ctx);
    record->over = true;
}

static bool is_used(const struct mp_catalogue *cat, const struct record *record)
{
    for (size_t i = 0; i < cat->n; i++)
        for (size_t j = 0; j < cat->records[i]->n_uses && !cat->records[i]->over; j++)
            if (cat->records[i]->uses[j] == record)
                return true;
    return false;
}

/* Where the one is that was loaded last of those whose services nobody uses. As there
 * are no cycles, there is one. */
static size_t find_unused(const struct mp_catalogue *cat)
{
    size_t i = cat->n - 1;

    while (i && (cat->records[i]->over || is_used(cat, cat->records[i])))
        i--;
    return i;
}

size_t mp_catalogue_fini(struct mp_catalogue *cat)
{
    size_t running = 0;

    for (size_t i = 0; i < cat->n; i++) {
        struct record *record = cat->records[find_unused(cat)];
        record_fini(record);
        running += mp_self_running(record->plugin.self);
    }
    return running;
}

/* A module that a thread is in for good keeps what it may use, and so do the modules that
 * it uses. */
static void leave(struct record *record)
{
    for (size_t i = 0; i < record->n_uses; i++)
        record->uses[i]->is_left = true;
    mp_self_leave(record->plugin.self);
}

void mp_catalogue_free(struct mp_catalogue *cat)
{
    bool is_left = false;

    if (!cat)
        return;
    while (cat->n) {
        size_t i = find_unused(cat);
        struct record *record = cat->records[i];
        cat->n--;
        memmove(&cat->records[i], &cat->records[i + 1],
                (cat->n - i) * sizeof cat->records[0]);
        if (record->is_left) {
            leave(record);
            is_left = true;
            continue;
        }
        record_fini(record);
        record_free(record);
    }
    while (cat->n_told)
        mp_free(cat->told[--cat->n_told]);
    while (cat->n_dirs)
        mp_free(cat->dirs[--cat->n_dirs]);
    mp_free(cat->records);
    if (!is_left) {
        mp_free(cat->host);
        mp_free(cat->helper_dir);
    }
    mp_free(cat->pins);
    mp_free(cat->packages);
    mp_free(cat->linked);
    mp_free(cat);
}

static struct record *record_new(struct mp_catalogue *cat, const struct mcplug_plugin *d,
                                 const char *file)
{
    struct record *record = mp_alloc(sizeof *record);
    if (!record)
        return NULL;
    record->offers = mp_alloc(d->n_features * sizeof *record->offers);
    record->plugin.file = mp_strdup(file);
    record->plugin.self = mp_self_new(d->name, cat, cat->options.log, cat->options.loop);
    if (!record->offers || (file && !record->plugin.file) || !record->plugin.self) {
        record_free(record);
        return NULL;
    }
    record->plugin.descriptor = d;
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

static int call_init(struct mp_catalogue *cat, struct record *record, const char *file,
                     struct mcplug_error *err)
{
    const struct mcplug_plugin *d = record->plugin.descriptor;
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    record->outer = cat->loading;
    cat->loading = record;
    int r = d->init ? d->init(cat->host, record->plugin.self, &record->plugin.ctx, &why)
                    : MCPLUG_OK;
    cat->loading = record->outer;
    if (r == MCPLUG_OK)
        return MCPLUG_OK;
    why.text[sizeof why.text - 1] = '\0';
    r = r < 0 ? r : MCPLUG_EINVAL;
    return mp_plugin_fail(err, r, file, "refused to load: %s",
                          why.text[0] ? why.text : mp_error_name(r));
}

static bool is_of_kind(const struct mcplug_feature *f, const struct want *want)
{
    return want->kind == MP_TYPE ? mp_kind_is_type(f->kind) : f->kind == want->kind;
}

static bool serves(const struct mcplug_feature *f, const struct want *want)
{
    if (!is_of_kind(f, want))
        return false;
    if (!want->accepts)
        return strcmp(f->name, want->name) == 0;
    for (size_t i = 0; f->accepts && f->accepts[i]; i++)
        if (strcasecmp(f->accepts[i], want->name) == 0)
            return true;
    return false;
}

static const struct mp_offer *offer_of(const struct mp_plugin *plugin,
                                       const struct want *want)
{
    const struct record *record = MP_OF(plugin, struct record, plugin);

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
        offer = offer_of(&cat->records[i]->plugin, want);
    return offer;
}

/* Types are one name space: an entry's "type" must not mean two things. */
static int check_types(const struct mp_catalogue *cat, const struct record *record,
                       const char *where, struct mcplug_error *err)
{
    for (size_t i = 0; i < record->n_offers; i++) {
        const struct mcplug_feature *f = &record->offers[i].feature;
        const struct mp_offer *other =
            mp_kind_is_type(f->kind)
                ? offer_of_loaded(cat, &(struct want){MP_TYPE, f->name, false})
                : NULL;
        if (other)
            return mp_plugin_fail(err, MCPLUG_EINVAL, where,
                                  "offers the type \"%s\", which %s already offers",
                                  f->name,
                                  other->plugin->file ? other->plugin->file : BUILT_IN);
    }
    return MCPLUG_OK;
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
                                  "a module named \"%s\" is already loaded, from %s",
                                  d->name, other->file ? other->file : BUILT_IN);
    }
    for (const struct record *l = cat->loading; l; l = l->outer)
        if (l->plugin.descriptor == d)
            return mp_plugin_fail(err, MCPLUG_EINVAL, where,
                                  "is already being loaded: it and \"%s\" use each other",
                                  cat->loading->plugin.descriptor->name);
    struct record *record = record_new(cat, d, file);
    int r = record ? check_types(cat, record, where, err) : mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = call_init(cat, record, where, err);
    if (r == MCPLUG_OK && !mp_grow(&cat->records, &cat->cap, cat->n + 1)) {
        record_fini(record);
        r = mp_fail_nomem(err); /* its init() may have loaded others, so not before */
    }
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

int mp_catalogue_load(struct mp_catalogue *cat, const char *file,
                      const struct mp_plugin **out, struct mcplug_error *err)
{
    struct record *record = NULL;
    struct stat st = {0};
    char *real = NULL;

    const struct mp_file_owners owners = {MCPLUG_PLUGIN_DIR, cat->unmapped_root};
    int r = mp_plugin_file_check(file, &owners, &real, err);
    if (r == MCPLUG_OK && stat(real, &st) != 0)
        r = mp_plugin_fail(err, MCPLUG_EIO, file, "can no longer be accessed: %s",
                           strerror(errno));
    /* A path or a link of another name for what is loaded already? */
    for (size_t i = 0; r == MCPLUG_OK && !record && i < cat->n; i++) {
        struct record *one = cat->records[i];
        const char *from = one->plugin.file;
        if (from &&
            (strcmp(from, real) == 0 || (one->dev == st.st_dev && one->ino == st.st_ino)))
            record = one;
    }
    if (r == MCPLUG_OK && !record)
        r = load_file(cat, real, &record, err);
    if (r == MCPLUG_OK) {
        record->dev = st.st_dev;
        record->ino = st.st_ino;
        *out = &record->plugin;
    }
    mp_free(real);
    return r;
}

/* ---- listing ---- */

int mp_catalogue_each(const struct mp_catalogue *cat,
                      bool (*fn)(void *arg, const struct mp_listed *one), void *arg)
{
    struct files files = {0};
    bool more = true;

    int r = find_files(cat, &files);
    const struct mcplug_plugin *d;
    for (size_t i = 0; r == MCPLUG_OK && more && (d = mp_catalogue_builtin(cat, i)); i++)
        if (mp_plugin_handshake(d, BUILT_IN, NULL) == MCPLUG_OK)
            more = fn(arg, &(struct mp_listed){.name = d->name});
    for (size_t i = 0; r == MCPLUG_OK && more && i < files.n; i++) {
        const struct found *f = &files.list[i];
        char *real = realpath(f->path, NULL);
        if (real)
            more = fn(arg, &(struct mp_listed){f->name, real, f->again});
        free(real);
    }
    files_clear(&files);
    return r;
}

const struct mcplug_plugin *mp_catalogue_builtin(const struct mp_catalogue *cat, size_t i)
{
    return i < cat->n_linked ? cat->linked[i] : mp_builtins[i - cat->n_linked];
}

const char *mp_catalogue_dir(const struct mp_catalogue *cat, size_t i)
{
    return i < cat->n_dirs ? cat->dirs[i] : NULL;
}

/* ---- finding ---- */

/* Whatever is wrong with one module is logged and must not keep others from being
 * tried, but for the lack of memory. */
static int pass_over(struct mp_catalogue *cat, int r, const struct mcplug_error *why)
{
    if (r == MCPLUG_OK || r == MCPLUG_ENOMEM)
        return r;
    tell(cat, why->text);
    return MCPLUG_OK;
}

static int try_builtins(struct mp_catalogue *cat, const struct want *want,
                        const struct mp_offer **out)
{
    int r = MCPLUG_OK;

    const struct mcplug_plugin *d;

    for (size_t i = 0; r == MCPLUG_OK && !*out && (d = mp_catalogue_builtin(cat, i));
         i++) {
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        struct record *record = NULL;
        r = mp_plugin_handshake(d, BUILT_IN, &why);
        for (size_t k = 0; r == MCPLUG_OK && !record && k < d->n_features; k++) {
            struct mcplug_feature f = mp_plugin_feature(d, k);
            if (serves(&f, want))
                r = admit(cat, d, NULL, &record, &why);
        }
        if (record)
            *out = offer_of(&record->plugin, want);
        r = pass_over(cat, r, &why);
    }
    return r;
}

static int try_file(struct mp_catalogue *cat, const char *file, const struct want *want,
                    const struct mp_offer **out, struct mcplug_error *why)
{
    const struct mp_plugin *plugin = NULL;
    int r = mp_catalogue_load(cat, file, &plugin, why);
    if (r == MCPLUG_OK)
        *out = offer_of(plugin, want);
    return pass_over(cat, r, why);
}

/* What a file is called that is named after `what`. */
static void name_file(const char *what, char name[WANT_MAX + sizeof ".so"])
{
    for (const char *p = what; *p; p++) {
        bool upper = *p >= 'A' && *p <= 'Z', lower = *p >= 'a' && *p <= 'z';
        bool digit = *p >= '0' && *p <= '9';
        *name++ = upper ? (char)(*p | 0x20) : lower || digit ? *p : '-';
    }
    strcpy(name, ".so");
}

/* The file or link named after what is wanted. `why` gets the first refusal. */
static int try_named(struct mp_catalogue *cat, const struct want *want,
                     const struct mp_offer **out, struct mcplug_error *why)
{
    char name[WANT_MAX + sizeof ".so"];
    int r = MCPLUG_OK;

    name_file(want->name, name);
    for (size_t i = 0; r == MCPLUG_OK && !*out && i < cat->n_dirs; i++) {
        struct mcplug_error this = MCPLUG_ERROR_INIT;
        char *file = mp_path_join(cat->dirs[i], name);
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

/* Every other file that could offer it. `files` gets all there are. */
static int try_others(struct mp_catalogue *cat, const struct want *want,
                      struct files *files, const struct mp_offer **out)
{
    int r = find_files(cat, files);

    for (size_t i = 0; r == MCPLUG_OK && !*out && i < files->n; i++) {
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        const struct found *f = &files->list[i];
        if (!f->again && mp_plugin_file_mentions(f->path, want->name))
            r = try_file(cat, f->path, want, out, &why);
    }
    return r;
}

/* ---- not finding ---- */

struct brings {
    const struct want *want;
    char *package; /* give; NULL: not known */
};

static bool note_package(void *arg, const struct mp_packaged *one)
{
    struct brings *b = arg;
    uint32_t kind = b->want->kind;
    bool is_kind = kind == MP_TYPE
                       ? strcmp(one->kind, mp_kind_name(MCPLUG_TRANSPORT)) == 0 ||
                             strcmp(one->kind, mp_kind_name(MCPLUG_LOCATOR)) == 0
                       : strcmp(one->kind, mp_kind_name(kind)) == 0;

    if (is_kind && strcmp(one->name, b->want->name) == 0)
        b->package = mp_strdup(one->package);
    return !b->package;
}

static const char *nearest(const struct mp_catalogue *cat, const struct want *want,
                           const struct files *files)
{
    const char *best = NULL;

    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->list[i].name, want->name) != 0)
            mp_nearest(want->name, files->list[i].name, &best);
    for (size_t i = 0; i < cat->n; i++)
        for (size_t j = 0; j < cat->records[i]->n_offers; j++)
            if (is_of_kind(&cat->records[i]->offers[j].feature, want))
                mp_nearest(want->name, cat->records[i]->offers[j].feature.name, &best);
    return best;
}

static int fail_nobody(const struct mp_catalogue *cat, const struct want *want,
                       const struct files *files, const struct mcplug_error *why,
                       struct mcplug_error *err)
{
    struct mp_str text;
    struct brings by = {.want = want};
    const char *near = NULL;

    if (!why->code)
        mp_packages_each(cat->packages, note_package, &by);
    mp_str_init(&text, 65536);
    mp_str_addf(&text, "no module offers %s %s%s\"%.64s\"", want->accepts ? "a" : "the",
                want->kind == MP_TYPE ? "transport" : mp_kind_name(want->kind),
                want->accepts ? " for " : " ", want->name);
    if (why->code)
        mp_str_addf(&text, ": %s", why->text);
    else if (by.package)
        mp_str_addf(&text, ": it comes with the package %.64s", by.package);
    else if (!want->accepts && (near = nearest(cat, want, files)))
        mp_str_addf(&text, "; did you mean \"%s\"?", near);
    if (!why->code) {
        for (size_t i = 0; i < cat->n_dirs; i++)
            mp_str_addf(&text, "%s%s", i ? ", " : " (searched: ", cat->dirs[i]);
        mp_str_addc(&text, ')');
    }
    int r = text.failed
                ? mp_fail(err, MCPLUG_ENOTSUP, "no module offers \"%.64s\"", want->name)
                : mp_fail(err, MCPLUG_ENOTSUP, "%s", text.data);
    mp_str_clear(&text);
    mp_free(by.package);
    return r;
}

static int seek(struct mp_catalogue *cat, const struct want *want,
                const struct mp_offer **out, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct files files = {0};
    const struct mp_offer *offer = NULL;
    int r = MCPLUG_OK;

    for (size_t i = 0; !offer && i < cat->n; i++)
        offer = offer_of(&cat->records[i]->plugin, want);
    if (!offer && *want->name && strlen(want->name) <= WANT_MAX) {
        r = try_builtins(cat, want, &offer);
        if (r == MCPLUG_OK)
            r = try_named(cat, want, &offer, &why);
        if (r == MCPLUG_OK && !offer)
            r = try_others(cat, want, &files, &offer);
    }
    if (r != MCPLUG_OK)
        mp_fail_nomem(err);
    else if (!offer)
        r = fail_nobody(cat, want, &files, &why, err);
    else
        *out = offer;
    files_clear(&files);
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

/* ---- files that are not loaded here ---- */

/* Is it the file that is named after `what`? */
static bool is_named(const struct found *f, const char *name)
{
    return strncmp(f->name, name, strlen(name) - 3) == 0 &&
           strlen(f->name) == strlen(name) - 3;
}

static bool came_before(const struct files *files, size_t i, const bool *given)
{
    for (size_t k = 0; k < files->n; k++)
        if (given[k] && files->list[k].dev == files->list[i].dev &&
            files->list[k].ino == files->list[i].ino)
            return true;
    return false;
}

int mp_catalogue_files(const struct mp_catalogue *cat, const char *what,
                       bool (*fn)(void *arg, const char *file), void *arg)
{
    char name[WANT_MAX + sizeof ".so"];
    struct files files = {0};
    bool more = strlen(what) <= WANT_MAX;

    int r = find_files(cat, &files);
    bool *given = r == MCPLUG_OK ? mp_alloc(files.n + 1) : NULL;
    if (!given)
        r = MCPLUG_ENOMEM;
    if (more)
        name_file(what, name);
    for (int named = 1; named >= 0; named--) {
        for (size_t i = 0; r == MCPLUG_OK && more && i < files.n; i++) {
            const struct found *f = &files.list[i];
            if (is_named(f, name) != named || came_before(&files, i, given) ||
                (!named && !mp_plugin_file_mentions(f->path, what)))
                continue;
            char *real = realpath(f->path, NULL);
            given[i] = true;
            if (real)
                more = fn(arg, real);
            free(real);
        }
    }
    mp_free(given);
    files_clear(&files);
    return r;
}

int mp_catalogue_lacks(const struct mp_catalogue *cat, uint32_t kind, const char *what,
                       struct mcplug_error *err)
{
    const struct mcplug_error no_reason = MCPLUG_ERROR_INIT;
    return fail_nobody(cat, &(struct want){kind, what, true}, &(struct files){0},
                       &no_reason, err);
}

const char *mp_catalogue_helper_dir(const struct mp_catalogue *cat)
{
    return cat->helper_dir;
}

/* ---- services ---- */

static struct record *record_of(const struct mp_catalogue *cat, const mcplug_self *self)
{
    for (struct record *l = cat->loading; l; l = l->outer)
        if (l->plugin.self == self)
            return l;
    for (size_t i = 0; i < cat->n; i++)
        if (cat->records[i]->plugin.self == self)
            return cat->records[i];
    return NULL;
}

/* Does `from` use `to`, by way of others perhaps? There are no cycles so far. */
static bool leads_to(const struct record *from, const struct record *to)
{
    bool leads = from == to;
    for (size_t i = 0; !leads && i < from->n_uses; i++)
        leads = leads_to(from->uses[i], to);
    return leads;
}

static int note_use(struct record *user, struct record *provider,
                    struct mcplug_error *err)
{
    const char *name = provider->plugin.descriptor->name;

    for (size_t i = 0; i < user->n_uses; i++)
        if (user->uses[i] == provider)
            return MCPLUG_OK;
    if (leads_to(provider, user))
        return mp_fail(err, MCPLUG_EINVAL, "the modules \"%s\" and \"%s\" use each other",
                       user->plugin.descriptor->name, name);
    struct record **uses = mp_resize(user->uses, (user->n_uses + 1) * sizeof *uses);
    if (!uses)
        return mp_fail_nomem(err);
    user->uses = uses;
    user->uses[user->n_uses++] = provider;
    return MCPLUG_OK;
}

const void *mp_catalogue_use(struct mp_catalogue *cat, mcplug_self *self,
                             const char *name, uint32_t version, void **ctx,
                             struct mcplug_error *err)
{
    struct record *user = cat ? record_of(cat, self) : NULL;
    const struct mp_offer *offer;

    if (!user || !name || !ctx) {
        mp_fail(err, MCPLUG_EINVAL, "no service can be used here");
        return NULL;
    }
    if (seek(cat, &(struct want){MCPLUG_SERVICE, name, false}, &offer, err) != MCPLUG_OK)
        return NULL;
    if (offer->feature.version < version) {
        mp_fail(err, MCPLUG_ENOTSUP,
                "\"%s\" needs version %u of the service \"%s\", module \"%s\" has %u",
                user->plugin.descriptor->name, (unsigned)version, name,
                offer->plugin->descriptor->name, (unsigned)offer->feature.version);
        return NULL;
    }
    if (note_use(user, MP_OF(offer->plugin, struct record, plugin), err) != MCPLUG_OK)
        return NULL;
    *ctx = offer->plugin->ctx;
    return offer->feature.ops;
}

void mp_catalogue_leave(const struct mp_offer *offer)
{
    MP_OF(offer->plugin, struct record, plugin)->is_left = true;
}
