#include "cli/commands/commands.h"

#include "base/buf.h"
#include "base/error.h"
#include "cli/base/content.h"
#include "cli/base/message.h"
#include "cli/skills/place.h"
#include "cli/skills/skills.h"
#include "plugins/common/url.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct job {
    struct cli_skill_list list; /* first: see there */
    struct cli_skill skill;
    const struct cli_skill_file *wanted; /* what is printed; NULL: all go to `place` */
    size_t at;                           /* of the files: the one that was asked for */
    struct mp_str below;
    struct cli_place place;
};

static void ask(struct cli_oneshot *link, struct job *job);

/* ---- failures ---- */

/* What a server sent is wrong, or a file of ours is. */
static void fail(struct cli_oneshot *link, const struct job *job,
                 const struct mcplug_error *err)
{
    if (err->code == MCPLUG_EIO) {
        cli_error("%s", err->text);
        cli_oneshot_finish(link, CLI_IO_ERROR);
    } else if (err->code == MCPLUG_ENOMEM) {
        cli_oneshot_fail(link, err, NULL);
    } else {
        cli_error("skill \"%s\" of server \"%s\" is not used: %s",
                  job->skill.name ? job->skill.name : link->cli->args.words.items[0],
                  mcplug_server_name(link->server), err->text);
        cli_oneshot_finish(link, err->code == MCPLUG_ETOOBIG ? CLI_TOO_BIG
                                                             : CLI_BROKEN_PROTOCOL);
    }
}

/* A file is not what the list says: it may have changed since, or somebody lies. */
static void fail_verify(struct cli_oneshot *link, const struct job *job,
                        const struct mcplug_error *err)
{
    fail(link, job, err);
    if (err->code == MCPLUG_EPROTO)
        cli_hint("If the skill has just been changed, try again. Nothing was kept.");
}

/* ---- to standard output ---- */

/* The same as `mcplug read`: byte for byte, and escaped at a terminal. */
static void put_file(struct cli_oneshot *link, const struct cli_doc *doc,
                     const struct mcplug_block *part)
{
    struct cli *cli = link->cli;
    int r;

    if (cli_oneshot_put_json(link, doc, CLI_OK))
        return;
    if (part->text.len) {
        r = cli_doc_text(doc, part->text, &cli->out);
        if (!cli->args.raw || cli->out.terminal)
            cli_out_fresh_line(&cli->out);
    } else {
        r = cli->out.terminal ? cli_content_block(doc, part, &cli->out)
                              : cli_content_data(doc, part, &cli->out);
    }
    cli_oneshot_done(link, r, CLI_OK);
}

/* ---- to a directory ---- */

struct writer {
    int fd, error;
};

static int write_sink(void *arg, const char *data, size_t len)
{
    struct writer *w = arg;

    while (len && !w->error) {
        ssize_t n = write(w->fd, data, len);
        if (n < 0 && errno != EINTR)
            w->error = errno;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return !w->error;
}

static int save(struct job *job, const struct cli_doc *doc,
                const struct mcplug_block *part, struct mcplug_error *err)
{
    const char *path = job->skill.files[job->at].path;
    struct writer w = {.fd = cli_place_create(&job->place, path, err)};

    if (w.fd < 0)
        return MCPLUG_EIO;
    int r = cli_skill_write(doc, part, write_sink, &w);
    if (close(w.fd) != 0 && !w.error)
        w.error = errno;
    if (w.error)
        return mp_fail_os(err, MCPLUG_EIO, w.error, "cannot write %.300s", path);
    return r == MCPLUG_OK
               ? r
               : mp_fail(err, MCPLUG_EIO,
                         "cannot read %.300s back from its temporary file", path);
}

static int put_saved(struct cli_oneshot *link, const struct job *job)
{
    const char *server = mcplug_server_name(link->server), *path = job->place.path;
    const struct cli_skill *s = &job->skill;
    struct cli *cli = link->cli;

    if (!cli->args.json) {
        cli_out_shown(&cli->out, path, strlen(path));
        cli_out_s(&cli->out, "\n");
        return CLI_OK;
    }
    struct mp_str text;
    mp_str_init(&text, (size_t)1 << 20);
    mp_str_adds(&text, "{\"server\":");
    mp_str_add_json(&text, server, strlen(server));
    mp_str_adds(&text, ",\"uri\":");
    mp_str_add_json(&text, s->uri, strlen(s->uri));
    mp_str_adds(&text, ",\"name\":");
    mp_str_add_json(&text, s->name, strlen(s->name));
    mp_str_adds(&text, ",\"directory\":");
    mp_str_add_json(&text, path, strlen(path));
    mp_str_addf(&text, ",\"files\":%zu,\"bytes\":%" PRIu64 "}\n", s->n_files, s->bytes);
    return cli_put_document(cli, &text, CLI_OK);
}

static void keep_file(struct cli_oneshot *link, struct job *job,
                      const struct cli_doc *doc, const struct mcplug_block *part)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int r = job->at == 0 ? cli_place_begin(&job->place, &err) : MCPLUG_OK;

    if (r == MCPLUG_OK)
        r = save(job, doc, part, &err);
    if (r == MCPLUG_OK && ++job->at < job->skill.n_files) {
        ask(link, job);
        return;
    }
    if (r == MCPLUG_OK)
        r = cli_place_commit(&job->place, &err);
    if (r == MCPLUG_OK)
        cli_oneshot_finish(link, put_saved(link, job));
    else
        fail(link, job, &err);
}

