/* plugins/common/ide_file.c - reads what an editor wrote, see ide_file.h */
#include "ide_file.h"

#include "fds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOKEN_SHORTEST = 10, TOKEN_LONGEST = 500 };

/* ---- the file ---- */

/* Where every user has a group of their own, it has the number of its user, and files are
 * often writable by it. */
const char *ide_mistrusted(const struct stat *st)
{
    mode_t others = S_IWOTH | (st->st_gid == st->st_uid ? 0 : S_IWGRP);
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return "it belongs to another user";
    return st->st_mode & others ? "other users can write to it" : NULL;
}

/* The whole file in r->text; its length, or -1 with the reason. */
static ssize_t read_file(struct ide_reader *r, int dir, const char *name,
                         const char **why)
{
    struct stat st = {0};
    size_t len = 0;
    ssize_t n = 1;
    int fd = fds_high(
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd < 0) {
        *why = errno == ELOOP ? "it is a symbolic link" : "it cannot be read";
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        *why = "it is not a regular file";
    else
        *why = ide_mistrusted(&st);
    while (*why == NULL && n > 0 && len < sizeof r->text) {
        n = read(fd, r->text + len, sizeof r->text - len);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0)
            *why = "it cannot be read";
        else
            len += (size_t)n;
    }
    close(fd);
    if (*why == NULL && len > IDE_FILE_MAX)
        *why = "it has more than 64 KiB";
    r->ide->written = st.st_mtim;
    return *why == NULL ? (ssize_t)len : -1;
}

/* ---- what it says ---- */

/* What is null counts as left out. */
static struct mcplug_bytes get(const struct ide_reader *r, struct mcplug_bytes object,
                               const char *key)
{
    struct mcplug_bytes value = r->json->get(object, key);
    if (value.len == 4 && memcmp(value.data, "null", 4) == 0)
        value.len = 0;
    return value;
}

/* give (r->free); NULL when it is no string */
static char *get_string(const struct ide_reader *r, struct mcplug_bytes object,
                        const char *key)
{
    struct mcplug_bytes value = get(r, object, key);
    return value.len ? r->json->string(value) : NULL;
}

int ide_token_valid(const char *token)
{
    size_t n = 0;
    while (n <= TOKEN_LONGEST && token[n] > ' ' && token[n] < 0x7f)
        n++;
    return token[n] == '\0' && n >= TOKEN_SHORTEST && n <= TOKEN_LONGEST;
}

static const char *read_token(struct ide_reader *r, struct mcplug_bytes object)
{
    if (get(r, object, "authToken").len == 0)
        return NULL;
    char *token = get_string(r, object, "authToken");
    int good = token != NULL && ide_token_valid(token);
    if (good)
        memcpy(r->ide->token, token, strlen(token) + 1);
    r->free(token);
    return good ? NULL : "its token is malformed";
}

static const char *read_transport(struct ide_reader *r, struct mcplug_bytes object)
{
    const char *known = NULL;
    char *said = get_string(r, object, "transport");
    if (r->ide->family == IDE_COMPANION)
        known = "http";
    else if (get(r, object, "transport").len == 0)
        known = "sse"; /* older than the choice */
    else if (said != NULL && strcmp(said, "ws") == 0)
        known = "ws";
    else if (said != NULL && strcmp(said, "sse") == 0)
        known = "sse";
    r->free(said);
    if (known == NULL)
        return "its transport is unknown";
    memcpy(r->ide->transport, known, strlen(known) + 1);
    return NULL;
}

/* Cuts between characters, and leaves nothing in it that could upset a terminal. */
static void put_name(char *out, const char *said)
{
    size_t n = strnlen(said, IDE_NAME_MAX);
    if (n == IDE_NAME_MAX)
        for (n--; n > 0 && ((unsigned char)said[n] & 0xc0) == 0x80;)
            n--;
    memcpy(out, said, n);
    out[n] = '\0';
    for (unsigned char *p = (unsigned char *)out; *p; p++) {
        if (*p < ' ' || *p == 0x7f)
            *p = '?';
        else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) /* U+0080 to U+009F */
            p[0] = p[1] = '?';
    }
}

static void read_name(struct ide_reader *r, struct mcplug_bytes object)
{
    struct mcplug_bytes info = get(r, object, "ideInfo");
    char *name = get_string(r, object, "ideName");
    if (name == NULL && info.len)
        name = get_string(r, info, "displayName");
    if (name == NULL && info.len)
        name = get_string(r, info, "name");
    put_name(r->ide->name, name != NULL && *name ? name : "unnamed");
    r->free(name);
}

