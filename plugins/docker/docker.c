/* docker: a server in a container of its own, which docker or podman runs. This is a
 * locator: it writes the command line, and the transport stdio runs it.
 *
 * The container is no child of the client, so it would outlive a client that is killed.
 * It has a name of ours, therefore, and the clean-up command, which runs whatever ends
 * the host, removes it. Each start has another name, for the clean-up of the one before
 * may still run: stdio puts it in. */
#include <mcplug/plugin.h>

#include "../common/command_line.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct module {
    const struct mcplug_host *host;
};

/* ---- the program ---- */

static int is_program(const char *dir, size_t len, const char *name)
{
    char path[4096];
    struct stat st;
    int n =
        snprintf(path, sizeof path, "%.*s/%s", len ? (int)len : 1, len ? dir : ".", name);

    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 &&
           S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int is_in_path(const char *name)
{
    const char *path = getenv("PATH");

    for (size_t n; path; path = path[n] ? path + n + 1 : NULL) {
        n = strcspn(path, ":");
        if (is_program(path, n, name))
            return 1;
    }
    return 0;
}

/* NULL: none is there */
static const char *program_of(const struct mcplug_diag *diag,
                              const mcplug_props *settings)
{
    const char *program = diag->prop(settings, "program");

    if (program && *program)
        return program;
    return is_in_path("docker") ? "docker" : is_in_path("podman") ? "podman" : NULL;
}

static int is_podman(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strcmp(slash ? slash + 1 : program, "podman") == 0;
}

/* ---- what can't be right ---- */

/* SRC:DST[:OPTIONS] */
static int is_mount(const char *text)
{
    const char *colon = strchr(text, ':');
    return text[0] != '-' && colon && colon != text && colon[1] && colon[1] != ':';
}

/* Each has to be one word: what stands alone would be taken for the image. */
static const char *run_arg_fault(const char *word)
{
    if (word[0] != '-' || !word[1] || strcmp(word, "--") == 0)
        return "is not an option; write --NAME=VALUE as one word";
    if (strcmp(word, "--name") == 0 || strncmp(word, "--name=", 7) == 0)
        return "would keep the container from being cleaned up";
    return NULL;
}

static int check(const struct mcplug_diag *diag, const mcplug_props *settings,
                 struct mcplug_error *err)
{
    const char *image = diag->prop(settings, "image"), *wrong;
    const char *const *env = diag->prop_list(settings, "env");
    const char *const *mounts = diag->prop_list(settings, "mounts");
    const char *const *more = diag->prop_list(settings, "runArgs");

    if (!image[0] || image[0] == '-')
        return diag->fail(err, MCPLUG_ECONFIG, "image %s",
                          image[0] ? "begins with a dash" : "is empty");
    for (const unsigned char *p = (const unsigned char *)image; *p; p++)
        if (*p <= ' ' || *p == 0x7f)
            return diag->fail(err, MCPLUG_ECONFIG, "image contains a blank");
    for (size_t i = 0; env[i]; i += 2)
        if (!env[i][0] || strchr(env[i], '='))
            return diag->fail(err, MCPLUG_ECONFIG, "env: \"%.64s\" is not a name",
                              env[i]);
    for (size_t i = 0; mounts[i]; i++)
        if (!is_mount(mounts[i]))
            return diag->fail(err, MCPLUG_ECONFIG,
                              "mounts: \"%.200s\" is not SRC:DST or SRC:DST:ro",
                              mounts[i]);
    for (size_t i = 0; more[i]; i++)
        if ((wrong = run_arg_fault(more[i])))
            return diag->fail(err, MCPLUG_ECONFIG, "runArgs: \"%.64s\" %s", more[i],
                              wrong);
    return MCPLUG_OK;
}

/* ---- the answer ---- */

/* Would the client itself heed it? A proxy with a password is a secret first. */
static int is_for_client(const char *name, const char *value)
{
    static const char *const names[] = {"PATH",      "HOME",       "TMPDIR",   "LD_*",
                                        "DOCKER_*",  "CONTAINER*", "PODMAN_*", "XDG_*",
                                        "BUILDKIT*", "STORAGE_*",  "GODEBUG",  "SSH_*",
                                        "SSL_CERT_*"};

    if (fnmatch("*_PROXY", name, FNM_CASEFOLD) == 0)
        return strchr(value, '@') == NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (fnmatch(names[i], name, 0) == 0)
            return 1;
    return 0;
}

/* Only the name stands on the command line, which everybody can read, and the client
 * takes the value from its own environment: it may be a secret. Those that the client
 * would heed itself are none, and are for the container alone; but for a proxy with a
 * password, which the client has as well then. */
static int add_variable(const struct mcplug_host *host, mcplug_place *place,
                        const char *name, const char *value, struct mcplug_error *err)
{
    const struct mcplug_place_ops *ops = host->place;

    if (!is_for_client(name, value)) {
        int r = ops->put(place, "env", name, value);
        return r == MCPLUG_OK ? command_line_add_option(ops, place, "-e", name) : r;
    }
    size_t size = strlen(name) + strlen(value) + 2;
    char *pair = host->mem->alloc(size);
    if (!pair)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    snprintf(pair, size, "%s=%s", name, value);
    int r = command_line_add_option(ops, place, "-e", pair);
    host->mem->free(pair);
    return r;
}

static int add_options(const struct mcplug_host *host, const mcplug_props *settings,
                       mcplug_place *place, struct mcplug_error *err)
{
    const struct mcplug_diag *diag = host->diag;
    const struct mcplug_place_ops *ops = host->place;
    const char *const *env = diag->prop_list(settings, "env");
    const char *const *mounts = diag->prop_list(settings, "mounts");
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && env[i]; i += 2)
        r = add_variable(host, place, env[i], env[i + 1], err);
    for (size_t i = 0; r == MCPLUG_OK && mounts[i]; i++)
        r = command_line_add_option(ops, place, "-v", mounts[i]);
    if (r == MCPLUG_OK)
        r = command_line_add_option(ops, place, "--network",
                                    diag->prop(settings, "network"));
    return r == MCPLUG_OK
               ? command_line_add(ops, place, diag->prop_list(settings, "runArgs"))
               : r;
}

