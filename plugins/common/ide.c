/* plugins/common/ide.c - finds editors, see ide.h */
#include "ide.h"

#include "fds.h"
#include "ide_file.h"
#include "ports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PLACES = 6,
    ENTRIES_MAX = 4096, /* of one directory, whatever they are */
    NAME_BYTES = 64     /* of a file that can be meant */
};

static int add(char *out, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Formats; a text that does not fit is none. */
static int add(char *out, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(out, size, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < size)
        return 1;
    out[0] = '\0';
    return 0;
}

/* ---- where to look ---------------------------------------------------------- */

struct place {
    const char *prefix; /* of PREFIXpid-port.json; NULL: port.lock */
    int family;
    char dir[IDE_PATH_MAX];
};

/* True when the search has such a place. */
static int place_get(const struct ide_search *w, int i, struct place *out)
{
    int own = w->config_dir[0] != '\0', home = w->home[0] != '\0';
    const char *tmp = w->tmpdir[0] ? w->tmpdir : "/tmp";
    char *dir = out->dir;

    out->prefix = NULL;
    out->family = i < 3 ? IDE_LOCK : IDE_COMPANION;
    switch (i) {
    case 0:
        return own && add(dir, IDE_PATH_MAX, "%s/ide", w->config_dir);
    case 1:
        return !own && home && add(dir, IDE_PATH_MAX, "%s/.claude/ide", w->home);
    case 2:
        if (!own && w->xdg_config_home[0])
            return add(dir, IDE_PATH_MAX, "%s/claude/ide", w->xdg_config_home);
        return !own && home && add(dir, IDE_PATH_MAX, "%s/.config/claude/ide", w->home);
    case 3:
        out->prefix = "gemini-ide-server-";
        return add(dir, IDE_PATH_MAX, "%s/gemini/ide", tmp);
    case 4:
        out->prefix = "qwen-code-ide-server-";
        return add(dir, IDE_PATH_MAX, "%s/qwen/ide", tmp);
    default:
        return home && add(dir, IDE_PATH_MAX, "%s/.qwen/ide", w->home);
    }
}

void ide_places(const struct ide_search *where, const char *between, char *out,
                size_t size)
{
    struct place place;
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < PLACES && used < size; i++) {
        if (!place_get(where, i, &place))
            continue;
        int n = snprintf(out + used, size - used, "%s%s", used ? between : "", place.dir);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* Reads up to `digits` digits, the first of which is no 0, and moves on behind them; 0
 * when there are none, or more. */
static int64_t number(const char **text, int digits, int64_t max)
{
    const char *p = *text;
    int64_t n = 0;
    if (*p == '0')
        return 0;
    for (; *p >= '0' && *p <= '9' && digits > 0; p++, digits--)
        n = 10 * n + (*p - '0');
    if ((*p >= '0' && *p <= '9') || n > max)
        return 0;
    *text = p;
    return n;
}

static int whole_port(const char *text)
{
    int64_t port = text ? number(&text, 5, 65535) : 0;
    return port && *text == '\0' ? (int)port : 0;
}

static void from_environment(const char *name, char *out)
{
    const char *value = getenv(name);
    add(out, IDE_PATH_MAX, "%s", value ? value : "");
    for (size_t n = strlen(out); n > 1 && out[n - 1] == '/'; n--)
        out[n - 1] = '\0';
}

void ide_search_from_environment(struct ide_search *where, void *(*alloc)(size_t size),
                                 void (*free)(void *p))
{
    memset(where, 0, sizeof *where);
    where->alloc = alloc;
    where->free = free;
    where->check_ports = 1;
    from_environment("CLAUDE_CONFIG_DIR", where->config_dir);
    from_environment("HOME", where->home);
    from_environment("XDG_CONFIG_HOME", where->xdg_config_home);
    from_environment("TMPDIR", where->tmpdir);
    if (getcwd(where->cwd, sizeof where->cwd) == NULL)
        where->cwd[0] = '\0';
    where->preferred_ports[0] = whole_port(getenv("CLAUDE_CODE_SSE_PORT"));
    where->preferred_ports[1] = whole_port(getenv("GEMINI_CLI_IDE_SERVER_PORT"));
    where->preferred_ports[2] = whole_port(getenv("QWEN_CODE_IDE_SERVER_PORT"));
}

static int is_preferred(const struct ide_search *w, int port)
{
    return port == w->preferred_ports[0] || port == w->preferred_ports[1] ||
           port == w->preferred_ports[2];
}

/* ---- one search --------------------------------------------------------------- */

struct candidate { /* a file, as far as its name tells */
    int place;
    int port;
    pid_t pid; /* 0: the name does not say */
    char name[NAME_BYTES];
};

struct hunt {
    const struct ide_search *where;
    const char *transport, *name; /* NULL: any */
    struct ide *out;
    size_t max, n;

    struct place paths[PLACES];
    int dirs[PLACES]; /* -1: there is none */
    size_t n_candidates;
    struct candidate candidates[IDE_FILES_MAX];
    int ports[IDE_FILES_MAX];
    unsigned char open[IDE_FILES_MAX];

    struct ide ide; /* the one at hand */
    struct ide_reader reader;
};

/* ---- the files */

static void skip(const struct hunt *h, const char *file, const char *why)
{
    if (h->where->skipped != NULL)
        h->where->skipped(h->where->arg, file, why);
}

static int open_place(const struct hunt *h, const struct place *place)
{
    struct stat st;
    int fd = fds_high(open(place->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
    if (fd < 0)
        return -1;
    const char *why = fstat(fd, &st) == 0 ? ide_mistrusted(&st) : "it cannot be accessed";
    if (why == NULL)
        return fd;
    skip(h, place->dir, why);
    close(fd);
    return -1;
}

/* Is it the name of a file that we look for? */
static int name_parse(const struct place *place, const char *name, struct candidate *out)
{
    const char *p = name;
    out->pid = 0;
    if (place->prefix != NULL) {
        size_t len = strlen(place->prefix);
        if (strncmp(p, place->prefix, len) != 0)
            return 0;
        p += len;
        out->pid = (pid_t)number(&p, 10, INT32_MAX);
        if (out->pid == 0 || *p++ != '-')
            return 0;
    }
    out->port = (int)number(&p, 5, 65535);
    return out->port && strcmp(p, place->prefix ? ".json" : ".lock") == 0 &&
           add(out->name, sizeof out->name, "%s", name);
}

/* Beyond the maximum only a preferred port is still let in, for another. */
static void note(struct hunt *h, const struct candidate *c)
{
    if (h->n_candidates < IDE_FILES_MAX)
        h->candidates[h->n_candidates++] = *c;
    else if (is_preferred(h->where, c->port))
        h->candidates[IDE_FILES_MAX - 1] = *c;
}

static void list_place(struct hunt *h, int place)
{
    struct candidate c = {.place = place};
    const struct dirent *entry;
    int fd = fcntl(h->dirs[place], F_DUPFD_CLOEXEC, 3);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (int i = 0; i < ENTRIES_MAX && (entry = readdir(dir)) != NULL; i++)
        if (name_parse(&h->paths[place], entry->d_name, &c))
            note(h, &c);
    closedir(dir);
}

/* ---- the order */

static int newer(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static int better(const struct ide *a, const struct ide *b)
{
    if (a->preferred != b->preferred)
        return a->preferred;
    if (a->holds_cwd != b->holds_cwd)
        return a->holds_cwd > b->holds_cwd;
    if (newer(&a->written, &b->written) || newer(&b->written, &a->written))
        return newer(&a->written, &b->written);
    return a->port < b->port;
}

static void drop(struct hunt *h, size_t i)
{
    h->n--;
    memmove(&h->out[i], &h->out[i + 1], (h->n - i) * sizeof *h->out);
}

/* Two files cannot both be right about one port: the newer one is. */
static void insert(struct hunt *h)
{
    size_t at = 0;
    for (size_t i = 0; i < h->n; i++) {
        if (h->out[i].port != h->ide.port)
            continue;
        int loses = newer(&h->out[i].written, &h->ide.written);
        skip(h, loses ? h->ide.file : h->out[i].file, "another file names its port");
        if (loses)
            return;
        drop(h, i);
        break;
    }
    while (at < h->n && !better(&h->ide, &h->out[at]))
        at++;
    if (at == h->max)
        return;
    if (h->n == h->max)
        h->n--;
    memmove(&h->out[at + 1], &h->out[at], (h->n - at) * sizeof *h->out);
    h->out[at] = h->ide;
    h->n++;
}

/* ---- all of it */

static int is_wanted(const struct hunt *h)
{
    return (h->transport == NULL || strcmp(h->ide.transport, h->transport) == 0) &&
           (h->name == NULL || strcasecmp(h->ide.name, h->name) == 0);
}

static void judge_all(struct hunt *h)
{
    for (size_t i = 0; i < h->n_candidates; i++) {
        const struct candidate *c = &h->candidates[i];
        const char *why = "no process listens on its port";
        memset(&h->ide, 0, sizeof h->ide);
        h->ide.port = c->port;
        h->ide.pid = c->pid;
        h->ide.family = h->paths[c->place].family;
        if (!add(h->ide.file, sizeof h->ide.file, "%s/%s", h->paths[c->place].dir,
                 c->name))
            continue;
        h->ide.preferred = is_preferred(h->where, c->port);
        if (h->open[i])
            why = ide_file_read(&h->reader, h->dirs[c->place], c->name);
        if (why != NULL)
            skip(h, h->ide.file, why);
        else if (is_wanted(h))
            insert(h);
    }
}

static void hunt_run(struct hunt *h)
{
    const struct ide_search *where = h->where;
    char *cwd = h->reader.cwd;
    if (where->cwd[0] == '\0' || realpath(where->cwd, cwd) == NULL)
        cwd[0] = '\0';
    for (int i = 0; i < PLACES; i++) {
        int there = place_get(where, i, &h->paths[i]);
        h->dirs[i] = there ? open_place(h, &h->paths[i]) : -1;
        if (h->dirs[i] >= 0)
            list_place(h, i);
    }
    for (size_t i = 0; i < h->n_candidates; i++)
        h->ports[i] = h->candidates[i].port;
    memset(h->open, 1, sizeof h->open);
    if (where->check_ports)
        ports_open(h->ports, h->n_candidates, IDE_ANSWER_MS, h->open);
    judge_all(h);
    for (int i = 0; i < PLACES; i++)
        if (h->dirs[i] >= 0)
            close(h->dirs[i]);
}

static int find(const struct mcplug_json *json, const struct ide_search *where,
                const char *transport, const char *name, struct ide *out, size_t max)
{
    struct hunt *h = where->alloc(sizeof *h);
    if (h == NULL)
        return MCPLUG_ENOMEM;
    memset(h, 0, sizeof *h);
    h->reader.json = json;
    h->reader.free = where->free;
    h->reader.ide = &h->ide;
    h->where = where;
    h->transport = transport;
    h->name = name != NULL && *name ? name : NULL;
    h->out = out;
    h->max = max < IDE_FILES_MAX ? max : IDE_FILES_MAX;
    hunt_run(h);
    int n = (int)h->n;
    where->free(h);
    return n;
}

int ide_find(const struct mcplug_json *json, const struct ide_search *where,
             struct ide *out, size_t max)
{
    return find(json, where, NULL, NULL, out, max);
}

int ide_choose(const struct mcplug_json *json, const struct ide_search *where,
               const char *transport, const char *name, struct ide *out, char *why,
               size_t size)
{
    char paths[1024];
    int named = name != NULL && *name, n = find(json, where, transport, name, out, 1);
    if (n == 1)
        return MCPLUG_OK;
    int others = n == 0 ? find(json, where, NULL, NULL, out, 1) : n;
    if (n < 0 || others < 0) {
        snprintf(why, size, "out of memory");
        return MCPLUG_ENOMEM;
    }
    ide_places(where, ", ", paths, sizeof paths);
    snprintf(why, size, "no editor%s%.64s%s%s%s is running%s%s%s%s%s; looked in %s",
             named ? " \"" : "", named ? name : "", named ? "\"" : "",
             transport ? " with " : "", transport ? transport : "",
             others ? ", but \"" : "", others ? out->name : "", others ? "\" with " : "",
             others ? out->transport : "", others ? " is" : "", paths);
    memset(out, 0, sizeof *out);
    return MCPLUG_EREFUSED;
}

void ide_url(const struct ide *ide, char *out, size_t size)
{
    int ws = strcmp(ide->transport, "ws") == 0, sse = strcmp(ide->transport, "sse") == 0;
    snprintf(out, size, "%s://127.0.0.1:%d/%s", ws ? "ws" : "http", ide->port,
             sse ? "sse" : "mcp");
}

const char *ide_token_header(int family, const char **before)
{
    *before = family == IDE_COMPANION ? "Bearer " : "";
    return family == IDE_COMPANION ? "Authorization" : "X-Claude-Code-Ide-Authorization";
}
