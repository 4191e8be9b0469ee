/* What is installed: versions, modules, the helper. */
#include "cli/doctor/doctor.h"
#include "cli/base/by_name.h"

#include "base/mem.h"
#include "cli/base/child.h"
#include "cli/base/modules.h"
#include "cli/base/packages.h"

#include <mcplug/admin.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *get(const json_t *object, const char *name)
{
    const char *s = json_string_value(json_object_get(object, name));
    return s ? s : "";
}

/* ---- features ---- */

static bool accepts(const json_t *feature, const char *scheme)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(feature, "accepts"), i, one)
    {
        const char *text = json_string_value(one);
        if (text && strcasecmp(text, scheme) == 0)
            return true;
    }
    return false;
}

const json_t *cli_doctor_feature(const struct cli_doctor *d, const char *kind,
                                 const char *name, const char *scheme)
{
    size_t i, k;
    json_t *module, *feature;
    json_array_foreach(d->modules, i, module)
    {
        if (json_object_get(module, "error"))
            continue;
        json_array_foreach(json_object_get(module, "features"), k, feature)
        {
            if (strcmp(get(feature, "kind"), kind) == 0 &&
                (name ? strcmp(get(feature, "name"), name) == 0
                      : accepts(feature, scheme)))
                return feature;
        }
    }
    return NULL;
}

/* ---- modules ---- */

static bool is_deadly(const json_t *module)
{
    const char *state = get(module, "state");
    return strcmp(state, "crashed") == 0 || strcmp(state, "stuck") == 0;
}

void cli_doctor_gather(struct cli_doctor *d)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t i;
    json_t *module;

    d->packages = cli_packages();
    d->failed = d->failed || !d->packages;
    d->modules = cli_modules_find(d->cli, &err);
    d->loadable = d->modules != NULL;
    json_array_foreach(d->modules, i, module)
    {
        d->loadable = d->loadable && !is_deadly(module);
    }
}

/* What mends it, as far as the reason tells. */
static void advise(struct cli_doctor *d, const json_t *module)
{
    const char *why = get(module, "error"), *file = get(module, "file");

    if (is_deadly(module))
        cli_doctor_todo(d, "Remove %s: it crashes every program that loads it.", file);
    else if (strstr(why, "it is writable by users other"))
        cli_doctor_todo(d, "chmod go-w %s", file);
    else if (strstr(why, "is writable by users other"))
        cli_doctor_todo(d, "Run chmod go-w on that directory.");
    else if (strstr(why, "belongs to user"))
        cli_doctor_todo(d, "Modules and all directories above them must belong to root "
                           "or to you; change the owner with chown.");
    else if (strstr(why, "ABI"))
        cli_doctor_todo(d, "Install the version that was built for mcplug %s.",
                        mcplug_version());
    else if (strstr(why, "modules.allow"))
        cli_doctor_todo(d,
                        "Ask the administrator to add it to the list of allowed modules; "
                        "`mcplug plugins --json` shows its name and SHA-256.");
    else
        cli_doctor_todo(d, "Reinstall it, or remove the file.");
}

static void note_refused(struct cli_doctor *d)
{
    size_t i;
    json_t *module;
    json_array_foreach(d->modules, i, module)
    {
        const char *why = get(module, "error");
        /* what the administrator keeps out is out as it should be */
        bool meant = strstr(why, "is not in ") && strstr(why, "modules.allow");
        if (!*why)
            continue;
        cli_doctor_note(d, meant ? CLI_DOUBTFUL : CLI_WRONG, "modules", "%s", why);
        advise(d, module);
    }
}

/* Adds to "A, B". */
static void list_add(struct mp_str *list, const char *name)
{
    mp_str_adds(list, list->len ? ", " : "");
    mp_str_adds(list, name);
}

/* Is there a file NAME.so that can't be used? */
static bool is_refused(const struct cli_doctor *d, const char *name)
{
    size_t i, len = strlen(name);
    json_t *module;
    json_array_foreach(d->modules, i, module)
    {
        const char *file = get(module, "file"), *base = strrchr(file, '/');
        if (base && strncmp(base + 1, name, len) == 0 &&
            strcmp(base + 1 + len, ".so") == 0 && json_object_get(module, "error"))
            return true;
    }
    return false;
}

