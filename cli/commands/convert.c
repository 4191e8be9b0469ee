/* Content of files as models and terminals take it, by the modules that convert. No
 * server is involved. */
#include "cli/commands/commands.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/base/by_name.h"
#include "cli/base/content.h"
#include "cli/base/draw.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"
#include "cli/base/oneshot.h"
#include "cli/base/save.h"
#include "cli/base/signals.h"
#include "content/filename.h"
#include "content/image.h"
#include "plugins/common/base64.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTENT_MAX ((size_t)64 << 20) /* as mcplug_convert() takes it */
#define STEP ((size_t)1 << 18)
#define SNIFFED 1024 /* bytes in which XML says what it is */
#define SETTINGS_MAX ((size_t)1 << 16)
#define DOCUMENT_MAX ((size_t)450 << 20) /* 64 MiB of text, and most of it escaped */
#define TEXT_TYPE "text/plain"

struct job {
    struct cli *cli;
    const char *name;       /* for people: the file, or "standard input" */
    struct mp_str content;  /* of the file */
    const char *mime;       /* what it is */
    const char *want;       /* a type; NULL: the same */
    bool draws;             /* an image is wanted as text for a terminal */
    bool has_format;        /* of which kind, --set says */
    struct mp_str settings; /* members of a JSON object; empty: none */
    struct cli_save save;
    struct cli_loop loop;
    struct cli_progress progress;
    struct cli_draw draw;
    mcplug_call *call; /* under way; NULL: none */
    const mcplug_converted *converted;
    bool ended;
    int code;
};

/* ---- what is given ---- */

static int read_content(struct job *job, int fd)
{
    for (ssize_t n = 1; n != 0;) {
        size_t room = CONTENT_MAX + 1 - job->content.len;
        if (!mp_str_reserve(&job->content, room < STEP ? room : STEP)) {
            cli_error("out of memory");
            return CLI_INTERNAL;
        }
        n = read(fd, job->content.data + job->content.len, room < STEP ? room : STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            cli_error("cannot read %s: %s", job->name, strerror(errno));
            return CLI_IO_ERROR;
        }
        job->content.len += (size_t)n;
        if (job->content.len > CONTENT_MAX) {
            cli_error("%s is too large: 64 MiB can be converted", job->name);
            return CLI_TOO_BIG;
        }
    }
    return CLI_OK;
}

static int read_file(struct job *job)
{
    const char *path = job->cli->args.words.items[0];
    struct stat st;

    job->name = strcmp(path, "-") == 0 ? "standard input" : path;
    if (strcmp(path, "-") == 0)
        return read_content(job, STDIN_FILENO);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        cli_error("cannot open %s: %s", path, strerror(errno));
        return CLI_IO_ERROR;
    }
    int code;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > (off_t)CONTENT_MAX) {
        char size[32];
        cli_size_text(size, sizeof size, (uint64_t)st.st_size);
        cli_error("%s is too large: it has %s, and 64 MiB can be converted", path, size);
        code = CLI_TOO_BIG;
    } else {
        code = read_content(job, fd);
    }
    close(fd);
    return code;
}

static bool begins(const char *text, size_t len, const char *with)
{
    return len >= strlen(with) && strncasecmp(text, with, strlen(with)) == 0;
}

static bool has(const char *text, size_t len, const char *part)
{
    for (; len >= strlen(part); text++, len--)
        if (begins(text, len, part))
            return true;
    return false;
}

static const char *type_of_bytes(const char *data, size_t len)
{
    struct mp_image image = mp_image_look(data, len);
    size_t skip = len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    if (image.mime || begins(data, len, "%PDF-"))
        return image.mime ? image.mime : "application/pdf";
    while (skip < len && strchr(" \t\r\n\f", data[skip]) && data[skip])
        skip++;
    data += skip;
    len -= skip;
    if (begins(data, len, "<!doctype html") || begins(data, len, "<html"))
        return "text/html";
    if (begins(data, len, "<?xml") && has(data, len < SNIFFED ? len : SNIFFED, "xhtml"))
        return "application/xhtml+xml";
    return NULL;
}

static const char *type_of_name(const char *path)
{
    static const char *const others[][2] = {
        {".htm", "text/html"},
        {".jpeg", "image/jpeg"},
        {".pam", CLI_PIXELS},
    };
    const char *extension = mp_name_extension(path);

    for (size_t i = 0; i < MP_COUNT(others); i++)
        if (strcasecmp(extension, others[i][0]) == 0)
            return others[i][1];
    return mp_extension_mime(extension);
}