/* The name of the file may have said it already. */
static const char *read_numbers(struct ide_reader *r, struct mcplug_bytes object)
{
    int64_t n;
    struct mcplug_bytes port = get(r, object, "port");
    struct mcplug_bytes pid = get(r, object, "pid");
    struct mcplug_bytes windows = get(r, object, "runningInWindows");
    if (r->ide->family == IDE_COMPANION && pid.len == 0)
        pid = get(r, object, "ppid");
    if (port.len && (!r->json->integer(port, &n) || n != r->ide->port))
        return "its port does not match its name";
    if (pid.len && r->ide->pid == 0) {
        if (!r->json->integer(pid, &n) || n < 1 || n > INT32_MAX)
            return "its pid is malformed";
        r->ide->pid = (pid_t)n;
    }
    r->ide->windows = windows.len == 4 && memcmp(windows.data, "true", 4) == 0;
    if (!r->ide->windows && r->ide->pid && kill(r->ide->pid, 0) != 0 && errno == ESRCH)
        return "its process has ended";
    return NULL;
}

/* ---- workspaces ---- */

/* The length of the folder if it is, or holds, the cwd, by whole names; else 0. */
static int holds(const char *folder, const char *cwd)
{
    size_t n = strlen(folder);
    if (n == 1) /* the root */
        return cwd[0] == '/';
    return strncmp(folder, cwd, n) == 0 && (cwd[n] == '\0' || cwd[n] == '/') ? (int)n : 0;
}

static void try_folder(struct ide_reader *r, const char *folder, size_t len)
{
    struct ide *ide = r->ide;
    char written[IDE_PATH_MAX];
    if (len == 0 || len >= sizeof written || folder[0] != '/')
        return;
    memcpy(written, folder, len);
    written[len] = '\0';
    int depth = r->cwd[0] && realpath(written, r->folder) ? holds(r->folder, r->cwd) : 0;
    if (ide->workspace[0] == '\0' || depth > ide->holds_cwd) {
        memcpy(ide->workspace, written, len + 1);
        ide->holds_cwd = depth;
    }
}

static const char *read_workspace(struct ide_reader *r, struct mcplug_bytes object)
{
    struct mcplug_bytes list = get(r, object, "workspaceFolders");
    char *paths = get_string(r, object, "workspacePath");
    size_t n = 0;
    for (; list.len && n < IDE_FOLDERS_MAX; n++) {
        struct mcplug_bytes item = r->json->at(list, n);
        if (item.len == 0)
            break;
        char *folder = r->json->string(item);
        if (folder != NULL)
            try_folder(r, folder, strlen(folder));
        r->free(folder);
    }
    for (const char *p = paths; p != NULL && n < IDE_FOLDERS_MAX; n++) {
        size_t len = strcspn(p, ":");
        try_folder(r, p, len);
        p = p[len] ? p + len + 1 : NULL;
    }
    int said = paths != NULL || (list.len && list.data[0] == '[');
    r->free(paths);
    return said ? NULL : "it names no workspace";
}

/* ---- all of it ---- */

/* The object in the text, without what may stand around it; empty when it is none. */
static struct mcplug_bytes object_in(const struct ide_reader *r, size_t len)
{
    static const char blanks[] = " \t\r\n";
    struct mcplug_bytes text = {(const unsigned char *)r->text, len};
    if (len == 0 || !r->json->valid(text))
        return (struct mcplug_bytes){NULL, 0};
    while (text.len > 0 && memchr(blanks, text.data[0], 4) != NULL) {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && memchr(blanks, text.data[text.len - 1], 4) != NULL)
        text.len--;
    if (text.len == 0 || text.data[0] != '{')
        text.len = 0;
    return text;
}

const char *ide_file_read(struct ide_reader *r, int dir, const char *name)
{
    const char *why = NULL;
    ssize_t len = read_file(r, dir, name, &why);
    struct mcplug_bytes object = object_in(r, len > 0 ? (size_t)len : 0);

    if (why == NULL && object.len == 0)
        why = "it is not a JSON object";
    if (why == NULL)
        why = read_numbers(r, object);
    if (why == NULL)
        why = read_transport(r, object);
    if (why == NULL)
        why = read_token(r, object);
    if (why == NULL)
        why = read_workspace(r, object);
    if (why == NULL)
        read_name(r, object);
    return why;
}