/* Is something of that package there, usable or not? Its last word is mostly the name of
 * the file. `names` gets what it would bring. */
static bool is_there(const struct cli_doctor *d, const char *package,
                     struct mp_str *names)
{
    const char *last = strrchr(package, '-');
    bool there = is_refused(d, last ? last + 1 : package);
    size_t i;
    json_t *one;

    json_array_foreach(d->packages, i, one)
    {
        const char *name = get(one, "name");
        if (strcmp(get(one, "package"), package) != 0 || !*get(one, "summary"))
            continue;
        there = there || cli_doctor_feature(d, get(one, "kind"), name, NULL) ||
                is_refused(d, name);
        list_add(names, name);
    }
    return there;
}

/* The first line of the list with that package? */
static bool is_first(const struct cli_doctor *d, size_t at)
{
    const char *package = get(json_array_get(d->packages, at), "package");
    for (size_t i = 0; i < at; i++)
        if (strcmp(get(json_array_get(d->packages, i), "package"), package) == 0)
            return false;
    return true;
}

static void note_missing(struct cli_doctor *d)
{
    char program[MCPLUG_TYPE_MAX];
    struct mp_str names, packages;
    const char *brings;
    size_t i;
    json_t *one;

    cli_program_type(program);
    brings = cli_package_of(d->packages, "transport", program);
    mp_str_init(&names, 4096);
    mp_str_init(&packages, 4096);
    json_array_foreach(d->packages, i, one)
    {
        const char *package = get(one, "package");
        size_t before = names.len;
        bool is_program = brings && strcmp(package, brings) == 0;
        if (!is_first(d, i))
            continue;
        bool there = is_there(d, package, &names);
        if ((there || is_program) && names.data && names.len > before)
            names.data[names.len = before] = '\0';
        /* who needs one of the others is told where it is needed */
        if (!there && !is_program)
            list_add(&packages, package);
        if (!there && is_program) {
            cli_doctor_note(d, CLI_DOUBTFUL, "modules",
                            "%s is missing, so no server can be a local program",
                            program);
            cli_doctor_todo(d, "Install the package %s.", package);
        }
    }
    if (names.len) {
        cli_doctor_note(d, CLI_HEALTHY, "modules", "not installed: %s", names.data);
        cli_doctor_todo(d, "If you need them, install %s.", packages.data);
    }
    mp_str_clear(&names);
    mp_str_clear(&packages);
}

/* Directories that somebody asked for and that are not there. */
static void note_dirs(struct cli_doctor *d)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = cli_modules_host(d->cli, true, &err);
    mcplug_modules *modules = host ? mcplug_modules_new(host, &err) : NULL;
    const char *dir = modules ? mcplug_modules_dir(modules, 0) : NULL, *next;
    struct stat st;

    /* the last one is the installed one, which may be empty when all is compiled in */
    for (size_t i = 1; dir && (next = mcplug_modules_dir(modules, i)); i++, dir = next) {
        if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
            continue;
        cli_doctor_note(d, CLI_DOUBTFUL, "modules",
                        "%s is searched for modules but is not a directory", dir);
        cli_doctor_todo(d, "Correct MCPLUG_PLUGIN_PATH or --plugin-dir.");
    }
    mcplug_modules_free(modules);
    mcplug_free(host);
}

void cli_doctor_modules(struct cli_doctor *d)
{
    struct mp_str names;
    size_t i;
    json_t *module;

    if (!d->modules) {
        cli_doctor_note(d, CLI_WRONG, "modules", "could not be listed");
        return;
    }
    mp_str_init(&names, 2048);
    json_array_foreach(d->modules, i, module)
    {
        if (json_object_get(module, "error"))
            continue;
        list_add(&names, get(module, "name"));
        mp_str_addf(&names, " %s", get(module, "version"));
        if (strcmp(get(module, "state"), "built in") == 0)
            mp_str_adds(&names, " (built in)");
    }
    if (names.len)
        cli_doctor_note(d, CLI_HEALTHY, "modules", "%s", names.data);
    mp_str_clear(&names);
    note_refused(d);
    note_dirs(d);
    note_missing(d);
}

/* ---- versions ---- */

static void add_version(struct cli_doctor *d, const char *name, const char *value)
{
    struct cli_version *v = &d->versions[d->n_versions];
    if (!value || d->n_versions == CLI_VERSIONS)
        return;
    snprintf(v->name, sizeof v->name, "%s", name);
    snprintf(v->value, sizeof v->value, "%s", value);
    d->n_versions++;
}

