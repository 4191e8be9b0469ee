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

/* `variable` is NAME=VALUE, as in environ; `env` is name, value, name, value .. */
static bool is_inherited(const char *inherit, const char *const *env,
                         const char *variable)
{
    size_t name_len = strcspn(variable, "=");
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

int stdio_environment(const struct mcplug_host *host, const mcplug_props *settings,
                      char ***out, struct mcplug_error *err)
{
    const char *inherit = host->diag->prop(settings, "inheritEnv");
    const char *const *env = host->diag->prop_list(settings, "env");
    size_t count, room, inherited = 0, n = 0;

    int r = measure(host, env, &count, &room, err);
    if (r != MCPLUG_OK)
        return r;
    while (environ != NULL && environ[inherited] != NULL)
        inherited++;
    char **list = host->mem->alloc((inherited + count + 1) * sizeof *list + room);
    if (list == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");

    char *text = (char *)(list + inherited + count + 1);
    for (size_t i = 0; i < inherited; i++)
        if (is_inherited(inherit, env, environ[i]))
            list[n++] = environ[i];
    for (size_t i = 0; env[i] != NULL; i += 2) {
        list[n++] = text;
        text += sprintf(text, "%s=%s", env[i], env[i + 1]) + 1;
    }
    list[n] = NULL;
    *out = list;
    return MCPLUG_OK;
}
