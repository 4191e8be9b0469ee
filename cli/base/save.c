#include "cli/base/save.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli/base/content.h"
#include "cli/base/failure.h"
#include "content/filename.h"
#include "cli/base/message.h"
#include "cli/base/oneshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define TYPE_MAX 100 /* bytes of a MIME type that are shown */
#define PATH_MAX_BYTES ((size_t)1 << 16)

/* ---- before the request ---- */

static int refuse(const char *path)
{
    cli_error("%s exists already", path);
    cli_hint("--force overwrites it.");
    return CLI_BAD_ARGUMENTS;
}

static int cannot_write(const char *path, int why)
{
    cli_error("cannot write %s: %s", path, strerror(why));
    return CLI_IO_ERROR;
}

static int begin_dir(struct cli_save *s)
{
    s->to = CLI_SAVE_DIR;
    s->is_made = mkdir(s->path, 0777) == 0;
    if (!s->is_made && errno != EEXIST)
        return cannot_write(s->path, errno);
    return access(s->path, W_OK | X_OK) == 0 ? CLI_OK : cannot_write(s->path, errno);
}

/* A device or a pipe is there to be written to. */
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int begin_file(struct cli_save *s)
{
    struct stat st;

    s->to = CLI_SAVE_FILE;
    if (is_special(s->path))
        return CLI_OK;
    if (lstat(s->path, &st) == 0 && !s->force)
        return refuse(s->path);
    char *dir = strchr(s->path, '/') ? mp_path_dir(s->path) : mp_strdup(".");
    int why = !dir ? ENOMEM : access(dir, W_OK | X_OK) == 0 ? 0 : errno;
    mp_free(dir);
    return why ? cannot_write(s->path, why) : CLI_OK;
}

int cli_save_begin(struct cli_save *s, const struct cli_args *args)
{
    struct stat st;

    memset(s, 0, sizeof *s);
    s->path = args->output;
    s->force = args->force;
    if (!s->path && s->force) {
        cli_error("--force has no meaning without -o");
        return CLI_USAGE;
    }
    if (!s->path)
        return CLI_OK;
    if (!*s->path) {
        cli_error("-o: expected a file or a directory, got \"\"");
        return CLI_USAGE;
    }
    if (strcmp(s->path, "-") == 0) { /* a document goes there anyway */
        s->to = args->json ? CLI_SAVE_NOWHERE : CLI_SAVE_STDOUT;
        return CLI_OK;
    }
    bool is_dir = s->path[strlen(s->path) - 1] == '/' ||
                  (stat(s->path, &st) == 0 && S_ISDIR(st.st_mode));
    return is_dir ? begin_dir(s) : begin_file(s);
}

void cli_save_end(struct cli_save *s)
{
    if (s->is_made && !s->n_saved)
        rmdir(s->path);
    mp_free(s->names);
    s->names = NULL;
}

/* ---- names in a directory ---- */

/* Told apart by a hash: where two are the same, one gets a number that it did not need.
 */
struct cli_name {
    uint64_t hash;
    size_t last; /* the number that was given last to a name like this one */
};

static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return hash;
}

static struct cli_name *find_name(const struct cli_save *s, uint64_t hash)
{
    for (size_t i = 0; i < s->n_names; i++)
        if (s->names[i].hash == hash)
            return &s->names[i];
    return NULL;
}

static bool add_name(struct cli_save *s, uint64_t hash)
{
    if (!s->names)
        s->names = mp_alloc(CLI_SAVE_FILES * sizeof *s->names);
    if (!s->names || s->n_names == CLI_SAVE_FILES)
        return false;
    s->names[s->n_names++] = (struct cli_name){hash, 1};
    return true;
}

/* Adds "DIR/NAME", or "DIR/NAME-2" for the second of that name. false: there are too
 * many, or no memory. */
