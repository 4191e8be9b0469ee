/* One entry: can what it names be there, and is it wise? */
#include "cli/doctor/doctor.h"

#include "plugins/common/url.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/path.h"
#include "cli/base/packages.h"
#include "cli/base/catalogue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHORT_MS 1000              /* a time below this was meant as seconds */
#define LONG_MS (15 * 60 * 1000LL) /* nobody waits that long for a connection */

struct look {
    struct cli_doctor *d;
    const mcplug_entry *entry;
    struct mcplug_entry_info e;
    mp_view json; /* what it says */
    char about[MCPLUG_NAME_MAX + 16];
    char *dir;    /* what its relative paths are relative to */
    char *masked; /* the entry as it may be shown */
};

/* give: a member as it may be shown. */
static char *shown(const struct look *l, const char *key)
{
    return mp_view_strdup(mp_view_get(mp_text(l->masked), key));
}

/* ---- programs ---- */

/* Where it will run; NULL: here, or it can't be known. give */
static char *working_dir(struct look *l, bool *known)
{
    mp_view cwd = mp_view_get(l->json, "cwd");
    struct stat st;

    *known = true;
    if (!cwd.len)
        return mcplug_scope_info(l->e.scope)->needs_approval ? mp_strdup(l->dir) : NULL;
    char *text = cli_doctor_expand(cwd);
    char *path = text && *text != '/' ? mp_path_join(l->dir, text) : mp_strdup(text);
    *known = path != NULL;
    if (path && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))) {
        char *name = shown(l, "cwd");
        cli_doctor_note(l->d, CLI_WRONG, l->about,
                        "its directory \"%s\" (\"cwd\") does not exist",
                        name ? name : "");
        cli_doctor_todo(l->d, "Create it, or correct %s, line %zu.", l->e.file,
                        l->e.line);
        mp_free(name);
        *known = false;
    }
    mcplug_text_free(text);
    return path;
}

/* Is PATH among the variables that it gets of ours? */
static bool inherits_path(const struct look *l)
{
    mp_view v = mp_view_get(l->json, "inheritEnv");
    char *list = mp_view_strdup(v), *rest = list, *name;
    bool found = !v.len || mp_view_true(v) || (list && strcmp(list, "true") == 0);

    while (!found && (name = strsep(&rest, ", \t")))
        found = strcmp(name, "PATH") == 0;
    mp_free(list);
    return found;
}

static void check_program(struct look *l)
{
    mp_view json = l->json, own = mp_view_path(json, "env/PATH");
    bool known;
    char *dir = working_dir(l, &known);
    char *command = cli_doctor_expand(mp_view_get(json, "command"));
    char *path = own.len ? cli_doctor_expand(own) : NULL, *name = shown(l, "command");

    if (known && command && name && (!own.len || path)) {
        const char *ours = inherits_path(l) ? getenv("PATH") : NULL;
        cli_doctor_program(l->d, &(struct cli_program){.about = l->about,
                                                       .shown = name,
                                                       .file = l->e.file,
                                                       .command = command,
                                                       .path = own.len ? path : ours,
                                                       .dir = dir});
    }
    mp_free(dir);
    mcplug_text_free(command);
    mcplug_text_free(path);
    mp_free(name);
}

/* ---- URLs ---- */