static int find_type(struct job *job)
{
    job->mime = job->cli->args.type;
    if (!job->mime)
        job->mime = type_of_bytes(job->content.data, job->content.len);
    if (!job->mime)
        job->mime = type_of_name(job->cli->args.words.items[0]);
    if (job->mime)
        return CLI_OK;
    cli_error("%s: neither its bytes nor its name show what it is", job->name);
    cli_hint("--type MIME says it, for example --type text/html.");
    return CLI_BAD_ARGUMENTS;
}

/* ---- what is wanted ---- */

static const struct cli_choice targets[] = {
    {"text", TEXT_TYPE},  {"png", "image/png"},   {"jpeg", "image/jpeg"},
    {"gif", "image/gif"}, {"webp", "image/webp"}, {"terminal", CLI_TERMINAL_TEXT},
    {NULL, NULL},
};

static int find_target(struct job *job)
{
    const char *to = job->cli->args.to;

    job->want = to;
    for (size_t i = 0; to && targets[i].name; i++)
        if (strcmp(targets[i].name, to) == 0)
            job->want = targets[i].about;
    if (!to || strchr(job->want, '/'))
        return CLI_OK;
    cli_error("--to: expected text, png, jpeg, gif, webp, terminal or a media type, got "
              "\"%.64s\"",
              to);
    return CLI_USAGE;
}

static bool is_image(const char *mime)
{
    return strncasecmp(mime, "image/", 6) == 0;
}

static bool is_type(const char *mime, const char *type)
{
    size_t n = strcspn(mime, "; \t");
    return n == strlen(type) && strncasecmp(mime, type, n) == 0;
}

/* Words that a terminal may get; not what controls it. */
static bool is_text(const char *mime)
{
    return strncasecmp(mime, "text/", 5) == 0;
}

static bool is_for_terminal(const struct job *job)
{
    return job->cli->out.terminal && !job->cli->args.json &&
           (!job->save.to || job->save.to == CLI_SAVE_STDOUT);
}

static int refuse_data(const char *mime)
{
    cli_error("%.100s is not written to a terminal", mime);
    cli_hint("-o FILE saves it.");
    return CLI_BAD_ARGUMENTS;
}

/* What is not said follows from the type and from where the output goes. */
static int plan(struct job *job)
{
    bool image = is_image(job->mime);

    if (!job->want && !image)
        job->want = TEXT_TYPE;
    else if (!job->want && is_for_terminal(job) && !job->save.to)
        job->want = CLI_TERMINAL_TEXT;
    job->draws = image && job->want && is_type(job->want, CLI_TERMINAL_TEXT);
    const char *out = job->want ? job->want : job->mime;
    return is_for_terminal(job) && !is_text(out) ? refuse_data(out) : CLI_OK;
}

/* ---- settings ---- */

static int read_settings(struct job *job)
{
    const struct cli_list *set = &job->cli->args.set;

    for (size_t i = 0; i < set->n; i++) {
        const char *equals = strchr(set->items[i], '=');
        if (!equals || equals == set->items[i]) {
            cli_error("--set: expected NAME=VALUE, got \"%s\"", set->items[i]);
            return CLI_USAGE;
        }
        char *name = mp_strndup(set->items[i], (size_t)(equals - set->items[i]));
        bool ours =
            name && job->draws && cli_screen_set(&job->draw.screen, name, equals + 1);
        job->has_format = job->has_format || (ours && strcmp(name, "format") == 0);
        if (name && !ours) {
            mp_str_adds(&job->settings, job->settings.len ? "," : "");
            mp_str_add_json(&job->settings, name, strlen(name));
            mp_str_addc(&job->settings, ':');
            mp_str_add_json(&job->settings, equals + 1, strlen(equals + 1));
        }
        bool failed = !name || job->settings.failed;
        mp_free(name);
        if (failed) {
            cli_error("--set: the settings are too long");
            return CLI_TOO_BIG;
        }
    }
    return CLI_OK;
}

/* ---- the conversion ---- */