static bool add_path(struct cli_save *s, const char *name, struct mp_str *out)
{
    const char *extension = mp_name_extension(name);
    struct cli_name *same = find_name(s, hash_of(name));
    size_t dir = strlen(s->path);

    mp_str_add(out, s->path, dir);
    if (s->path[dir - 1] != '/')
        mp_str_addc(out, '/');
    dir = out->len;
    mp_str_adds(out, name);
    while (same && !out->failed && find_name(s, hash_of(out->data + dir))) {
        out->len = dir;
        mp_str_add(out, name, (size_t)(extension - name));
        mp_str_addf(out, "-%zu%s", ++same->last, extension);
    }
    return !out->failed && add_name(s, hash_of(out->data + dir));
}

/* ---- one file ---- */

struct file {
    struct cli_out *out;
    const char *path;
    struct mp_str other; /* what it is called until it is whole; empty: `path` */
    bool is_special;
};

/* Beside what it is to replace, which stays until there is something better. */
static int open_beside(struct file *f)
{
    int fd = -1;

    for (unsigned i = 0; i < 100 && fd < 0; i++) {
        mp_str_reset(&f->other);
        mp_str_addf(&f->other, "%s.%ld-%u", f->path, (long)getpid(), i);
        if (f->other.failed) {
            errno = ENOMEM;
            break;
        }
        fd = open(f->other.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

static int open_file(struct file *f, const struct cli_save *s)
{
    int fd;

    f->is_special = s->to == CLI_SAVE_FILE && is_special(f->path);
    if (f->is_special)
        fd = open(f->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    else if (s->force)
        fd = open_beside(f);
    else
        fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    cli_out_init(f->out, fd);
    return 0;
}

/* 0, or an errno; the file is gone then. `*size` is that of a regular file, or -1. */
static int close_file(struct file *f, bool is_whole, int64_t *size)
{
    const char *name = f->other.len ? f->other.data : f->path;
    struct stat st;

    cli_out_flush(f->out);
    *size = !f->is_special && fstat(f->out->fd, &st) == 0 ? (int64_t)st.st_size : -1;
    cli_out_close(f->out);
    if (f->out->terminal)
        close(f->out->fd);
    int why = f->out->failed;
    if (!why && is_whole && f->other.len && rename(name, f->path) != 0)
        why = errno;
    if ((why || !is_whole) && !f->is_special)
        unlink(name);
    return why;
}

static void tell_saved(const struct cli *cli, const char *path, const char *type,
                       int64_t bytes)
{
    char size[32] = "";

    if (cli->args.quiet)
        return;
    if (bytes >= 0)
        cli_size_text(size, sizeof size, (uint64_t)bytes);
    cli_note("saved %s (%.*s%s%s)", path, TYPE_MAX, type, *size ? ", " : "", size);
}

/* What `write` returned is no success. */
static int cannot_save(const struct cli_saved *what, int r)
{
    if (r == MCPLUG_EPROTO) {
        cli_error("%s is not Base64", what->what);
        return CLI_BROKEN_PROTOCOL;
    }
    if (r == MCPLUG_ETOOBIG) {
        cli_error("%s is too large", what->what);
        return CLI_TOO_BIG;
    }
    if (r == MCPLUG_ENOMEM) {
        cli_error("out of memory");
        return CLI_INTERNAL;
    }
    cli_error("cannot read a long text of the result back from its temporary file");
    return CLI_IO_ERROR;
}

static int exists(struct cli_save *s, const char *path)
{
    cli_error("%s exists already", path);
    if (!s->explained)
        cli_hint("--force overwrites it.");
    s->explained = true;
    return CLI_IO_ERROR;
}

static int save_as(struct cli_save *s, const struct cli *cli,
                   const struct cli_saved *what, const char *path)
{
    struct file f = {.path = path, .out = mp_alloc(sizeof *f.out)};
    int64_t size = -1;
    int code = CLI_OK, r;

    mp_str_init(&f.other, PATH_MAX_BYTES + 64);
    int why = f.out ? open_file(&f, s) : ENOMEM;
    if (why == EEXIST) {
        code = exists(s, path);
    } else if (why) {
        code = cannot_write(path, why);
    } else {
        r = what->write(what->arg, f.out);
        why = close_file(&f, r == MCPLUG_OK, &size);
        code = why              ? cannot_write(path, why)
               : r != MCPLUG_OK ? cannot_save(what, r)
                                : CLI_OK;
    }
    s->failed = s->failed || (why && why != EEXIST);
    s->n_saved += code == CLI_OK;
    if (code == CLI_OK)
        tell_saved(cli, path, what->type, size);
    mp_str_clear(&f.other);
    mp_free(f.out);
    return code;
}

static int print(struct cli *cli, const struct cli_saved *what)
{
    struct cli_out *out = &cli->out;
    int r = what->write(what->arg, out);

    if (out->terminal)
        cli_out_fresh_line(out);
    return r == MCPLUG_OK ? CLI_OK : cannot_save(what, r);
}

int cli_save_one(struct cli_save *s, struct cli *cli, const struct cli_saved *what)
{
    struct mp_str path;
    int code;

    if (s->to == CLI_SAVE_NOWHERE || s->to == CLI_SAVE_STDOUT)
        return print(cli, what);
    mp_str_init(&path, PATH_MAX_BYTES);
    if (s->to == CLI_SAVE_FILE) {
        code = save_as(s, cli, what, s->path);
    } else if (add_path(s, what->name, &path)) {
        code = save_as(s, cli, what, path.data);
    } else {
        cli_error("cannot save %s in %s: %s", what->name, s->path,
                  s->n_names == CLI_SAVE_FILES ? "there are too many files"
                                               : "out of memory");
        code = s->n_names == CLI_SAVE_FILES ? CLI_TOO_BIG : CLI_INTERNAL;
        s->failed = true;
    }
    mp_str_clear(&path);
    return code;
}

/* ---- JSON ---- */

struct json_part {
    const struct cli_doc *doc;
    mp_view part;
};

static int write_json(void *arg, struct cli_out *out)
{
    const struct json_part *p = arg;
    int r = cli_doc_json(p->doc, p->part, out);
    cli_out_fresh_line(out);
    return r;
}

int cli_save_json(struct cli_save *s, struct cli *cli, const struct cli_doc *doc,
                  mp_view part, const char *name)
{
    struct json_part json = {doc, part};
    struct cli_saved what = {name, "application/json", name, write_json, &json};
    return cli_save_one(s, cli, &what);
}

bool cli_save_document(struct cli_save *s, struct cli_oneshot *link,
                       const struct cli_doc *doc)
{
    if (!link->cli->args.json || s->to != CLI_SAVE_FILE)
        return false;
    cli_oneshot_finish(link, cli_save_json(s, link->cli, doc, cli_doc_view(doc), ""));
    return true;
}

void cli_save_done(struct cli_oneshot *link, const struct cli_doc *doc, int code)
{
    if (code == CLI_OK && cli_oneshot_put_json(link, doc, code))
        return;
    cli_failure_put(link->cli, code, NULL, doc);
    cli_oneshot_finish(link, code);
}

/* ---- blocks ---- */

struct block_part {
    const struct cli_doc *doc;
    const struct mcplug_block *block;
};

static bool is_data(const struct mcplug_block *b)
{
    return b->kind != MCPLUG_BLOCK_TEXT && b->kind != MCPLUG_BLOCK_OTHER &&
           b->kind != MCPLUG_BLOCK_LINK && !b->text.len;
}

/* A link has nothing to save, nor has a part of a resource without content. */
static bool is_saved(const struct mcplug_block *b)
{
    return b->kind != MCPLUG_BLOCK_LINK && !(is_data(b) && !b->data.len);
}

static int write_block(void *arg, struct cli_out *out)
{
    const struct block_part *p = arg;
    struct json_part json = {p->doc, p->block->json};

    if (p->block->kind == MCPLUG_BLOCK_OTHER)
        return write_json(&json, out);
    if (is_data(p->block))
        return cli_content_data(p->doc, p->block, out);
    return p->block->text.len ? cli_doc_text(p->doc, p->block->text, out) : MCPLUG_OK;
}

/* How many blocks of a kind there were. */
struct numbers {
    unsigned text, image, audio, resource, other, all;
};

static void add_number(struct mp_str *name, const char *stem, unsigned number,
                       const char *extension)
{
    mp_str_addf(name, "%s-%u%s", stem, number, extension);
}

static bool is_html(const char *extension)
{
    return strcasecmp(extension, ".html") == 0 || strcasecmp(extension, ".htm") == 0;
}

/* The last part of its URI; an extension where that has none, and that of HTML for an
 * app. */
static bool add_uri_name(struct mp_str *name, const struct mcplug_block *b,
                         const char *extension)
{
    struct mp_str uri;

    mp_str_init(&uri, PATH_MAX_BYTES);
    if (b->uri.len <= PATH_MAX_BYTES)
        mp_str_add_view(&uri, b->uri);
    mp_safe_name(uri.data ? uri.data : "", uri.len, name);
    mp_str_clear(&uri);
    const char *has = name->len ? mp_name_extension(name->data) : "";
    bool lacks =
        cli_content_is_app(b) ? !is_html(has) : !*has && strcmp(extension, ".bin") != 0;
    if (name->len && lacks)
        mp_str_adds(name, extension);
    return name->len > 0;
}

static void add_block_name(struct mp_str *name, const struct mcplug_block *b,
                           const struct mp_str *mime, struct numbers *n)
{
    const char *extension = mime->len ? mp_mime_extension(mime->data, mime->len) : ".bin";
    const char *text_extension = mime->len ? extension : ".txt";

    switch (b->kind) {
    case MCPLUG_BLOCK_TEXT:
        add_number(name, "text", ++n->text, text_extension);
        break;
    case MCPLUG_BLOCK_IMAGE:
        add_number(name, "image", ++n->image, extension);
        break;
    case MCPLUG_BLOCK_AUDIO:
        add_number(name, "audio", ++n->audio, extension);
        break;
    case MCPLUG_BLOCK_RESOURCE:
    case MCPLUG_BLOCK_CONTENTS:
        if (!add_uri_name(name, b, extension))
            add_number(name, "resource", ++n->resource,
                       is_data(b) ? extension : text_extension);
        break;
    default:
        add_number(name, "block", ++n->other, ".json");
    }
}

static const char *type_of(const struct mcplug_block *b, const struct mp_str *mime)
{
    if (b->kind == MCPLUG_BLOCK_OTHER)
        return "application/json";
    if (mime->len)
        return mime->data;
    return is_data(b) ? "application/octet-stream" : "text/plain";
}

static int save_block(struct cli_save *s, struct cli *cli, const struct cli_doc *doc,
                      const struct mcplug_block *b, struct numbers *n)
{
    struct block_part part = {doc, b};
    struct cli_saved what = {.write = write_block, .arg = &part};
    struct mp_str mime, name;
    char which[64];
    int code = CLI_INTERNAL;

    mp_str_init(&mime, TYPE_MAX);
    mp_str_init(&name, 512);
    if (b->mime.len <= TYPE_MAX && !mp_str_add_view(&mime, b->mime))
        mp_str_clear(&mime);
    add_block_name(&name, b, &mime, n);
    snprintf(which, sizeof which, "the data of block %u", n->all);
    what.name = name.data;
    what.type = type_of(b, &mime);
    what.what = which;
    if (name.failed)
        cli_error("out of memory");
    else
        code = cli_save_one(s, cli, &what);
    mp_str_clear(&mime);
    mp_str_clear(&name);
    return code;
}

int cli_save_text(struct cli_save *s, struct cli *cli, const struct cli_doc *doc,
                  mp_view string)
{
    struct mcplug_block block = {.kind = MCPLUG_BLOCK_TEXT, .text = string};
    struct numbers n = {.all = 1};
    return save_block(s, cli, doc, &block, &n);
}

/* Each one that can be saved is, whatever became of those before it, until a write
 * fails. */
static int save_all(struct cli_save *s, struct cli *cli, const struct cli_doc *doc,
                    mp_view blocks)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    struct cli_out *out = &cli->out;
    struct numbers n = {0};
    int code = CLI_OK;

    while (!s->failed && !out->failed && mcplug_block_next(&blocks, &block)) {
        n.all++;
        if (is_saved(&block)) {
            int saved = save_block(s, cli, doc, &block, &n);
            code = code == CLI_OK ? saved : code;
        } else if (!cli->args.json) {
            cli_out_fresh_line(out);
            cli_content_block(doc, &block, out);
        }
    }
    cli_out_fresh_line(out);
    if (code == CLI_OK && !s->n_saved)
        cli_note("the result has nothing to save");
    return code;
}

/* All but the one that was saved. */
static void put_rest(const struct cli_doc *doc, mp_view blocks, const unsigned char *but,
                     struct cli_out *out)
{
    struct mcplug_block block = {.struct_size = sizeof block};

    while (!out->failed && mcplug_block_next(&blocks, &block)) {
        if (block.json.data == but)
            continue;
        cli_out_fresh_line(out);
        cli_content_block(doc, &block, out);
    }
    cli_out_fresh_line(out);
}

/* Data on standard output stays alone there. */
static void put_rest_beside(const struct cli_doc *doc, mp_view blocks,
                            const unsigned char *but)
{
    struct cli_out *err = mp_alloc(sizeof *err);

    if (!err)
        return;
    cli_out_init(err, STDERR_FILENO);
    put_rest(doc, blocks, but, err);
    cli_out_flush(err);
    mp_free(err);
}

/* The one block that a file is for: the only one, or the only one that is data. NULL
 * data: there is none; `*n` are those that there are. */
static struct mcplug_block find_block(mp_view blocks, size_t *n, unsigned *number)
{
    struct mcplug_block block = {.struct_size = sizeof block}, one = {0}, data = {0};
    size_t n_data = 0;
    unsigned at = 0, data_at = 0;

    *n = 0;
    for (unsigned i = 1; mcplug_block_next(&blocks, &block); i++) {
        if (is_saved(&block) && (*n)++ == 0) {
            one = block;
            at = i;
        }
        if (is_saved(&block) && is_data(&block) && n_data++ == 0) {
            data = block;
            data_at = i;
        }
    }
    *number = *n == 1 ? at : data_at;
    if (*n != 1)
        one = n_data == 1 ? data : (struct mcplug_block){0};
    return one;
}

static int save_single(struct cli_save *s, struct cli *cli, const struct cli_doc *doc,
                       mp_view blocks)
{
    struct numbers numbers = {0};
    size_t n;
    struct mcplug_block block = find_block(blocks, &n, &numbers.all);

    if (n == 0) {
        cli_error("the result has nothing to save");
        return CLI_BAD_ARGUMENTS;
    }
    if (!block.json.len) {
        cli_error("the result has %zu parts, and -o names one file", n);
        cli_hint("-o DIR/ saves each of them.");
        return CLI_BAD_ARGUMENTS;
    }
    if (s->to == CLI_SAVE_STDOUT && is_data(&block) && cli->out.terminal) {
        cli_error("data is not written to a terminal");
        cli_hint("-o FILE saves it.");
        return CLI_BAD_ARGUMENTS;
    }
    int code = save_block(s, cli, doc, &block, &numbers);
    if (code == CLI_OK && s->to == CLI_SAVE_STDOUT)
        put_rest_beside(doc, blocks, block.json.data);
    else if (code == CLI_OK)
        put_rest(doc, blocks, block.json.data, &cli->out);
    return code;
}

int cli_save_blocks(struct cli_save *s, struct cli *cli, const struct cli_doc *doc,
                    mp_view blocks)
{
    return s->to == CLI_SAVE_DIR ? save_all(s, cli, doc, blocks)
                                 : save_single(s, cli, doc, blocks);
}