/* ---- reading ---- */

static void on_file(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_block part = {.struct_size = sizeof part};
    struct job *job = arg;

    int r = job->at == 0 ? cli_skill_verify_main(doc, &job->skill, &part, &err)
                         : cli_skill_verify(doc, &job->skill.files[job->at], &part, &err);
    if (r != MCPLUG_OK) {
        fail_verify(link, job, &err);
    } else if (!job->wanted) {
        keep_file(link, job, doc, &part);
    } else if (job->wanted == &job->skill.files[job->at]) {
        put_file(link, doc, &part);
    } else {
        job->at = (size_t)(job->wanted - job->skill.files);
        ask(link, job);
    }
}

static void ask(struct cli_oneshot *link, struct job *job)
{
    const struct cli_skill_file *file = &job->skill.files[job->at];
    struct mp_str params;

    mp_str_init(&params, (size_t)1 << 20);
    mp_str_adds(&params, "{\"uri\":");
    mp_str_add_json(&params, file->uri, strlen(file->uri));
    mp_str_adds(&params, "}");
    cli_oneshot_request(link, file->path, "resources/read", params.data, on_file);
    mp_str_clear(&params);
}

/* ---- choosing ---- */

/* The directory tells the server and the skill, so that no two skills meet. */
static int find_place(struct cli_oneshot *link, struct job *job, struct mcplug_error *err)
{
    const struct cli_args *args = &link->cli->args;

    cli_skill_add_encoded(&job->below, mcplug_server_name(link->server));
    mp_str_addc(&job->below, '/');
    mp_str_adds(&job->below, job->skill.place);
    if (job->below.failed)
        return mp_fail_nomem(err);
    return cli_place_init(&job->place, args->output, job->below.data, args->force, err);
}

/* What the words want, once the entry is known. false: the command was ended. */
static bool choose(struct cli_oneshot *link, struct job *job)
{
    const struct cli_list *words = &link->cli->args.words;
    const char *server = link->cli->args.server;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const struct cli_skill *s = &job->skill;

    if (s->dynamic) {
        cli_error("skill \"%s\" of server \"%s\" is generated and has no digests, so it "
                  "cannot be verified",
                  s->name, mcplug_server_name(link->server));
        cli_hint("`mcplug read%s%s %s` shows it as it comes.", server ? " " : "",
                 server ? server : "", s->uri);
        cli_oneshot_finish(link, CLI_UNSUPPORTED);
        return false;
    }
    if (link->cli->args.output) {
        if (find_place(link, job, &err) == MCPLUG_OK)
            return true;
        fail(link, job, &err);
        return false;
    }
    job->wanted = cli_skill_find(s, words->n > 1 ? words->items[1] : CLI_SKILL_MAIN);
    if (job->wanted)
        return true;
    cli_error("skill \"%s\" of server \"%s\" has no file \"%s\"", s->name,
              mcplug_server_name(link->server), words->items[1]);
    cli_hint("`mcplug skills%s%s %s` lists its files.", server ? " " : "",
             server ? server : "", words->items[0]);
    cli_oneshot_finish(link, CLI_NOT_FOUND);
    return false;
}

