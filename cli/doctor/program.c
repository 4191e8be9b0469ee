/* Is a program there, and would it run? */
#include "cli/doctor/doctor.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/bin:/usr/bin" /* where execvp() looks without PATH */
#define FIRST_LINE 256               /* the kernel reads no more of it */

/* ---- finding, as execvp() does ---- */

/* give: `name` in `dir`, which is in `cwd` unless it is absolute. */
static char *in_dir(const char *cwd, const char *dir, size_t dir_len, const char *name)
{
    struct mp_str path;
    mp_str_init(&path, (size_t)PATH_MAX * 4);
    if (cwd && (dir_len == 0 || dir[0] != '/'))
        mp_str_addf(&path, "%s/", cwd);
    mp_str_add(&path, dir, dir_len);
    mp_str_addf(&path, "%s%s", dir_len ? "/" : "", name);
    return mp_str_take(&path);
}

/* 0; EACCES when it is there but can't be executed; ENOENT. */
static int try_file(const char *file)
{
    struct stat st;
    if (stat(file, &st) != 0)
        return ENOENT; /* a directory that we may not enter is as good as none */
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == 0 ? 0 : EACCES;
}

/* The same, or ENOMEM. `out` gets the file, or the one that can't be executed; NULL:
 * none. give */
static int find_program(const struct cli_program *p, const char *name, const char *path,
                        char **out)
{
    int worst = ENOENT;
    *out = NULL;
    if (strchr(name, '/')) {
        *out = *name == '/' ? mp_strdup(name) : in_dir(p->dir, "", 0, name);
        return *out ? try_file(*out) : ENOMEM;
    }
    for (const char *at = path ? path : DEFAULT_PATH;;) {
        size_t len = strcspn(at, ":");
        char *file = in_dir(p->dir, at, len, name);
        int e = file ? try_file(file) : ENOMEM;
        if (e == 0 || (e == EACCES && worst != EACCES)) {
            mp_free(*out);
            *out = mp_move(&file);
            worst = e;
        }
        mp_free(file);
        if (worst == 0 || !at[len])
            return worst;
        at += len + 1;
    }
}

/* ---- what to install ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *install(const char *program)
{
    static const char *const known[][2] = {
        {"npx", "Install Node.js with npm, which includes npx."},
        {"npm", "Install npm, which comes with Node.js."},
        {"node", "Install Node.js."},
        {"pnpm", "Install Node.js and pnpm."},
        {"yarn", "Install Node.js and Yarn."},
        {"uvx", "Install uv, the package manager for Python, which includes uvx."},
        {"uv", "Install uv, the package manager for Python."},
        {"python", "Install Python 3; its program may be called python3."},
        {"python3", "Install Python 3."},
        {"pipx", "Install pipx, which runs programs written in Python."},
        {"docker", "Install Docker and start its service."},
        {"podman", "Install Podman."},
        {"deno", "Install Deno."},
        {"bun", "Install Bun."},
        {"bunx", "Install Bun, which includes bunx."},
        {"java", "Install a Java runtime."},
        {"dotnet", "Install .NET."},
        {"go", "Install Go."},
        {"cargo", "Install Rust, which includes cargo."},
        {"ruby", "Install Ruby."},
        {"php", "Install PHP."},
        {"perl", "Install Perl."},
    };
    for (size_t i = 0; i < MP_COUNT(known); i++)
        if (strcmp(known[i][0], program) == 0)
            return known[i][1];
    return NULL;
}

/* ---- not finding ---- */