struct sought {
    const char *begins; /* "libcurl" */
    char *path;
};

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct sought *s = arg;
    const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (base && strncmp(base + 1, s->begins, strlen(s->begins)) == 0)
        s->path = mp_strdup(info->dlpi_name);
    return s->path != NULL;
}

/* A library that is mapped already; its version is in its name, which differs. Nothing is
 * loaded. give: dlclose; NULL: it is not there. `path`, give, may be NULL. */
static void *mapped(const char *begins, char **path)
{
    struct sought s = {begins, NULL};
    dl_iterate_phdr(on_object, &s);
    void *library = s.path ? dlopen(s.path, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    if (path && library)
        *path = mp_move(&s.path);
    mp_free(s.path);
    return library;
}

/* Of "libcurl/7.88.1 OpenSSL/3.0.19 zlib/1.2.13 ..": "7.88.1 (OpenSSL/3.0.19, ..)". */
static void add_curl(struct cli_doctor *d, const char *whole)
{
    static const char *const wanted[] = {
        "OpenSSL/", "(OpenSSL/", "GnuTLS/",     "(GnuTLS/",  "LibreSSL/", "BoringSSL",
        "quictls/", "AWS-LC/",   "mbedTLS/",    "(mbedTLS/", "wolfSSL/",  "(wolfSSL/",
        "Schannel", "NSS/",      "rustls-ffi/", "nghttp2/"};
    struct mp_str text;
    size_t n = 0;

    mp_str_init(&text, 256);
    for (const char *at = whole; *at;) {
        size_t len = strcspn(at, " ");
        if (at == whole) {
            const char *slash = memchr(at, '/', len);
            slash = slash ? slash + 1 : at;
            mp_str_add(&text, slash, (size_t)(at + len - slash));
        }
        for (size_t i = 0; at != whole && i < MP_COUNT(wanted); i++)
            if (strncmp(at, wanted[i], strlen(wanted[i])) == 0)
                mp_str_addf(&text, "%s%.*s", n++ ? ", " : " (", (int)len, at);
        at += len + strspn(at + len, " ");
    }
    mp_str_adds(&text, n ? ")" : "");
    add_version(d, "libcurl", text.failed ? whole : text.data);
    mp_str_clear(&text);
}

/* Asks the libraries that modules brought along. The functions are looked for by name,
 * for the command itself is linked with none of them. */
static void ask_libraries(struct cli_doctor *d)
{
    const char *(*no_arg)(void);
    const char *(*one_arg)(int);
    char *path = NULL;
    void *curl = mapped("libcurl", NULL), *lws = mapped("libwebsockets", NULL);
    void *crypto = mapped("libcrypto.", NULL), *secret = mapped("libsecret-1.", &path);

    if (curl && (*(void **)&no_arg = dlsym(curl, "curl_version")))
        add_curl(d, no_arg());
    if (lws && (*(void **)&no_arg = dlsym(lws, "lws_get_library_version"))) {
        const char *text = no_arg(); /* "4.1.6-v4.1.6", or with nothing behind the - */
        char shown[64];
        snprintf(shown, sizeof shown, "%.*s", (int)strcspn(text, "-"), text);
        add_version(d, "libwebsockets", shown);
    }
    if (crypto && (*(void **)&one_arg = dlsym(crypto, "OpenSSL_version"))) {
        const char *text = one_arg(0); /* "OpenSSL 3.0.19 1 Jan 2026" */
        const char *number = text ? strchr(text, ' ') : NULL;
        char shown[64];
        snprintf(shown, sizeof shown, "%.*s", number ? (int)strcspn(number + 1, " ") : 0,
                 number ? number + 1 : "");
        add_version(d, "OpenSSL", *shown ? shown : text);
    }
    if (secret) { /* it can't tell: the file's name has to */
        char *real = realpath(path, NULL), *base = real ? strrchr(real, '/') : NULL;
        add_version(d, "libsecret", base ? base + 1 : path);
        free(real);
    }
    mp_free(path);
    void *all[] = {curl, lws, crypto, secret};
    for (size_t i = 0; i < MP_COUNT(all); i++)
        if (all[i])
            dlclose(all[i]);
}

/* Of one of our packages? Others may do anything when they are loaded. */
static bool is_ours(const struct cli_doctor *d, const json_t *module)
{
    size_t i;
    json_t *feature;
    json_array_foreach(json_object_get(module, "features"), i, feature)
    {
        if (cli_package_of(d->packages, get(feature, "kind"), get(feature, "name")))
            return true;
    }
    return false;
}

/* Does the file name a library that ask_libraries() asks? Others need not be loaded. */
static bool brings_libraries(const char *file)
{
    static const char *const asked[] = {"libcurl", "libwebsockets", "libcrypto.",
                                        "libsecret-1."};
    bool brings = false;
    struct stat st;
    int fd = *file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    void *text = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
        text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    for (size_t i = 0; text != MAP_FAILED && i < MP_COUNT(asked); i++)
        brings = brings ||
                 memmem(text, (size_t)st.st_size, asked[i], strlen(asked[i])) != NULL;
    if (text != MAP_FAILED)
        munmap(text, (size_t)st.st_size);
    if (fd >= 0)
        close(fd);
    return brings;
}

/* Loads our modules that are there and bring libraries along, with these. */
static void load_libraries(struct cli_doctor *d)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = d->loadable ? cli_modules_host(d->cli, true, &err) : NULL;
    size_t i;
    json_t *module;

    json_array_foreach(host ? d->modules : NULL, i, module)
    {
        const char *file = get(module, "file");
        if (!json_object_get(module, "error") && is_ours(d, module) &&
            brings_libraries(file))
            mcplug_text_free(mcplug_module_describe(host, file, &err));
    }
    ask_libraries(d);
    mcplug_free(host);
}

