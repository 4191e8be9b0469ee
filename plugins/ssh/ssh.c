/* ssh: a server on another machine, started there by ssh and spoken with over the
 * connection's stdin and stdout. This is a locator: it writes the command line, and the
 * transport stdio runs it.
 *
 * The far side gets one text, which the user's login shell there reads. So every word is
 * quoted as POSIX shells want it, and comes out as it was, whatever bytes it has. */
#include <mcplug/plugin.h>

#include "../common/command_line.h"

#include <stdio.h>
#include <string.h>

enum {
    HOST_MAX_BYTES = 512,
    LINE_MAX_BYTES = 60 << 10 /* of the text for the far side; the core takes 64 KiB */
};

struct module {
    const struct mcplug_host *host;
};

/* ---- the text for the far side ---- */

struct text {
    char *at, *end; /* one byte before the end is for the NUL */
    int full;
};

static void put(struct text *t, const char *bytes, size_t len)
{
    if (len >= (size_t)(t->end - t->at)) {
        t->full = 1;
        return;
    }
    memcpy(t->at, bytes, len);
    t->at += len;
    *t->at = '\0';
}

static void puts_to(struct text *t, const char *words)
{
    put(t, words, strlen(words));
}

/* Quoted where a shell could see anything but letters in it. */
static void put_quoted(struct text *t, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+:,./@%-";

    if (*word && !word[strspn(word, plain)]) {
        puts_to(t, word);
        return;
    }
    puts_to(t, "'");
    for (size_t n; *word; word += n) {
        n = strcspn(word, "'");
        put(t, word, n);
        if (word[n] == '\'') {
            puts_to(t, "'\\''");
            n++;
        }
    }
    puts_to(t, "'");
}

static void put_word(struct text *t, const char *word)
{
    puts_to(t, " ");
    put_quoted(t, word);
}

/* CDPATH and OLDPWD are not for us: a path that is not absolute begins with a dot. */
static void put_directory(struct text *t, const char *dir)
{
    puts_to(t, dir[0] == '/' ? "cd " : "cd ./");
    put_quoted(t, dir);
    puts_to(t, " && ");
}

/* The shell makes room for the server, so that it is the server that the connection's
 * end concerns. env(1) takes variables of any name, but a command with a = in it for one
 * more; then a shell stands between. */
static void write_line(struct text *t, const struct mcplug_diag *diag,
                       const mcplug_props *settings)
{
    const char *const *args = diag->prop_list(settings, "args");
    const char *const *env = diag->prop_list(settings, "env");
    const char *command = diag->prop(settings, "command");
    const char *cwd = diag->prop(settings, "cwd");

    if (cwd && *cwd)
        put_directory(t, cwd);
    puts_to(t, "exec");
    if (env[0])
        puts_to(t, " env");
    for (size_t i = 0; env[i]; i += 2) {
        put_word(t, env[i]);
        puts_to(t, "=");
        put_quoted(t, env[i + 1]);
    }
    if (env[0] && strchr(command, '='))
        puts_to(t, " sh -c 'exec \"$0\" \"$@\"'");
    put_word(t, command);
    for (size_t i = 0; args[i]; i++)
        put_word(t, args[i]);
}

/* ---- what can't be right ---- */

/* ssh would take it for something else: an option, a URL of its own, two words. */
static const char *host_fault(const char *host)
{
    const char *name = strrchr(host, '@');

    name = name ? name + 1 : host;
    if (!*name || name == host + 1)
        return "is not [USER@]HOST";
    if (host[0] == '-' || name[0] == '-')
        return "begins with a dash";
    if (strlen(host) > HOST_MAX_BYTES)
        return "is too long";
    for (const unsigned char *p = (const unsigned char *)host; *p; p++)
        if (*p <= ' ' || *p == 0x7f || strchr("/\\'\"`$;&|<>(){}*?", *p))
            return "has a character that is not allowed in a host name";
    return NULL;
}

static int check(const struct mcplug_diag *diag, const mcplug_props *settings,
                 struct mcplug_error *err)
{
    const char *const *env = diag->prop_list(settings, "env");
    const char *wrong = host_fault(diag->prop(settings, "host"));
    const char *command = diag->prop(settings, "command");
    const char *program = diag->prop(settings, "program");
    int64_t port = diag->prop_int(settings, "port", 22);