static int failed(struct job *job, const struct mcplug_error *why)
{
    if (why->code == MCPLUG_ECANCELED && job->loop.signal)
        return CLI_SIGNAL + job->loop.signal; /* as asked: nothing to say */
    cli_error("%s: %s", job->name,
              why->text[0] ? why->text : mcplug_error_name(why->code));
    switch (why->code) {
    case MCPLUG_ENOTSUP:
        cli_hint("`mcplug plugins` lists the modules that are installed.");
        return CLI_UNSUPPORTED;
    case MCPLUG_ETIMEDOUT:
        cli_hint("--timeout TIME waits longer.");
        return CLI_TIMED_OUT;
    case MCPLUG_EPROTO:
    case MCPLUG_EINVAL:
        return CLI_BAD_ARGUMENTS;
    case MCPLUG_ETOOBIG:
        return CLI_TOO_BIG;
    case MCPLUG_ECONFIG:
        return CLI_BAD_CONFIG;
    case MCPLUG_ENOMEM:
        return CLI_INTERNAL;
    default:
        return CLI_BAD_MODULE;
    }
}

static void on_converted(void *arg, mcplug_call *call, const mcplug_converted *converted,
                         const struct mcplug_error *why)
{
    struct job *job = arg;
    (void)call;

    job->call = NULL;
    job->ended = true;
    cli_progress_end(&job->progress);
    if (converted)
        job->converted = mcplug_converted_ref(converted);
    else
        job->code = failed(job, why);
}

/* The limits of models hold for an image that stays one, unless others are given. */
static int start(struct job *job, struct mcplug_error *err)
{
    const struct cli_args *args = &job->cli->args;
    bool for_model = !job->want;
    uint32_t side = args->max_side ? (uint32_t)args->max_side
                    : for_model    ? MP_IMAGE_SIDE
                                   : 0;
    struct mcplug_convert_options o = {
        .struct_size = sizeof o,
        .timeout_ms = cli_ms(args->timeout),
        .mime = job->mime,
        .want = job->want,
        .max_bytes = args->max_bytes ? args->max_bytes
                     : for_model     ? MP_IMAGE_BYTES
                                     : 0,
        .max_width = side,
        .max_height = side,
    };
    struct mp_str settings;

    if (job->draws) {
        job->draw.host = job->loop.host;
        job->draw.settings = job->settings.data;
        job->draw.timeout_ms = o.timeout_ms;
        job->draw.max_side = side;
        job->draw.call = &job->call;
        job->draw.asks = is_for_terminal(job) && !job->has_format;
        job->draw.done = on_converted;
        job->draw.arg = job;
        return cli_draw_start(&job->draw, job->content.data, job->content.len, job->mime,
                              err);
    }
    mp_str_init(&settings, SETTINGS_MAX + 2);
    if (job->settings.len)
        mp_str_addf(&settings, "{%s}", job->settings.data);
    o.settings = settings.data;
    job->call = settings.failed
                    ? NULL
                    : mcplug_convert(job->loop.host, job->content.data, job->content.len,
                                     &o, on_converted, job, err);
    if (settings.failed)
        mp_fail_nomem(err);
    mp_str_clear(&settings);
    return job->call ? MCPLUG_OK : err->code;
}

static void on_log(void *arg, int level, const char *source, const char *text)
{
    (void)arg;
    cli_log_line(level, source, text);
}

static void on_stop(void *arg, int number)
{
    struct job *job = arg;
    (void)number;

    if (job->call)
        mcplug_cancel(job->call); /* its end ends us */
}

static void on_woken(void *arg, short revents)
{
    struct job *job = arg;
    (void)revents;
    cli_progress_tick(&job->progress);
}

static int convert(struct job *job)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!cli_config(job->cli)) /* says what is wrong with settings of converters */
        return CLI_BAD_CONFIG;
    mcplug *host = cli_host_new(job->cli, on_log, NULL, &err);
    if (!host) {
        cli_error("%s", err.text);
        return err.code == MCPLUG_ECONFIG ? CLI_BAD_CONFIG : CLI_INTERNAL;
    }
    job->loop = (struct cli_loop){
        .leave_ms = CLI_LEAVE_MS, .arg = job, .stop = on_stop, .woken = on_woken};
    cli_loop_open(&job->loop, host);
    job->progress.mode = isatty(STDERR_FILENO) ? CLI_PROGRESS_LINE : CLI_PROGRESS_OFF;
    cli_progress_begin(&job->progress, "The conversion is");
    if (start(job, &err) != MCPLUG_OK) {
        job->code = failed(job, &err);
        job->ended = true;
    }
    while (!job->ended)
        cli_loop_turn(&job->loop, -1, 0, job->progress.due);
    cli_progress_end(&job->progress);
    return job->code;
}

/* ---- the output ---- */

static int write_bytes(void *arg, struct cli_out *out)
{
    size_t len;
    const char *data = mcplug_converted_data(arg, &len);

    cli_content_bytes(out, data, len);
    return MCPLUG_OK;
}

