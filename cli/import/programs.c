/* What is where: the files of each program, and the servers in them. */
#include "cli/import/parts.h"

#include "base/mem.h"

/* ---- files ---- */

enum base { HOME, XDG, PROJECT };

static const struct place {
    enum cli_import_program program;
    enum base base;
    const char *path;
} places_of[] = {
    {CLI_CLAUDE_DESKTOP, XDG, "Claude/claude_desktop_config.json"},
    {CLI_CLAUDE_DESKTOP, HOME,
     "Library/Application Support/Claude/claude_desktop_config.json"},
    {CLI_CLAUDE_CODE, HOME, ".claude.json"},
    {CLI_CLAUDE_CODE, PROJECT, ".mcp.json"},
    {CLI_CURSOR, HOME, ".cursor/mcp.json"},
    {CLI_CURSOR, PROJECT, ".cursor/mcp.json"},
    {CLI_VSCODE, XDG, "Code/User/mcp.json"},
    {CLI_VSCODE, XDG, "Code/User/settings.json"},
    {CLI_VSCODE, XDG, "Code - Insiders/User/mcp.json"},
    {CLI_VSCODE, XDG, "Code - Insiders/User/settings.json"},
    {CLI_VSCODE, XDG, "VSCodium/User/mcp.json"},
    {CLI_VSCODE, XDG, "VSCodium/User/settings.json"},
    {CLI_VSCODE, HOME, "Library/Application Support/Code/User/mcp.json"},
    {CLI_VSCODE, HOME, "Library/Application Support/Code/User/settings.json"},
    {CLI_VSCODE, HOME, "Library/Application Support/Code - Insiders/User/mcp.json"},
    {CLI_VSCODE, HOME, "Library/Application Support/Code - Insiders/User/settings.json"},
    {CLI_VSCODE, HOME, "Library/Application Support/VSCodium/User/mcp.json"},
    {CLI_VSCODE, HOME, "Library/Application Support/VSCodium/User/settings.json"},
    {CLI_VSCODE, PROJECT, ".vscode/mcp.json"},
    {CLI_VSCODE, PROJECT, ".vscode/settings.json"},
    {CLI_CODEX, HOME, ".codex/config.toml"},
    {CLI_CODEX, PROJECT, ".codex/config.toml"},
    {CLI_GEMINI, HOME, ".gemini/settings.json"},
    {CLI_GEMINI, PROJECT, ".gemini/settings.json"},
    {CLI_WINDSURF, HOME, ".codeium/windsurf/mcp_config.json"},
    {CLI_WINDSURF, HOME, ".codeium/mcp_config.json"},
    {CLI_ZED, XDG, "zed/settings.json"},
    {CLI_ZED, PROJECT, ".zed/settings.json"},
};

/* give; "A/B", NULL: no memory */
static char *join(const char *a, const char *b)
{
    struct mp_str s;
    mp_str_init(&s, strlen(a) + strlen(b) + 2);
    mp_str_adds(&s, a);
    if (s.len == 0 || s.data[s.len - 1] != '/')
        mp_str_addc(&s, '/');
    mp_str_adds(&s, b);
    return mp_str_take(&s);
}

static char *path_of(const struct place *p, const struct cli_import_places *paths)
{
    if (p->base == PROJECT)
        return paths->cwd && !paths->user_only ? join(paths->cwd, p->path)
                                               : mp_strdup("");
    if (p->base == XDG && paths->xdg && *paths->xdg)
        return join(paths->xdg, p->path);
    if (!paths->home)
        return mp_strdup("");
    char *dir = join(paths->home, p->base == XDG ? ".config" : "");
    char *path = dir ? join(dir, p->path) : NULL;
    mp_free(dir);
    return path;
}

bool cli_import_place(enum cli_import_program program,
                      const struct cli_import_places *paths, size_t i, char **path,
                      bool *project)
{
    for (size_t k = 0; k < MP_COUNT(places_of); k++)
        if (places_of[k].program == program && i-- == 0) {
            *path = path_of(&places_of[k], paths);
            *project = places_of[k].base == PROJECT;
            return true;
        }
    return false;
}

