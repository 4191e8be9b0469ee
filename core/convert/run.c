#include "convert/run.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "convert/memory.h"
#include "convert/message.h"
#include "json/walk.h"
#include "plugin/props.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define FACTS_MAX 16
#define FACT_VALUE 256

struct mcplug_job {
    const struct mp_run *run;
    struct mp_str *facts;
    size_t n_facts;
};

/* ---- what a module is given ---- */

static int cancelled(const mcplug_job *job)
{
    return job->run->cancelled ? job->run->cancelled(job->run->arg) : 0;
}

static bool is_fact_name(const char *name)
{
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
    return n >= 1 && n <= 32 && !name[n];
}

/* No character of a value has a meaning to a terminal. */
static bool is_fact_value(const char *value, size_t len)
{
    char line[4 * FACT_VALUE];

    if (len >= sizeof line || mp_text_line(line, sizeof line, value, len) != len)
        return false;
    return memcmp(line, value, len) == 0;
}

bool mp_run_is_facts(const char *lines)
{
    char name[40];
    size_t n = 0;

    for (; *lines; n++) {
        size_t len = strcspn(lines, "\n");
        if (len >= sizeof name || !lines[len] || n == FACTS_MAX)
            return false;
        memcpy(name, lines, len);
        name[len] = '\0';
        lines += len + 1;
        len = strcspn(lines, "\n");
        if (!is_fact_name(name) || !lines[len] || !is_fact_value(lines, len))
            return false;
        lines += len + 1;
    }
    return true;
}

/* Takes out the line pair of that name. */
static bool forget_fact(struct mp_str *facts, const char *name)
{
    size_t len = strlen(name);
    char *at = facts->data, *end = at + facts->len;

    while (at && at < end) {
        char *value = (char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        char *next = (char *)memchr(value, '\n', (size_t)(end - value)) + 1;
        if ((size_t)(value - at) == len + 1 && memcmp(at, name, len) == 0) {
            memmove(at, next, (size_t)(end - next) + 1);
            facts->len -= (size_t)(next - at);
            return true;
        }
        at = next;
    }
    return false;
}

static int fact(const mcplug_job *job, const char *name, const char *value)
{
    mcplug_job *j = (mcplug_job *)job; /* it is ours */
    size_t len = value ? strnlen(value, FACT_VALUE) : FACT_VALUE;

    if (!is_fact_name(name) || len == FACT_VALUE || !mp_is_utf8(value))
        return MCPLUG_EINVAL;
    if (forget_fact(j->facts, name))
        j->n_facts--;
    if (j->n_facts == FACTS_MAX)
        return MCPLUG_EINVAL;
    size_t before = j->facts->len;
    char line[FACT_VALUE];
    mp_text_line(line, sizeof line, value, len); /* so there is no newline in it */
    mp_str_addf(j->facts, "%s\n%s\n", name, line);
    if (j->facts->failed) {
        j->facts->len = before;
        return MCPLUG_ENOMEM;
    }
    j->n_facts++;
    return MCPLUG_OK;
}

static int settings_of(const struct mp_offer *offer, const struct mp_run *run,
                       mcplug_props **out, struct mcplug_error *err)
{
    const struct mcplug_feature *f = &offer->feature;
    mp_view own = mp_view_get(mp_text(run->settings), f->name);
    mcplug_props *props = mp_props_new(), *extra = mp_props_new();
    char what[64];

    snprintf(what, sizeof what, "converter \"%.32s\"", f->name);
    int r = props && extra ? MCPLUG_OK : mp_fail_nomem(err);
    if (r == MCPLUG_OK && own.len)
        r = mp_props_add_json(props, own, "isolation", err);
    if (r == MCPLUG_OK && run->extra && *run->extra)
        r = mp_props_add_json(extra, mp_text(run->extra), NULL, err);
    if (r == MCPLUG_OK && mp_props_replace(props, extra) != MCPLUG_OK)
        r = mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = mp_props_check(props, f->options, what, err);
    mp_props_free(extra);
    if (r == MCPLUG_OK)
        *out = mp_move(&props);
    mp_props_free(props);
    return r;
}

static mcplug_buf *read_body(const struct mp_run *run, struct mcplug_error *err)
{
    struct mp_str text;
    mcplug_buf *body = NULL;

    mp_str_init(&text, (size_t)MP_CONVERT_INPUT + 1);
    int os_error =
        run->size > MP_CONVERT_INPUT ? EFBIG : mp_memory_read(run->fd, run->size, &text);
    if (os_error == EFBIG)
        mp_fail(err, MCPLUG_ETOOBIG, "it has more than %llu MiB",
                (unsigned long long)(MP_CONVERT_INPUT >> 20));
    else if (os_error && os_error != ENOMEM)
        mp_fail_os(err, MCPLUG_EIO, os_error, "it cannot be read");
    else if (os_error || !(body = mp_str_to_buf(&text)))
        mp_fail_nomem(err);
    mp_str_clear(&text);
    return body;
}

/* ---- what it gives ---- */

static int write_piece(int out, const unsigned char *data, size_t len, uint64_t at,
                       struct mcplug_error *err)
{
    int os_error = mp_memory_write(out, at, data, len);
    return os_error
               ? mp_fail_os(err, MCPLUG_EIO, os_error, "the result cannot be written")
               : MCPLUG_OK;
}

static int copy_file(int out, int fd, uint64_t size, struct mcplug_error *err)
{
    unsigned char piece[16384];
    int r = MCPLUG_OK;

    for (uint64_t at = 0; r == MCPLUG_OK && at < size;) {
        size_t want = size - at < sizeof piece ? (size_t)(size - at) : sizeof piece;
        ssize_t n = pread(fd, piece, want, (off_t)at);
        if (n > 0)
            r = write_piece(out, piece, (size_t)n, at, err);
        else if (n == 0 || errno != EINTR)
            r = mp_fail(err, MCPLUG_EPROTO,
                        "the converter's file is shorter than it says");
        at += n > 0 ? (uint64_t)n : 0;
    }
    return r;
}

bool mp_is_mime(const char *text)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789!#$&-^_.+";
    size_t type = strspn(text, chars);
    size_t subtype = text[type] == '/' ? strspn(text + type + 1, chars) : 0;

    return type && subtype && !text[type + 1 + subtype] && type + subtype < 128;
}

