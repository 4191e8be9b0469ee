/* plugins/common/ide.h - finds the editors on this machine that run an MCP server.
 *
 * An editor says where it listens in a small file of JSON, of which there are two
 * families. IDE_LOCK: <port>.lock, with a WebSocket or an HTTP+SSE server behind it.
 * IDE_COMPANION: written for command line companions of editors, with a Streamable HTTP
 * server behind it. Whatever is in these places is read with suspicion: files are
 * regular, small, and only their user or root can have written them.
 *
 * Everything here may wait for the file system; nothing needs the loop. [any]
 */
#ifndef MCPLUG_COMMON_IDE_H
#define MCPLUG_COMMON_IDE_H

#include <mcplug/plugin.h>

#include <sys/types.h>
#include <time.h>

enum {
    IDE_NAME_MAX = 64,        /* a longer name is cut */
    IDE_TOKEN_MAX = 512,      /* tokens have 10 to 500 characters */
    IDE_PATH_MAX = 4096,      /* longer paths count as none */
    IDE_FILE_MAX = 64 * 1024, /* bytes of a file */
    IDE_FILES_MAX = 256,      /* files looked at in one search */
    IDE_FOLDERS_MAX = 64,     /* folders looked at of one editor */
    IDE_ANSWER_MS = 200       /* for all ports together to say that someone listens */
};

enum ide_family { IDE_LOCK = 1, IDE_COMPANION = 2 };

struct ide {
    char name[IDE_NAME_MAX];   /* as it calls itself, UTF-8 without control characters */
    char transport[8];         /* "ws", "sse" or "http" */
    int port;                  /* on 127.0.0.1 */
    pid_t pid;                 /* 0: it does not say */
    char token[IDE_TOKEN_MAX]; /* visible ASCII; "": it wants none */
    char workspace[IDE_PATH_MAX]; /* the folder that suits best, as it was written, or ""
                                   */
    int holds_cwd; /* length of that folder if the search's cwd is inside it, else 0 */
    int preferred; /* one of the search's preferred ports */
    int windows;   /* runs outside of this system, which has its folders mounted */
    int family;    /* enum ide_family */
    struct timespec written; /* when the file was */
    char file[IDE_PATH_MAX];
};

struct ide_search {
    void *(*alloc)(size_t size); /* host->mem->alloc */
    void (*free)(void *p);       /* host->mem->free, fit for what json->string() gives */

    char config_dir[IDE_PATH_MAX]; /* $CLAUDE_CONFIG_DIR; "": below home */
    char home[IDE_PATH_MAX];
    char xdg_config_home[IDE_PATH_MAX]; /* "": ~/.config */
    char tmpdir[IDE_PATH_MAX];          /* "": /tmp */
    char cwd[IDE_PATH_MAX];             /* "": nothing is held by any folder */
    int preferred_ports[3]; /* what the editor told its terminal; 0: nothing */
    int check_ports; /* leave out those where nobody listens; waits for IDE_ANSWER_MS */

    /* Told of each file that is left out, and why (static text). May be NULL. */
    void (*skipped)(void *arg, const char *file, const char *why);
    void *arg;
};

/* Fills everything from the environment and the current directory; ports are checked. */
void ide_search_from_environment(struct ide_search *where, void *(*alloc)(size_t size),
                                 void (*free)(void *p));

/* The editors that run, the best first: on a preferred port, then those whose workspace
 * holds the cwd, of which the innermost folder wins, then the one whose file is newest.
 * Editors whose process is gone are left out. Returns how many, `max` at most, or
 * MCPLUG_ENOMEM. */
int ide_find(const struct mcplug_json *json, const struct ide_search *where,
             struct ide *out, size_t max);

/* The best of those with this transport ("ws", "sse", "http"; NULL: any) and this name
 * (in any case; NULL or "": any). MCPLUG_OK, or MCPLUG_EREFUSED or _ENOMEM and a
 * sentence in `why`. */
int ide_choose(const struct mcplug_json *json, const struct ide_search *where,
               const char *transport, const char *name, struct ide *out, char *why,
               size_t size);

/* The directories of a search, separated by `between`. */
void ide_places(const struct ide_search *where, const char *between, char *out,
                size_t size);

/* Where its server is: ws://127.0.0.1:PORT/mcp, http://127.0.0.1:PORT/sse or /mcp. */
void ide_url(const struct ide *ide, char *out, size_t size);

/* The header field that carries a token: its name, and what stands before the token in
 * its value ("" or "Bearer "). */
const char *ide_token_header(int family, const char **before);

/* 10 to 500 visible ASCII characters? */
int ide_token_valid(const char *token);

#endif /* MCPLUG_COMMON_IDE_H */
