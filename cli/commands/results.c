/* Results that were too long for a model, and are kept in files. */
#include "cli/commands/commands.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/base/doc.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"
#include "cli/complete/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECE ((size_t)1 << 18)
#define DOCUMENT_MAX ((size_t)64 << 20) /* of --json */
#define SHOWN_MAX ((uint64_t)1 << 20)   /* of a result in one document */

static int failed(const struct mcplug_error *err)
{
    cli_error("%s", err->text);
    return err->code == MCPLUG_ENOMEM   ? CLI_INTERNAL
           : err->code == MCPLUG_EIO    ? CLI_IO_ERROR
           : err->code == MCPLUG_EPROTO ? CLI_BAD_ARGUMENTS
                                        : CLI_NOT_FOUND;
}

/* ---- list ---- */

struct listing {
    struct cli *cli;
    struct mp_str json;
    size_t n;
    uint64_t size;
};

static void put_size(struct cli_out *out, uint64_t size)
{
    static const char units[] = "BKMGT";
    double n = (double)size;
    size_t i = 0;

    for (; n >= 1024 && i + 2 < sizeof units; i++)
        n /= 1024;
    cli_out_f(out, i ? "%6.1f %c" : "%6.0f %c", n, units[i]);
}

static void put_row(struct cli_out *out, const struct mcplug_stored *one)
{
    char when[32];
    time_t at = (time_t)(one->time_ms / 1000);
    struct tm tm;

    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", localtime_r(&at, &tm));
    cli_out_f(out, "%s ", when);
    put_size(out, one->size);
    cli_out_s(out, "  ");
    cli_out_style(out, CLI_BOLD);
    cli_out_shown(out, one->name, strlen(one->name));
    cli_out_style(out, CLI_PLAIN);
    cli_out_s(out, "\n");
}

static int take_row(void *arg, const struct mcplug_stored *one)
{
    struct listing *l = arg;

    if (!l->cli->args.json) {
        put_row(&l->cli->out, one);
    } else {
        mp_str_adds(&l->json, l->n ? ",{" : "{");
        cli_json_member(&l->json, "name", one->name);
        cli_json_member(&l->json, "path", one->path);
        cli_json_member(&l->json, "server", one->server);
        cli_json_member(&l->json, "tool", one->tool);
        cli_json_member(&l->json, "format", one->format);
        mp_str_addf(&l->json, ",\"size\":%llu,\"time\":%lld}",
                    (unsigned long long)one->size, (long long)one->time_ms);
    }
    l->n++;
    l->size += one->size;
    return !l->cli->out.failed;
}

static int run_list(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct listing l = {.cli = cli};

    mp_str_init(&l.json, DOCUMENT_MAX);
    mp_str_adds(&l.json, "{\"results\":[");
    int r = mcplug_stored_each(NULL, take_row, &l, &err);
    if (r == MCPLUG_OK && cli->args.json) {
        mp_str_adds(&l.json, "]}\n");
        return cli_put_document(cli, &l.json, CLI_OK);
    }
    mp_str_clear(&l.json);
    if (r != MCPLUG_OK)
        return failed(&err);
    if (!l.n)
        cli_hint("No results are kept. Those that are too long for a model are, for 7 "
                 "days.");
    return CLI_OK;
}

/* ---- show ---- */

/* Bytes of a file, or what a path leads to: from `skip` on, `left` of them. */
struct shown {
    struct cli_out *out; /* NULL: `json` */
    struct mp_str *json;
    uint64_t skip, left;
    bool is_any; /* also of a value that is longer than what is wanted of it */
    bool is_full;
};

static int take_bytes(void *arg, const char *data, size_t len)
{
    struct shown *s = arg;
    uint64_t skip = s->skip < len ? s->skip : len;

    s->is_any = true;
    s->skip -= skip;
    data += skip;
    len -= (size_t)skip;
    if (len > s->left) {
        len = (size_t)s->left;
        s->is_full = true;
    }
    s->left -= len;
    if (s->out)
        cli_doc_text_sink(s->out, data, len);
    else
        mp_str_add(s->json, data, len);
    return !s->is_full && !(s->out ? s->out->failed : s->json->failed);
}