static void advise_missing(struct cli_doctor *d, const struct cli_program *p)
{
    const char *hint = install(base_of(p->command)), *ours = getenv("PATH");
    bool is_path = strchr(p->command, '/') != NULL;
    char *elsewhere = NULL;

    if (!is_path && ours && (!p->path || strcmp(p->path, ours) != 0) &&
        find_program(p, p->command, ours, &elsewhere) == 0)
        cli_doctor_todo(d,
                        "It is in your PATH, but not in the PATH that the entry sets: "
                        "correct that in %s.",
                        p->file);
    else if (strpbrk(p->command, " \t"))
        cli_doctor_todo(
            d, "\"command\" is only the program: put its arguments into \"args\" in %s.",
            p->file);
    else if (hint)
        cli_doctor_todo(d, "%s", hint);
    else
        cli_doctor_todo(d, "Install it, or correct its path in %s.", p->file);
    mp_free(elsewhere);
}

static void note_missing(struct cli_doctor *d, const struct cli_program *p, int e,
                         const char *file)
{
    bool is_path = strchr(p->command, '/') != NULL;
    bool plain = strcmp(p->shown, p->command) == 0; /* nothing in it to hide */
    struct stat st;

    if (e != EACCES) {
        cli_doctor_note(d, CLI_WRONG, p->about, "command \"%s\" %s", p->shown,
                        is_path ? "does not exist" : "is not found in PATH");
        advise_missing(d, p);
    } else if (file && stat(file, &st) == 0 && !S_ISREG(st.st_mode)) {
        cli_doctor_note(d, CLI_WRONG, p->about, "command \"%s\" is %s", p->shown,
                        S_ISDIR(st.st_mode) ? "a directory" : "not a program");
        cli_doctor_todo(d, "Set it to a program in %s.", p->file);
    } else {
        cli_doctor_note(d, CLI_WRONG, p->about, "command \"%s\" is not executable",
                        p->shown);
        cli_doctor_todo(d, "chmod +x %s", plain && file ? file : p->shown);
    }
}

/* ---- scripts ---- */

/* The first line of a script behind its #!, or NULL. */
static char *script_line(const char *file, char room[FIRST_LINE + 1])
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd >= 0 ? read(fd, room, FIRST_LINE) : -1;
    if (fd >= 0)
        close(fd);
    if (n < 2 || room[0] != '#' || room[1] != '!')
        return NULL;
    room[n] = '\0';
    room[strcspn(room, "\n")] = '\0';
    return room + 2 + strspn(room + 2, " \t");
}

/* What `env` will run: its options and assignments passed over; NULL: not known. */
static char *env_program(char *words)
{
    char *word;
    while ((word = strsep(&words, " \t")))
        if (*word && *word != '-' && !strchr(word, '='))
            return word;
    return NULL;
}

static void check_script(struct cli_doctor *d, const struct cli_program *p,
                         const char *file)
{
    char room[FIRST_LINE + 1], *line = script_line(file, room), *found = NULL;

    if (!line || !*line)
        return;
    if (line[strlen(line) - 1] == '\r') {
        cli_doctor_note(d, CLI_WRONG, p->about,
                        "command \"%s\" is a script with Windows line endings, so its "
                        "interpreter is not found",
                        p->shown);
        cli_doctor_todo(d, "Save it with Unix line endings.");
        return;
    }
    char *interpreter = strsep(&line, " \t"), *name = interpreter;
    if (find_program(p, interpreter, p->path, &found) == 0 && line &&
        strcmp(base_of(interpreter), "env") == 0)
        name = env_program(line);
    mp_free(found);
    found = NULL;
    if (name && *name && find_program(p, name, p->path, &found) != 0) {
        const char *hint = install(base_of(name));
        cli_doctor_note(d, CLI_WRONG, p->about,
                        "command \"%s\" is a script for \"%.200s\", which does not exist",
                        p->shown, name);
        cli_doctor_todo(d, "%s",
                        hint ? hint
                             : "Install it, or correct the first line of "
                               "the script.");
    }
    mp_free(found);
}

void cli_doctor_program(struct cli_doctor *d, const struct cli_program *p)
{
    char *file = NULL;
    int e = find_program(p, p->command, p->path, &file);
    if (e == ENOMEM)
        d->failed = true;
    else if (e)
        note_missing(d, p, e, file);
    else
        check_script(d, p, file);
    mp_free(file);
}