void cli_doctor_versions(struct cli_doctor *d)
{
    struct utsname system;
    struct mp_str line;

    add_version(d, "mcplug", mcplug_version());
    void *uv = mapped("libuv.", NULL);
    const char *(*uv_version)(void);
    if (uv && (*(void **)&uv_version = dlsym(uv, "uv_version_string")))
        add_version(d, "libuv", uv_version());
    if (uv)
        dlclose(uv);
#if JANSSON_VERSION_HEX >= 0x020d00
    add_version(d, "jansson", jansson_version_str());
#else
    add_version(d, "jansson", JANSSON_VERSION);
#endif
    add_version(d, "glibc", gnu_get_libc_version());
    if (uname(&system) == 0) {
        char kernel[128];
        snprintf(kernel, sizeof kernel, "%.40s %.80s", system.sysname, system.release);
        add_version(d, "kernel", kernel);
    }
    load_libraries(d);
    mp_str_init(&line, 2048);
    for (size_t i = 0; i < d->n_versions; i++) {
        list_add(&line, d->versions[i].name);
        mp_str_addf(&line, " %s", d->versions[i].value);
    }
    cli_doctor_note(d, CLI_HEALTHY, "versions", "%s", line.data ? line.data : "");
    mp_str_clear(&line);
}

/* ---- the helper ---- */

void cli_doctor_helper(struct cli_doctor *d)
{
    char program[MCPLUG_TYPE_MAX];
    const char *package;
    struct stat st;

    cli_program_type(program);
    package = cli_package_of(d->packages, "transport", program);
    if (!cli_doctor_feature(d, "transport", program, NULL))
        return; /* nobody would start it */
    char *path = cli_helper_path("mcplug-reaper");
    if (!path) {
        d->failed = true;
        return;
    }
    if (stat(path, &st) != 0)
        cli_doctor_note(d, CLI_WRONG, "helper",
                        "%s: %s, so no server can be a local program", path,
                        strerror(errno));
    else if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
        cli_doctor_note(d, CLI_WRONG, "helper",
                        "%s cannot be executed, so no server can be a local program",
                        path);
    else
        cli_doctor_note(d, CLI_HEALTHY, "helper", "%s", path);
    if (d->n && d->checks[d->n - 1].health == CLI_WRONG) {
        if (cli_helper_dir_given())
            cli_doctor_todo(d, "Unset MCPLUG_HELPER_PATH, or set it to the directory "
                               "that has mcplug-reaper.");
        else
            cli_doctor_todo(d, "Reinstall %s%s.", package ? "the package " : "mcplug",
                            package ? package : "");
    }
    mp_free(path);
}