static int read_bytes(const char *name, uint64_t offset, struct shown *s, uint64_t *size,
                      struct mcplug_error *err)
{
    char *piece = mp_alloc(PIECE);
    int64_t n = piece ? 1 : mp_fail_nomem(err);
    int more = 1;

    while (n > 0 && more) {
        size_t most = s->left < PIECE ? (size_t)s->left : PIECE;
        n = mcplug_stored_read(NULL, name, offset, piece, most, size, err);
        if (n > 0)
            more = take_bytes(s, piece, (size_t)n);
        offset += n > 0 ? (uint64_t)n : 0;
        more = more && s->left;
    }
    mp_free(piece);
    return n < 0 ? (int)n : MCPLUG_OK;
}

/* A number of an option that may be 0; false: it is none. */
static bool number_of(const char *option, const char *text, uint64_t otherwise,
                      uint64_t *out)
{
    char *end;

    *out = otherwise;
    if (!text)
        return true;
    unsigned long long n = strtoull(text, &end, 10);
    *out = n;
    if (text[0] >= '0' && text[0] <= '9' && !*end)
        return true;
    cli_error("%s: expected a number, got \"%s\"", option, text);
    return false;
}

static int show_json(struct cli *cli, const char *name, uint64_t offset, uint64_t length)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *path = cli->args.path;
    struct mp_str text, out;
    struct shown s = {.json = &text, .left = length < SHOWN_MAX ? length : SHOWN_MAX};
    uint64_t size = 0;

    mp_str_init(&text, DOCUMENT_MAX);
    mp_str_init(&out, DOCUMENT_MAX);
    mp_str_adds(&text, "");
    int r;
    if (path) {
        s.skip = offset;
        r = mcplug_stored_select(NULL, name, path, take_bytes, &s, NULL, &err);
    } else {
        r = read_bytes(name, offset, &s, &size, &err);
    }
    if (r == MCPLUG_OK) {
        int code = path && !s.is_any ? CLI_NOTHING : CLI_OK;
        bool more = path ? s.is_full : offset + text.len < size;
        mp_str_adds(&out, "{");
        cli_json_member(&out, "name", name);
        mp_str_addf(&out,
                    ",\"offset\":%llu,\"more\":%s,\"text\":", (unsigned long long)offset,
                    more ? "true" : "false");
        mp_str_add_json(&out, text.data, text.len);
        mp_str_adds(&out, "}\n");
        r = cli_put_document(cli, &out, code);
    } else {
        r = failed(&err);
    }
    mp_str_clear(&out);
    mp_str_clear(&text);
    return r;
}

static int run_show(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *name = cli->args.words.items[1], *path = cli->args.path;
    uint64_t offset, length;
    int r;

    if (!number_of("--offset", cli->args.offset, 0, &offset) ||
        !number_of("--length", cli->args.length, UINT64_MAX, &length))
        return CLI_USAGE;
    if (cli->args.json)
        return show_json(cli, name, offset, length);
    struct shown s = {.out = &cli->out, .left = length};
    if (path) {
        s.skip = offset;
        r = mcplug_stored_select(NULL, name, path, take_bytes, &s, NULL, &err);
    } else {
        r = read_bytes(name, offset, &s, NULL, &err);
    }
    cli_out_text_end(&cli->out);
    if (r != MCPLUG_OK)
        return failed(&err);
    if (cli->out.terminal)
        cli_out_fresh_line(&cli->out);
    return path && !s.is_any ? CLI_NOTHING : CLI_OK;
}

/* ---- grep ---- */

struct found {
    struct cli *cli;
    const char *name, *text;
    bool several; /* files */
    struct mp_str json;
    uint64_t n;
    int code;
};

static void put_text(struct cli_out *out, const char *text, size_t len)
{
    cli_doc_text_sink(out, text, len);
    cli_out_text_end(out);
}