static bool is_web(const char *url)
{
    static const char *const schemes[] = {"http:", "https:", "ws:", "wss:"};
    for (size_t i = 0; i < MP_COUNT(schemes); i++)
        if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

static void check_url(struct look *l, mp_view given)
{
    char *text = cli_doctor_expand(given), *name = shown(l, "url");
    size_t headers = mp_view_count(mp_view_get(l->json, "headers"));
    struct url url;

    if (text && name && is_web(text)) {
        const char *wrong = url_parse(text, &url);
        if (wrong) {
            cli_doctor_note(l->d, CLI_WRONG, l->about, "its URL %s %s", name, wrong);
            cli_doctor_todo(l->d, "Correct %s, line %zu.", l->e.file, l->e.line);
        } else if (!url.secure && headers && !url_is_loopback(&url)) {
            cli_doctor_note(l->d, CLI_DOUBTFUL, l->about,
                            "its headers are sent unencrypted over %s: anyone on the "
                            "network can read them",
                            name);
            cli_doctor_todo(l->d, "Use %s:// if the server supports it.",
                            url.scheme[0] == 'w' ? "wss" : "https");
        }
    }
    mcplug_text_free(text);
    mp_free(name);
}

static void check_insecure(struct look *l)
{
    mp_view v = mp_view_get(l->json, "insecure");
    char *text = mp_view_strdup(v);
    int64_t on = mp_view_true(v);

    if (text)
        mp_option_parse("bool", text, &on);
    mp_free(text);
    if (!on)
        return;
    cli_doctor_note(l->d, CLI_DOUBTFUL, l->about,
                    "accepts any certificate, so anyone can impersonate the server");
    cli_doctor_todo(l->d,
                    "Remove \"insecure\" from %s, line %zu; if the certificate is your "
                    "own, set \"caFile\" to it.",
                    l->e.file, l->e.line);
}

/* ---- times ---- */

static void check_times(struct look *l)
{
    static const char *const names[] = {"connect", "request", "tool"};
    mp_view times = mp_view_get(l->json, "timeouts");

    for (size_t i = 0; i < MP_COUNT(names); i++) {
        mp_view v = mp_view_get(times, names[i]);
        char *text = mp_view_strdup(v);
        int64_t ms = 0;
        bool bare = v.len && !text && mp_view_int(v, &ms);
        if (text)
            mp_option_parse("duration", text, &ms);
        mp_free(text);
        if (ms > 0 && ms < SHORT_MS) {
            cli_doctor_note(l->d, CLI_DOUBTFUL, l->about,
                            "timeouts.%s is %lld ms, less than a second", names[i],
                            (long long)ms);
            if (bare)
                cli_doctor_todo(l->d,
                                "Bare numbers are milliseconds; write \"%llds\" for "
                                "seconds.",
                                (long long)ms);
            else
                cli_doctor_todo(l->d, "Write a longer time, such as \"30s\".");
        } else if (i == 0 && ms > LONG_MS) {
            cli_doctor_note(l->d, CLI_DOUBTFUL, l->about,
                            "timeouts.connect is %lld minutes: mcplug waits that long "
                            "for a server that does not answer",
                            (long long)ms / 60000);
            cli_doctor_todo(l->d, "Write a shorter time, such as \"30s\".");
        }
    }
}

/* ---- how it is kept ---- */

static void check_probe(struct look *l)
{
    char plain[MCPLUG_TYPE_MAX], *name;

    mcplug_entry_probe(l->entry, plain);
    if (!*plain || !l->d->modules || cli_doctor_feature(l->d, "probe", plain, NULL))
        return;
    name = mp_view_strdup(mp_view_get(l->json, "healthProbe"));
    const char *package = cli_package_of(l->d->packages, "probe", plain);
    cli_doctor_note(l->d, CLI_WRONG, l->about,
                    "no module offers its probe \"%s\" (\"healthProbe\")",
                    name ? name : plain);
    mp_free(name);
    if (package)
        cli_doctor_todo(l->d, "Install the package %s.", package);
    else
        cli_doctor_todo(l->d, "Install a module that does, or correct %s, line %zu.",
                        l->e.file, l->e.line);
}

/* Does it stand for a tool of the list? */
static bool is_used(struct look *l, const char *pattern, mp_view tools)
{
    struct mp_walk w = mp_walk_into(tools);
    mp_view item;

    while (mp_walk_element(&w, &item)) {
        char *tool = mp_view_strdup(cli_item_name(item, MCPLUG_TOOLS));
        l->d->failed |= !tool;
        bool fits = !tool || mcplug_tool_matches(pattern, tool);
        mp_free(tool);
        if (fits)
            return true;
    }
    return false;
}

static void check_patterns(struct look *l, const char *key, mp_view tools)
{
    struct mp_walk w = mp_walk_into(mp_view_get(l->json, key));
    mp_view item;

    while (mp_walk_element(&w, &item)) {
        char *pattern = mp_view_strdup(item);
        l->d->failed |= !pattern;
        bool used = !pattern || is_used(l, pattern, tools);
        if (!used)
            cli_doctor_note(
                l->d, CLI_DOUBTFUL, l->about,
                "\"%.128s\" in \"%s\" is not a tool that the server listed last", pattern,
                key);
        mp_free(pattern);
        if (!used)
            cli_doctor_todo(l->d,
                            "`mcplug tools %s --refresh` lists its tools; correct %s.",
                            l->e.name, l->e.file);
    }
}

static void check_upkeep(struct look *l)
{
    mcplug_known *known = mcplug_known_new(l->entry);

    check_probe(l);
    if (known && cli_known_info(known, MCPLUG_TOOLS).whole) {
        mp_view tools = cli_known_items(known, MCPLUG_TOOLS);
        check_patterns(l, "toolsAllowed", tools);
        check_patterns(l, "toolsDenied", tools);
        check_patterns(l, "toolsApproved", tools);
        check_patterns(l, "toolsAsked", tools);
    }
    mcplug_known_free(known);
}

/* ---- the whole ---- */

void cli_doctor_entry(struct cli_doctor *d, const mcplug_entry *entry)
{
    struct look l = {.d = d, .entry = entry, .e = cli_entry_info(entry)};

    snprintf(l.about, sizeof l.about, "server %.64s", l.e.name);
    l.json = mp_bytes(l.e.json, l.e.json_len);
    l.dir = l.e.real ? mp_path_dir(l.e.real) : mp_strdup(d->cli->paths.cwd);
    l.masked = mcplug_json_masked(l.e.json, l.e.json_len);
    if (!l.dir || !l.masked) {
        d->failed = true;
    } else {
        mp_view url = mp_view_get(l.json, "url");
        if (cli_is_program_type(l.e.type))
            check_program(&l);
        if (url.len)
            check_url(&l, url);
        check_insecure(&l);
        check_times(&l);
        check_upkeep(&l);
        cli_doctor_references(d, &l.e, l.dir);
        cli_doctor_literals(d, &l.e);
    }
    mcplug_text_free(l.masked);
    mp_free(l.dir);
}