static int answer(const struct mcplug_host *host, const mcplug_props *settings,
                  const char *program, mcplug_place *place, struct mcplug_error *err)
{
    static const char name[] = "mcplug-XXXXXXXXXXXXXXXX";
    const struct mcplug_diag *diag = host->diag;
    const struct mcplug_place_ops *ops = host->place;
    const char *const first[] = {"run", "-i", "--rm", "--init", "--name", name, NULL};
    const char *const last[] = {"--", diag->prop(settings, "image"), NULL};
    /* podman would wait ten seconds for it, which is all that a clean-up has */
    const char *const clean_up[] = {program,
                                    "rm",
                                    "-f",
                                    is_podman(program) ? "--time=0" : name,
                                    is_podman(program) ? name : NULL,
                                    NULL};

    int r = ops->transport(place, "stdio");
    if (r == MCPLUG_OK)
        r = ops->set(place, "command", program);
    if (r == MCPLUG_OK)
        r = command_line_add(ops, place, first);
    if (r == MCPLUG_OK)
        r = add_options(host, settings, place, err);
    if (r == MCPLUG_OK)
        r = command_line_add(ops, place, last);
    if (r == MCPLUG_OK)
        r = command_line_add(ops, place, diag->prop_list(settings, "args"));
    if (r == MCPLUG_OK)
        r = ops->clean_up(place, clean_up);
    return r == MCPLUG_OK ? ops->set(place, "instance", name) : r;
}

static int docker_locate(void *ctx, const mcplug_props *settings, mcplug_place *place,
                         struct mcplug_error *err)
{
    const struct mcplug_host *host = ((const struct module *)ctx)->host;
    const char *program = program_of(host->diag, settings);
    int r = check(host->diag, settings, err);

    if (r != MCPLUG_OK)
        return r;
    if (!program)
        return host->diag->fail(
            err, MCPLUG_EREFUSED,
            "neither docker nor podman is in PATH; set \"program\" to another one");
    return answer(host, settings, program, place, err);
}

/* ---- the module ---- */

static int docker_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                       struct mcplug_error *err)
{
    struct module *module = host->mem->alloc(sizeof *module);
    (void)self;
    if (!module)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    module->host = host;
    *ctx = module;
    return MCPLUG_OK;
}

static void docker_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

static const struct mcplug_option options[] = {
    {"image", "string", NULL, "the image to run"},
    {"args", "list", NULL, "arguments of the program in the image"},
    {"env", "map", NULL, "environment variables of the container"},
    {"mounts", "list", NULL, "directories and volumes: SRC:DST or SRC:DST:ro"},
    {"network", "string", "",
     "the network to join, such as none; by default that of the program"},
    {"runArgs", "list", NULL, "more options of `run`, such as --memory=1g"},
    {"program", "string", "", "docker, podman, or a path; by default the first in PATH"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_locator_ops ops = {sizeof ops, 0, docker_locate};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_LOCATOR,
        .name = "docker",
        .summary = "a container, run by docker or podman",
        .options = options,
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(docker) = {
    MCPLUG_HEAD(4),      MCPLUG_FEATURES(features), .name = "docker",
    .version = "1.0",    .license = "MIT",          .summary = "Servers in containers",
    .init = docker_init, .fini = docker_fini,
};