bool mp_mime_base(const char *mime, char out[MP_MIME_MAX])
{
    size_t len = strcspn(mime, "; \t");

    if (len >= MP_MIME_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        out[i] = mp_lower(mime[i]);
    out[len] = '\0';
    return mp_is_mime(out);
}

static int give(const struct mp_run *run, const struct mcplug_content *result, int out,
                uint64_t *size, struct mcplug_error *err)
{
    struct mcplug_bytes body = {NULL, 0};
    uint64_t most = run->limits.max_bytes && run->limits.max_bytes < MP_CONVERT_OUTPUT
                        ? run->limits.max_bytes
                        : MP_CONVERT_OUTPUT;

    if (!result->mime || !mp_is_mime(result->mime))
        return mp_fail(err, MCPLUG_EPROTO, "the converter gave no type");
    if (!result->body && result->fd < 0)
        return mp_fail(err, MCPLUG_EPROTO, "the converter gave nothing");
    if (result->body)
        body = mp_buf_bytes(result->body);
    *size = result->body ? body.len : result->size;
    if (*size > most)
        return mp_fail(err, MCPLUG_ETOOBIG,
                       "the converter gave %llu bytes, more than the %llu allowed",
                       (unsigned long long)*size, (unsigned long long)most);
    return result->body ? write_piece(out, body.data, body.len, 0, err)
                        : copy_file(out, result->fd, *size, err);
}

/* ---- both ---- */

int mp_run_match(const struct mp_offer *offer, const struct mp_run *run)
{
    const struct mcplug_converter_ops *ops = offer->feature.ops;
    char mime[MP_MIME_MAX];

    if (!mp_mime_base(run->mime, mime))
        return 0;
    int n = ops->match(offer->plugin->ctx, mime, &run->limits);
    return n < 0 ? 0 : n > 100 ? 100 : n;
}

int mp_run_convert(const struct mp_offer *offer, const struct mp_run *run, int out,
                   uint64_t *size, const char **mime, struct mp_str *facts,
                   struct mcplug_error *err)
{
    const struct mcplug_converter_ops *ops = offer->feature.ops;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mcplug_content in = {
        .struct_size = sizeof in, .mime = run->mime, .fd = run->fd, .size = run->size};
    struct mcplug_content result = {.struct_size = sizeof result, .fd = -1};
    mcplug_job job = {.run = run, .facts = facts};
    struct mcplug_task task = {.struct_size = sizeof task,
                               .in = &in,
                               .limits = &run->limits,
                               .job = &job,
                               .cancelled = cancelled,
                               .fact = fact};
    mcplug_props *props = NULL;

    int r = settings_of(offer, run, &props, &why);
    if (r == MCPLUG_OK && !(in.body = read_body(run, &why)))
        r = why.code;
    if (r == MCPLUG_OK) {
        task.settings = props;
        r = ops->convert(offer->plugin->ctx, &task, &result, &why);
        if (r > 0)
            r = mp_fail(&why, MCPLUG_EPROTO, "the converter returned %d", r);
        else if (r != MCPLUG_OK && !why.text[0])
            mp_fail(&why, r, "the converter failed and gave no reason");
    }
    if (r == MCPLUG_OK)
        r = give(run, &result, out, size, &why);
    if (r == MCPLUG_OK)
        *mime = result.mime;
    else if (err)
        mp_error_copy(err, &why);
    mp_buf_unref(result.body);
    if (!result.body && result.fd >= 0 && result.fd != in.fd)
        close(result.fd);
    mp_buf_unref(in.body);
    mp_props_free(props);
    return r;
}
