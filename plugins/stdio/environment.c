/* plugins/stdio/environment.c - what a server finds in its environment. */
#include "process.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* True when `name` is one of the comma separated `list`. */
static bool is_listed(const char *list, const char *name, size_t name_len)
{
    while (*list != '\0') {
        list += strspn(list, ", \t");
        size_t len = strcspn(list, ", \t");
        if (len > 0 && len == name_len && memcmp(list, name, len) == 0)
            return true;
        list += len;
    }
    return false;
}

static bool is_mark(const char *name, size_t name_len)
{
    return name_len == sizeof MARK_VARIABLE - 1 &&
           memcmp(name, MARK_VARIABLE, name_len) == 0;
}

/* `variable` is NAME=VALUE, as in environ; `env` is name, value, name, value .. */
static bool is_inherited(const char *inherit, const char *const *env,
                         const char *variable)
{
    size_t name_len = strcspn(variable, "=");
    if (is_mark(variable, name_len))
        return false;
    for (size_t i = 0; env[i] != NULL; i += 2)
        if (strlen(env[i]) == name_len && memcmp(env[i], variable, name_len) == 0)
            return false;
    if (inherit == NULL || strcmp(inherit, "true") == 0)
        return true;
    return strcmp(inherit, "false") != 0 && is_listed(inherit, variable, name_len);
}

/* The room for the texts of `env` and their number. */
static int measure(const struct mcplug_host *host, const char *const *env, size_t *count,
                   size_t *room, struct mcplug_error *err)
{
    *count = *room = 0;
    for (size_t i = 0; env[i] != NULL; i += 2, ++*count) {
        if (env[i][0] == '\0' || strchr(env[i], '=') != NULL)
            return host->diag->fail(err, MCPLUG_ECONFIG,
                                    "env: \"%s\" is not the name of a variable", env[i]);
        *room += strlen(env[i]) + strlen(env[i + 1]) + 2;
    }
    return MCPLUG_OK;
}

/* The marks that this process has itself are inherited in any case. */
static void write_mark(const char *mark, char out[MARKS_ROOM])
{
    const char *inherited = NULL;
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++)
        if (is_mark(environ[i], strcspn(environ[i], "=")))
            inherited = environ[i] + sizeof MARK_VARIABLE;
    mark_variable(inherited, mark, out);
}

int stdio_environment(const struct mcplug_host *host, const mcplug_props *settings,
                      const char *mark, char ***out, struct mcplug_error *err)
{
    const char *inherit = host->diag->prop(settings, "inheritEnv");
    const char *const *env = host->diag->prop_list(settings, "env");
    size_t count, room, inherited = 0, n = 0;

    int r = measure(host, env, &count, &room, err);
    if (r != MCPLUG_OK)
        return r;
    while (environ != NULL && environ[inherited] != NULL)
        inherited++;
    size_t words = inherited + count + 2; /* the mark, NULL */
    char **list = host->mem->alloc(words * sizeof *list + MARKS_ROOM + room);
    if (list == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");

    char *text = (char *)(list + words);
    write_mark(mark, text);
    list[n++] = text;
    text += MARKS_ROOM;
    for (size_t i = 0; i < inherited; i++)
        if (is_inherited(inherit, env, environ[i]))
            list[n++] = environ[i];
    for (size_t i = 0; env[i] != NULL; i += 2) {
        if (is_mark(env[i], strlen(env[i])))
            continue;
        list[n++] = text;
        text += sprintf(text, "%s=%s", env[i], env[i + 1]) + 1;
    }
    list[n] = NULL;
    *out = list;
    return MCPLUG_OK;
}