/* Without the slashes at its end. */
static size_t path_len(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

static bool same_path(const char *a, const char *b)
{
    return path_len(a) == path_len(b) && strncmp(a, b, path_len(a)) == 0;
}

/* Is `file` the one that a project has at `path`? `*len` gets the length of what is
 * before that. */
static bool ends_with(const char *file, const char *path, size_t *len)
{
    size_t all = strlen(file), tail = strlen(path);
    if (tail > all || strcmp(file + all - tail, path) != 0 ||
        (tail < all && file[all - tail - 1] != '/'))
        return false;
    *len = all - tail;
    while (*len > 1 && file[*len - 1] == '/')
        --*len;
    return true;
}

int cli_import_project_of(enum cli_import_program program,
                          const struct cli_import_places *paths, const char *file,
                          char **out)
{
    char *dir = NULL;
    size_t len = 0;
    bool found = false;

    for (size_t i = 0; i < MP_COUNT(places_of) && !found; i++)
        found = places_of[i].program == program && places_of[i].base == PROJECT &&
                ends_with(file, places_of[i].path, &len);
    *out = NULL;
    if (!found || (file[0] != '/' && !paths->cwd))
        return MCPLUG_OK;
    if (len == 0 || (len == 1 && file[0] == '.'))
        dir = mp_strdup(paths->cwd);
    else if (file[0] == '/')
        dir = mp_strndup(file, len);
    else if ((dir = mp_strndup(file, len))) {
        char *whole = join(paths->cwd, dir);
        mp_free(dir);
        dir = whole;
    }
    if (!dir)
        return MCPLUG_ENOMEM;
    if (paths->home && same_path(dir, paths->home))
        mp_free(dir);
    else
        *out = dir;
    return MCPLUG_OK;
}

/* ---- servers ---- */

void cli_import_open(struct cli_import_source *source)
{
    mp_view root = source->root;
    if (source->program == CLI_GEMINI) { /* as it is written now, and was before */
        source->off[0] = mp_view_path(root, "mcp/excluded");
        source->off[1] = mp_view_get(root, "excludeMCPServers");
        source->on[0] = mp_view_path(root, "mcp/allowed");
        source->on[1] = mp_view_get(root, "allowMCPServers");
    }
    source->inputs = mp_view_get(root, "inputs");
    if (source->inputs.len == 0)
        source->inputs = mp_view_path(root, "mcp/inputs");
    if (source->inputs.len == 0)
        source->inputs = mp_view_get(root, "mcp.inputs");
    if (source->inputs.len > CLI_IMPORT_INPUTS)
        source->inputs.len = 0;
}

static int each_project(const struct cli_import_source *source, cli_import_fn *fn,
                        void *arg)
{
    struct mp_walk w = mp_walk_into(mp_view_get(source->root, "projects"));
    mp_view path, value;
    int r = MCPLUG_OK;

    while (!r && mp_walk_member(&w, &path, &value)) {
        struct cli_import_source of = *source;
        mp_view servers = mp_view_get(value, "mcpServers");
        if (servers.len == 0)
            continue;
        char *project = mp_view_strdup(path);
        if (!project)
            return MCPLUG_ENOMEM;
        of.project = project;
        r = fn(arg, &of, "mcpServers", servers);
        mp_free(project);
    }
    return r;
}

int cli_import_each(const struct cli_import_source *source, cli_import_fn *fn, void *arg)
{
    /* "a/b" is a way, and "a.b" one key that means the same */
    static const struct {
        enum cli_import_program program;
        const char *path;
        bool way;
    } all[] = {
        {CLI_CLAUDE_DESKTOP, "mcpServers", false}, {CLI_CLAUDE_CODE, "mcpServers", false},
        {CLI_CURSOR, "mcpServers", false},         {CLI_VSCODE, "servers", false},
        {CLI_VSCODE, "mcpServers", false},         {CLI_VSCODE, "mcp/servers", true},
        {CLI_VSCODE, "mcp.servers", false},        {CLI_CODEX, "mcp_servers", false},
        {CLI_GEMINI, "mcpServers", false},         {CLI_WINDSURF, "mcpServers", false},
        {CLI_ZED, "context_servers", false},
    };
    int r = MCPLUG_OK;

    for (size_t i = 0; i < MP_COUNT(all) && !r; i++) {
        if (all[i].program != source->program)
            continue;
        mp_view servers = all[i].way ? mp_view_path(source->root, all[i].path)
                                     : mp_view_get(source->root, all[i].path);
        if (servers.len && !mp_view_is_null(servers))
            r = fn(arg, source, all[i].path, servers);
    }
    if (!r && source->program == CLI_CLAUDE_CODE)
        r = each_project(source, fn, arg);
    return r;
}

static bool has(mp_view list, const char *name)
{
    struct mp_walk w = mp_walk_into(list);
    mp_view v;
    while (mp_walk_element(&w, &v))
        if (mp_view_equals(v, name))
            return true;
    return false;
}

bool cli_import_is_off(const struct cli_import_source *source, const char *name)
{
    bool off = false;
    for (size_t i = 0; i < 2; i++)
        off = off || has(source->off[i], name) ||
              (mp_view_count(source->on[i]) && !has(source->on[i], name));
    return off;
}

char *cli_import_input(const struct cli_import_source *source, const char *id)
{
    struct mp_walk w = mp_walk_into(source->inputs);
    mp_view input;
    while (mp_walk_element(&w, &input))
        if (mp_view_equals(mp_view_get(input, "id"), id))
            return mp_view_strdup(mp_view_get(input, "description"));
    return NULL;
}