/* The name in a directory: that of the file, with what the new type ends with. */
static void add_name(const struct job *job, struct mp_str *out)
{
    const char *path = job->cli->args.words.items[0];
    const char *mime = mcplug_converted_mime(job->converted);
    struct mp_str name;

    mp_str_init(&name, MP_SAFE_NAME_MAX + 1);
    if (strcmp(path, "-") != 0)
        mp_safe_name(path, strlen(path), &name);
    const char *stem = name.len ? name.data : "converted";
    mp_str_add(out, stem, (size_t)(mp_name_extension(stem) - stem));
    mp_str_adds(out, mp_mime_extension(mime, strlen(mime)));
    mp_str_clear(&name);
}

static int save(struct job *job, struct mp_str *path)
{
    struct cli_saved what = {.type = mcplug_converted_mime(job->converted),
                             .what = job->name,
                             .write = write_bytes,
                             .arg = (void *)job->converted};
    struct mp_str name;

    mp_str_init(&name, 512);
    add_name(job, &name);
    what.name = name.data;
    mp_str_adds(path, job->save.path);
    if (job->save.to == CLI_SAVE_DIR) {
        mp_str_adds(path, job->save.path[strlen(job->save.path) - 1] == '/' ? "" : "/");
        mp_str_adds(path, name.data ? name.data : "");
    }
    int code = CLI_INTERNAL;
    if (name.failed || path->failed)
        cli_error("out of memory");
    else
        code = cli_save_one(&job->save, job->cli, &what);
    mp_str_clear(&name);
    return code;
}

/* Controls of a terminal reach one only as a drawing. */
static int print(const struct job *job)
{
    const char *mime = mcplug_converted_mime(job->converted);
    struct cli_out *out = &job->cli->out;
    size_t len;
    const char *data = mcplug_converted_data(job->converted, &len);

    if (!is_text(mime) && out->terminal)
        return refuse_data(mime);
    if (job->draws) {
        cli_draw_put(job->converted, out);
    } else if (!is_text(mime)) {
        cli_content_bytes(out, data, len);
    } else {
        cli_doc_text_sink(out, data, len);
        cli_out_text_end(out);
    }
    if (is_text(mime) && (out->terminal || !job->save.to))
        cli_out_fresh_line(out);
    return CLI_OK;
}

static bool is_number(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n && n < 16 && !text[n] && (text[0] != '0' || n == 1);
}

static void add_facts(const struct job *job, struct mp_str *out)
{
    static const char *const names[] = {"width", "height", "frames", "step",
                                        "pages", "title",  "cut"};
    bool any = false;

    mp_str_adds(out, ",\"facts\":{");
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        const char *value = mcplug_converted_fact(job->converted, names[i]);
        if (!value)
            continue;
        mp_str_addf(out, "%s\"%s\":", any ? "," : "", names[i]);
        if (is_number(value) && strcmp(names[i], "title") != 0)
            mp_str_adds(out, value);
        else
            mp_str_add_json(out, value, strlen(value));
        any = true;
    }
    mp_str_addc(out, '}');
}

static void add_base64(struct mp_str *out, const char *data, size_t len)
{
    mp_str_addc(out, '"');
    if (mp_str_reserve(out, (len + 2) / 3 * 4 + 1))
        out->len += base64_encode((const unsigned char *)data, len, out->data + out->len);
    mp_str_addc(out, '"');
}

/* `path`: where it was saved; NULL: it is in the document. */
static int put_document(const struct job *job, const char *path)
{
    const char *mime = mcplug_converted_mime(job->converted);
    struct mp_str out;
    size_t len;
    const char *data = mcplug_converted_data(job->converted, &len);

    mp_str_init(&out, DOCUMENT_MAX);
    mp_str_addc(&out, '{');
    cli_json_member(&out, "type", mime);
    mp_str_addf(&out, ",\"size\":%zu", len);
    add_facts(job, &out);
    if (path) {
        cli_json_member(&out, "path", path);
    } else if (is_text(mime) && strlen(data) == len && mp_is_utf8(data)) {
        mp_str_adds(&out, ",\"text\":");
        mp_str_add_json(&out, data, len);
    } else {
        mp_str_adds(&out, ",\"data\":");
        add_base64(&out, data, len);
    }
    mp_str_adds(&out, "}\n");
    return cli_put_document(job->cli, &out, CLI_OK);
}