static void begin(struct cli_oneshot *link, struct job *job, mp_view item)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (cli_skill_read(item, &job->skill, &err) != MCPLUG_OK)
        fail(link, job, &err);
    else if (choose(link, job))
        ask(link, job);
}

static void on_list(struct cli_oneshot *link, void *arg)
{
    struct job *job = arg;
    mp_view item = cli_skill_list_find(link, &job->list, link->cli->args.words.items[0]);

    if (item.len)
        begin(link, job, item);
}

static int entry_sink(void *arg, const char *data, size_t len)
{
    return mp_str_add(arg, data, len);
}

static void on_entry(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    const char *uri = link->cli->args.words.items[0];
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct job *job = arg;
    struct mp_str text;

    mp_str_init(&text, (size_t)4 << 20);
    int r = mcplug_result_write(doc->result, 0, doc->len, entry_sink, &text, &err);
    mp_view item = mp_view_get(mp_view_trim(mp_bytes(text.data, text.len)), "skill");
    if (text.failed)
        r = mp_fail(&err, MCPLUG_ETOOBIG, "its entry has more than 4 MiB");
    else if (r == MCPLUG_OK && !mp_view_equals(mp_view_get(item, "uri"), uri))
        r = mp_fail(&err, MCPLUG_EPROTO, "the answer is about another skill");
    if (r == MCPLUG_OK)
        begin(link, job, item);
    else
        fail(link, job, &err);
    mp_str_clear(&text);
}

static void on_end(struct cli_oneshot *link, void *arg)
{
    struct job *job = arg;
    (void)link;

    cli_place_clear(&job->place);
}

static void on_ready(struct cli_oneshot *link, void *arg)
{
    const char *word = link->cli->args.words.items[0];
    struct job *job = arg;
    struct mp_str params;

    link->ended = on_end;
    if (!cli_skills_offered(link))
        return;
    if (!url_scheme(word)) {
        cli_skill_list_get(link, &job->list, on_list);
        return;
    }
    mp_str_init(&params, (size_t)1 << 20);
    mp_str_adds(&params, "{\"uri\":");
    mp_str_add_json(&params, word, strlen(word));
    mp_str_adds(&params, "}");
    cli_oneshot_request(link, word, "skills/get", params.data, on_entry);
    mp_str_clear(&params);
}

static int run(struct cli *cli)
{
    struct job job = {.place = CLI_PLACE_NONE};

    if (cli->args.output && cli->args.words.n > 1) {
        cli_error("--output is for all files of a skill, \"%s\" for one of them",
                  cli->args.words.items[1]);
        return CLI_USAGE;
    }
    mp_str_init(&job.below, (size_t)1 << 16);
    int code = cli_oneshot_run(cli, on_ready, &job);
    cli_place_clear(&job.place);
    mp_str_clear(&job.below);
    cli_skill_clear(&job.skill);
    cli_skill_list_clear(&job.list);
    return code;
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, "DIR",
     "write all files of the skill to a directory in DIR, named after the server and the "
     "skill",
     offsetof(struct cli_args, output), .complete.is = CLI_WORD_DIRECTORY},
    {"force", 0, CLI_FLAG, NULL, "with --output, replace the skill if it is there",
     .at = offsetof(struct cli_args, force)},
    {"raw", 0, CLI_FLAG, NULL,
     "add no newline to text that ends without one; a terminal gets it anyway",
     .at = offsetof(struct cli_args, raw)},
    {.name = NULL},
};

const struct cli_command cli_cmd_skill = {
    .name = "skill",
    .words = "NAME|URI [FILE]",
    .summary = "Print a skill's SKILL.md, or write all its files to a directory.",
    .details =
        "With FILE, that file of the skill is printed instead. Sizes and digests of the "
        "files and the frontmatter of SKILL.md are compared with what the server says "
        "of the skill before anything is printed or kept.\n"
        "A skill is text from a server: instructions and programs in it are never "
        "followed or run here.",
    .hint = "skills",
    .options = options,
    .flags = CLI_SERVER | CLI_REQUEST,
    .min_words = 1,
    .max_words = 2,
    .complete = {{.is = CLI_WORD_FREE}},
    .run = run,
};