static void put_match(struct cli_out *out, const struct found *f,
                      const struct mcplug_match *m)
{
    if (f->several) {
        cli_out_shown(out, f->name, strlen(f->name));
        cli_out_s(out, ":");
    }
    cli_out_f(out, "%llu:", (unsigned long long)m->line);
    put_text(out, m->text, m->at);
    cli_out_style(out, CLI_RED);
    put_text(out, m->text + m->at, m->match_len);
    cli_out_style(out, CLI_PLAIN);
    put_text(out, m->text + m->at + m->match_len, m->len - m->at - m->match_len);
    cli_out_s(out, "\n");
}

static int take_match(void *arg, const struct mcplug_match *m)
{
    struct found *f = arg;

    if (!f->cli->args.json) {
        put_match(&f->cli->out, f, m);
    } else {
        mp_str_adds(&f->json, f->n ? ",{" : "{");
        cli_json_member(&f->json, "name", f->name);
        mp_str_addf(&f->json, ",\"line\":%llu,\"offset\":%llu,\"text\":",
                    (unsigned long long)m->line, (unsigned long long)m->offset);
        mp_str_add_json(&f->json, m->text, m->len);
        mp_str_addc(&f->json, '}');
    }
    f->n++;
    return !f->cli->out.failed && !f->json.failed;
}

static int search_one(void *arg, const struct mcplug_stored *one)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct found *f = arg;

    f->name = one->name;
    if (mcplug_stored_search(NULL, f->name, f->text, f->cli->args.ignore_case, 0,
                             take_match, f, &err) != MCPLUG_OK)
        f->code = cli_worse(f->code, failed(&err));
    return !f->cli->out.failed;
}

static int run_grep(struct cli *cli)
{
    const struct cli_list *words = &cli->args.words;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct found f = {.cli = cli, .text = words->items[1], .several = words->n != 3};

    mp_str_init(&f.json, DOCUMENT_MAX);
    mp_str_adds(&f.json, "{\"matches\":[");
    if (!*f.text) {
        cli_error("the text to find is empty");
        f.code = CLI_USAGE;
    } else if (words->n == 2 &&
               mcplug_stored_each(NULL, search_one, &f, &err) != MCPLUG_OK) {
        f.code = failed(&err);
    }
    for (size_t i = 2; i < words->n; i++) {
        struct mcplug_stored one = {.name = words->items[i]};
        search_one(&f, &one);
    }
    int code = f.code != CLI_OK ? f.code : f.n ? CLI_OK : CLI_NOTHING;
    if (cli->args.json && f.code == CLI_OK) {
        mp_str_adds(&f.json, "]}\n");
        code = cli_put_document(cli, &f.json, code);
    }
    mp_str_clear(&f.json);
    return code;
}

/* ---- rm ---- */

struct removal {
    struct cli *cli;
    struct mp_str json;
    size_t n;
    int code;
};

static int remove_one(void *arg, const struct mcplug_stored *one)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct removal *r = arg;

    if (mcplug_stored_remove(NULL, one->name, &err) != MCPLUG_OK) {
        r->code = cli_worse(r->code, failed(&err));
        return 1;
    }
    mp_str_adds(&r->json, r->n ? "," : "");
    mp_str_add_json(&r->json, one->name, strlen(one->name));
    r->n++;
    return 1;
}

static int run_rm(struct cli *cli)
{
    const struct cli_list *words = &cli->args.words;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct removal r = {.cli = cli};

    if ((words->n == 1) != cli->args.all) {
        cli_error(cli->args.all ? "use either names or --all, not both"
                                : "results rm needs a name, or --all");
        return CLI_USAGE;
    }
    mp_str_init(&r.json, DOCUMENT_MAX);
    mp_str_adds(&r.json, "{\"removed\":[");
    if (cli->args.all && mcplug_stored_each(NULL, remove_one, &r, &err) != MCPLUG_OK)
        r.code = failed(&err);
    for (size_t i = 1; i < words->n; i++) {
        struct mcplug_stored one = {.name = words->items[i]};
        remove_one(&r, &one);
    }
    if (cli->args.json && r.code == CLI_OK) {
        mp_str_adds(&r.json, "]}\n");
        return cli_put_document(cli, &r.json, CLI_OK);
    }
    mp_str_clear(&r.json);
    if (!cli->args.json && !cli->args.quiet && (r.n || r.code == CLI_OK))
        cli_out_f(&cli->out, "Removed %zu result%s.\n", r.n, r.n == 1 ? "" : "s");
    return r.code;
}