static int put(struct job *job)
{
    bool saves = job->save.to == CLI_SAVE_FILE || job->save.to == CLI_SAVE_DIR;
    struct mp_str path;
    int code = CLI_OK;

    mp_str_init(&path, (size_t)1 << 17);
    if (saves)
        code = save(job, &path);
    if (code == CLI_OK && job->cli->args.json)
        code = put_document(job, saves ? path.data : NULL);
    else if (code == CLI_OK && !saves)
        code = print(job);
    mp_str_clear(&path);
    return code;
}

/* ---- the command ---- */

static int check_limits(const struct cli_args *args)
{
    if (args->max_bytes > CONTENT_MAX) {
        cli_error("--max-bytes: expected at most %zu, which is 64 MiB", CONTENT_MAX);
        return CLI_USAGE;
    }
    if (args->max_side > UINT16_MAX) {
        cli_error("--max-side: expected at most %d", UINT16_MAX);
        return CLI_USAGE;
    }
    return CLI_OK;
}

static int run(struct cli *cli)
{
    struct job job = {.cli = cli, .loop.signal_fd = -1};

    mp_str_init(&job.content, CONTENT_MAX + STEP);
    mp_str_init(&job.settings, SETTINGS_MAX);
    cli_screen_look(&job.draw.screen, STDOUT_FILENO);
    int code = check_limits(&cli->args);
    if (code == CLI_OK)
        code = find_target(&job);
    if (code == CLI_OK)
        code = cli_save_begin(&job.save, &cli->args);
    if (code == CLI_OK)
        code = read_file(&job);
    if (code == CLI_OK)
        code = find_type(&job);
    if (code == CLI_OK)
        code = plan(&job);
    if (code == CLI_OK)
        code = read_settings(&job);
    if (code == CLI_OK)
        code = convert(&job);
    if (code == CLI_OK)
        code = put(&job);
    cli_save_end(&job.save);
    mcplug_converted_unref(job.converted);
    if (job.loop.host)
        mcplug_free(job.loop.host);
    cli_loop_close(&job.loop);
    mp_str_clear(&job.settings);
    mp_str_clear(&job.content);
    return code;
}

static const struct cli_option options[] = {
    {"to", 0, CLI_TEXT, "TYPE",
     "what is wanted: text, png, jpeg, gif, webp, terminal or a media type",
     offsetof(struct cli_args, to), .complete.choices = targets},
    {"type", 0, CLI_TEXT, "MIME",
     "what the file is, if its bytes and its name do not say",
     offsetof(struct cli_args, type), .complete.is = CLI_WORD_FREE},
    {"max-bytes", 0, CLI_NUMBER, "N", "of what comes out; an image is made smaller",
     offsetof(struct cli_args, max_bytes), .complete.is = CLI_WORD_FREE},
    {"max-side", 0, CLI_NUMBER, "N", "pixels of an image, in width and in height",
     offsetof(struct cli_args, max_side), .complete.is = CLI_WORD_FREE},
    {"set", 0, CLI_LIST, "NAME=VALUE",
     "a setting of the converter (mcplug plugins NAME lists them), for example "
     "pages=1-3; "
     "may be repeated",
     offsetof(struct cli_args, set), .complete.is = CLI_WORD_FREE},
    {"output", 'o', CLI_TEXT, "FILE|DIR",
     "save to FILE, or in DIR, which is created if it ends with /; - is standard output",
     offsetof(struct cli_args, output), .complete.is = CLI_WORD_FILE},
    {"force", 0, CLI_FLAG, NULL, "with -o, overwrite a file that exists",
     .at = offsetof(struct cli_args, force)},
    {"timeout", 0, CLI_DURATION, "TIME",
     "give up after TIME: 250ms, 2s, 5m; default: 20s",
     offsetof(struct cli_args, timeout), .complete.is = CLI_WORD_FREE},
    {.name = NULL},
};

const struct cli_command cli_cmd_convert = {
    .name = "convert",
    .words = "FILE",
    .summary = "Convert a file: HTML and PDF to text, images to smaller ones.",
    .details =
        "What models get of such content, for any file; - is standard input. Modules do "
        "it, in a process that may neither read files nor use the network.\n\n"
        "Without --to, an image keeps its type and becomes small enough for models "
        "(3932160 bytes and 2000 pixels a side), or, on a terminal, is drawn there. "
        "Everything else becomes text. Data is not written to a terminal; -o saves "
        "it.\n\n"
        "The type of the file is what its bytes show, or else what its name ends with. "
        "With --json, the result is an object with type, size, facts, and text, data in "
        "Base64, or the path where it was saved.",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_FILE}},
    .run = run,
};