    if (wrong)
        return diag->fail(err, MCPLUG_ECONFIG, "host %s", wrong);
    if (port < 1 || port > 65535)
        return diag->fail(err, MCPLUG_ECONFIG, "port is not from 1 to 65535");
    if (!command[0] || command[0] == '-')
        return diag->fail(err, MCPLUG_ECONFIG, "command %s",
                          command[0] ? "begins with a dash" : "is empty");
    if (!program || !program[0])
        return diag->fail(err, MCPLUG_ECONFIG, "program is empty");
    for (size_t i = 0; env[i]; i += 2)
        if (!env[i][0] || env[i][0] == '-' || strchr(env[i], '='))
            return diag->fail(err, MCPLUG_ECONFIG, "env: \"%.64s\" is not a name",
                              env[i]);
    return MCPLUG_OK;
}

/* ---- the answer ---- */

/* ssh keeps the first value of an option, so BatchMode is before the user's own: there
 * is nobody to ask. ControlMaster is behind them, and before that of the configuration:
 * a master would stay when the server has ended, unless somebody wants just that. */
static int answer(const struct mcplug_host *host, const mcplug_props *settings,
                  const char *line, mcplug_place *place)
{
    static const char *const batch[] = {"-T", "-o", "BatchMode=yes", NULL};
    const struct mcplug_diag *diag = host->diag;
    const struct mcplug_place_ops *ops = host->place;
    const char *const *more = diag->prop_list(settings, "sshOptions");
    const char *name = diag->prop(settings, "host");
    const char *const last[] = {"-o", "ControlMaster=no", "--", name, line, NULL};
    int64_t port = diag->prop_int(settings, "port", 0);
    char digits[24] = "";

    if (port)
        snprintf(digits, sizeof digits, "%lld", (long long)port);
    int r = ops->transport(place, "stdio");
    if (r == MCPLUG_OK)
        r = ops->set(place, "command", diag->prop(settings, "program"));
    if (r == MCPLUG_OK)
        r = command_line_add(ops, place, batch);
    if (r == MCPLUG_OK)
        r = command_line_add_option(ops, place, "-p", digits);
    if (r == MCPLUG_OK)
        r = command_line_add_option(ops, place, "-i",
                                    diag->prop(settings, "identityFile"));
    for (size_t i = 0; r == MCPLUG_OK && more[i]; i++)
        r = command_line_add_option(ops, place, "-o", more[i]);
    if (r == MCPLUG_OK)
        r = command_line_add(ops, place, last);
    return r == MCPLUG_OK ? ops->fact(place, "host", name) : r;
}

static int ssh_locate(void *ctx, const mcplug_props *settings, mcplug_place *place,
                      struct mcplug_error *err)
{
    const struct mcplug_host *host = ((const struct module *)ctx)->host;
    char *line = NULL;
    int r = check(host->diag, settings, err);

    if (r == MCPLUG_OK && !(line = host->mem->alloc(LINE_MAX_BYTES)))
        r = host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (r == MCPLUG_OK) {
        struct text t = {line, line + LINE_MAX_BYTES, 0};
        write_line(&t, host->diag, settings);
        r = t.full ? host->diag->fail(err, MCPLUG_ECONFIG,
                                      "command, args, env and cwd are more than %d KiB",
                                      LINE_MAX_BYTES >> 10)
                   : answer(host, settings, line, place);
    }
    if (line)
        explicit_bzero(line, LINE_MAX_BYTES); /* variables may be secrets */
    host->mem->free(line);
    return r;
}

/* ---- the module ---- */

static int ssh_init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
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

static void ssh_fini(void *ctx)
{
    struct module *module = ctx;
    module->host->mem->free(module);
}

static const struct mcplug_option options[] = {
    {"host", "string", NULL, "[USER@]HOST, or a name of ssh's configuration"},
    {"port", "int", "", "1 to 65535; by default that of ssh"},
    {"command", "string", NULL, "program to run there"},
    {"args", "list", NULL, "its arguments"},
    {"env", "map", NULL, "its environment variables; visible in process lists"},
    {"cwd", "string", "",
     "directory on that machine to run it in; by default the user's home"},
    {"identityFile", "string", "", "the private key to use (ssh -i)"},
    {"sshOptions", "list", NULL, "more options, such as ConnectTimeout=5 (ssh -o)"},
    {"program", "string", "ssh", "the ssh client, looked for in PATH"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_locator_ops ops = {sizeof ops, 0, ssh_locate};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_LOCATOR,
        .name = "ssh",
        .summary = "a program on another machine, by ssh",
        .options = options,
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(ssh) = {
    MCPLUG_HEAD(4),   MCPLUG_FEATURES(features),
    .name = "ssh",    .version = "1.0",
    .license = "MIT", .summary = "Servers on other machines, by ssh",
    .init = ssh_init, .fini = ssh_fini,
};