/* ---- the command ---- */

static const struct {
    const char *name;
    int (*run)(struct cli *cli);
    size_t min, max; /* words, its own included */
    const char *words;
} actions[] = {
    {"list", run_list, 1, 1, ""},
    {"show", run_show, 2, 2, " NAME"},
    {"grep", run_grep, 2, CLI_MANY, " TEXT [NAME...]"},
    {"rm", run_rm, 1, CLI_MANY, " NAME... or --all"},
};

static const struct cli_choice action_choices[] = {
    {"list", "what is kept, the newest first"},
    {"show", "print one, or a part of it"},
    {"grep", "find text"},
    {"rm", "remove some"},
    {NULL, NULL},
};

static int run(struct cli *cli)
{
    const struct cli_list *words = &cli->args.words;

    if (!words->n)
        return run_list(cli);
    for (size_t i = 0; i < MP_COUNT(actions); i++) {
        if (strcmp(words->items[0], actions[i].name) != 0)
            continue;
        if (words->n >= actions[i].min && words->n <= actions[i].max)
            return actions[i].run(cli);
        cli_error("expected `mcplug results %s%s`", actions[i].name, actions[i].words);
        return CLI_USAGE;
    }
    cli_error("results: there is no \"%s\"; there are list, show, grep and rm",
              words->items[0]);
    return CLI_USAGE;
}

static int offer_one(void *arg, const struct mcplug_stored *one)
{
    struct cli_cursor *at = arg;
    cli_candidate(&at->cli->out, at->head, one->name, NULL);
    return 1;
}

static void offer_names(struct cli_cursor *at)
{
    mcplug_stored_each(NULL, offer_one, at, NULL);
}

static const struct cli_option options[] = {
    {"path", 0, CLI_TEXT, "PATH",
     "show: values of JSON, each on a line: .items[3].name, .items[0:10], .items[].id",
     offsetof(struct cli_args, path), .complete.is = CLI_WORD_FREE},
    {"offset", 0, CLI_TEXT, "BYTES", "show: begin there",
     offsetof(struct cli_args, offset), .complete.is = CLI_WORD_FREE},
    {"length", 0, CLI_TEXT, "BYTES", "show: no more than that",
     offsetof(struct cli_args, length), .complete.is = CLI_WORD_FREE},
    {"ignore-case", 'i', CLI_FLAG, NULL, "grep: letters of ASCII match in either case",
     .at = offsetof(struct cli_args, ignore_case)},
    {"all", 0, CLI_FLAG, NULL, "rm: every result", .at = offsetof(struct cli_args, all)},
    {.name = NULL},
};

const struct cli_command cli_cmd_results = {
    .name = "results",
    .words = "[list | show NAME | grep TEXT [NAME...] | rm NAME...]",
    .summary = "List, read, search and remove results that were kept in files.",
    .details =
        "A tool's result that is too long for a model is kept whole in a private file, "
        "for 7 days, and 4 GiB of them at most. list names them, the newest first. show "
        "prints one, or a part of it: with --path values of its JSON, with --offset and "
        "--length some bytes. grep finds plain text, not a pattern, in all results or "
        "those that are named. However long a result is, that takes little memory.\n\n"
        "A result is named by its file's name, or by a beginning of it that no other "
        "has. If nothing is found, the exit code is 1.",
    .options = options,
    .max_words = CLI_MANY,
    .complete = {{.choices = action_choices}, {.offer = offer_names}},
    .run = run,
};
