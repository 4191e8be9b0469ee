/* The converter `image` on files, for scripts: `images MODULE [HELPERS]` reads lines of
 *   max-width max-height max-bytes rounds mime-or-- in-file out-file
 * and writes one of JSON for each: what came out, and the least processor time of so many
 * rounds. With HELPERS, the directory of mcplug-worker, conversions go through that: the
 * time is the host's and the worker's, which has been started before. */
#include "base/buf.h"
#include "base/error.h"
#include "plugin/catalogue.h"

#include <mcplug/content.h>
#include <mcplug/mcplug.h>

#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    char step[32], width[16], height[16], frames[16];
} facts;

static int on_fact(const mcplug_job *job, const char *name, const char *value)
{
    (void)job;
    if (strcmp(name, "step") == 0)
        snprintf(facts.step, sizeof facts.step, "%s", value);
    else if (strcmp(name, "width") == 0)
        snprintf(facts.width, sizeof facts.width, "%s", value);
    else if (strcmp(name, "height") == 0)
        snprintf(facts.height, sizeof facts.height, "%s", value);
    else if (strcmp(name, "frames") == 0)
        snprintf(facts.frames, sizeof facts.frames, "%s", value);
    return MCPLUG_OK;
}

static int never(const mcplug_job *job)
{
    (void)job;
    return 0;
}

static double ms_of(clockid_t clock)
{
    struct timespec t = {0, 0};
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now_ms(void)
{
    return ms_of(CLOCK_PROCESS_CPUTIME_ID);
}

static mcplug_buf *file_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    mcplug_buf *buf = NULL;
    char *data = NULL;
    size_t len = 0, size = 64u << 20;
    if (f && (data = malloc(size)) != NULL) {
        len = fread(data, 1, size, f);
        buf = mp_buf_new(data, len);
    }
    free(data);
    if (f)
        fclose(f);
    return buf;
}

static void file_write(const char *path, struct mcplug_bytes bytes)
{
    FILE *f = strcmp(path, "-") == 0 ? NULL : fopen(path, "wb");
    if (f) {
        fwrite(bytes.data, 1, bytes.len, f);
        fclose(f);
    }
}

static void one(const struct mcplug_host *host, const struct mcplug_converter_ops *ops,
                void *ctx, const struct mcplug_limits *limits, unsigned rounds,
                const char *in_path, const char *out_path)
{
    mcplug_buf *body = file_read(in_path);
    struct mcplug_content in = {sizeof in, "image/png", body, -1, 0, 0};
    struct mcplug_task task = {sizeof task, &in, limits, NULL, never, NULL, on_fact};
    double best = 1e9;
    for (unsigned i = 0; body && i < rounds; i++) {
        struct mcplug_content out = {.struct_size = sizeof out, .fd = -1};
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        double began = now_ms(), took;
        memset(&facts, 0, sizeof facts);
        int r = ops->convert(ctx, &task, &out, &err);
        took = now_ms() - began;
        best = took < best ? took : best;
        if (i + 1 == rounds && r != 0)
            printf("{\"error\":\"%s\",\"code\":%d,\"ms\":%.1f}\n", err.text, r, best);
        if (i + 1 == rounds && r == 0) {
            struct mcplug_bytes bytes = host->mem->buf_bytes(out.body);
            printf("{\"step\":\"%s\",\"width\":%s,\"height\":%s,\"frames\":%s,"
                   "\"mime\":\"%s\",\"bytes\":%zu,\"ms\":%.1f}\n",
                   facts.step, facts.width, facts.height,
                   facts.frames[0] ? facts.frames : "1", out.mime, bytes.len, best);
            file_write(out_path, bytes);
        }
        if (r == 0)
            host->mem->buf_unref(out.body);
    }
    if (!body)
        printf("{\"error\":\"cannot be read\"}\n");
    fflush(stdout);
    host->mem->buf_unref(body);
}

/* ---- through a worker ---- */

/* The processor time of the only child, which is one worker; 0: there is none. */
static double worker_ms(void)
{
    glob_t tasks = {0}; /* any thread may have started it */
    clockid_t clock;
    int pid = 0;

    glob("/proc/self/task/*/children", 0, NULL, &tasks);
    for (size_t i = 0; i < tasks.gl_pathc && pid == 0; i++) {
        FILE *f = fopen(tasks.gl_pathv[i], "r");
        if (f && fscanf(f, "%d", &pid) != 1)
            pid = 0;
        if (f)
            fclose(f);
    }
    globfree(&tasks);
    return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? ms_of(clock) : 0;
}

static void show(const mcplug_converted *got, double ms, const char *out_path)
{
    const char *frames = mcplug_converted_fact(got, "frames");
    struct mcplug_bytes bytes = {NULL, 0};

    bytes.data = (const void *)mcplug_converted_data(got, &bytes.len);
    printf("{\"step\":\"%s\",\"width\":%s,\"height\":%s,\"frames\":%s,\"mime\":\"%s\","
           "\"bytes\":%zu,\"ms\":%.1f}\n",
           mcplug_converted_fact(got, "step"), mcplug_converted_fact(got, "width"),
           mcplug_converted_fact(got, "height"), frames ? frames : "1",
           mcplug_converted_mime(got), bytes.len, ms);
    file_write(out_path, bytes);
}

static void one_outside(mcplug *host, const struct mcplug_limits *limits, unsigned rounds,
                        const char *in_path, const char *out_path)
{
    const struct mcplug_convert_options options = {.struct_size = sizeof options,
                                                   .mime = "image/png",
                                                   .want = limits->want_mime,
                                                   .max_width = limits->max_width,
                                                   .max_height = limits->max_height,
                                                   .max_bytes = limits->max_bytes};
    mcplug_buf *body = file_read(in_path);
    struct mcplug_bytes in = mp_buf_bytes(body);
    double best = 1e9;

    /* One more at first, to start the worker. */
    for (unsigned i = rounds > 0 && worker_ms() > 0; i <= rounds; i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        const mcplug_converted *got = NULL;
        double began = now_ms() + worker_ms(), took;
        int r = mcplug_convert_wait(host, in.data, in.len, &options, &got, &err);
        took = now_ms() + worker_ms() - began;
        /* A worker that ends after a while of use took its time with it. */
        best = i > 0 && took > 0 && took < best ? took : best;
        if (i == rounds && r != MCPLUG_OK)
            printf("{\"error\":\"%s\",\"code\":%d,\"ms\":%.1f}\n", err.text, r, best);
        else if (i == rounds)
            show(got, best, out_path);
        mcplug_converted_unref(got);
    }
    fflush(stdout);
    mp_buf_unref(body);
}

/* ---- both ---- */

struct way {
    struct mcplug_host host;
    const struct mcplug_plugin *plugin;
    void *ctx;
    mcplug *outside; /* or that */
};

static int open_inside(struct way *way, const char *module, struct mcplug_error *err)
{
    static const struct mp_catalogue_options options = {.wire = NULL};
    void *so = dlopen(module, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    way->plugin = so ? dlsym(so, MCPLUG_SYMBOL) : NULL;
    if (!way->plugin)
        return mp_fail(err, MCPLUG_EIO, "%s", dlerror());
    mp_host_init(&way->host, &options, "/nowhere");
    return way->plugin->init(&way->host, NULL, &way->ctx, err);
}

static int open_outside(struct way *way, char *module, const char *helpers,
                        struct mcplug_error *err)
{
    const char *dirs[] = {dirname(module), NULL};
    struct mcplug_options o = {
        .struct_size = sizeof o, .plugin_dirs = dirs, .helper_dir = helpers};

    way->outside = mcplug_new(&o, err);
    return way->outside ? MCPLUG_OK : err->code;
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct way way = {.ctx = NULL};
    char line[8192], mime[64], in[2048], out[2048];

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: images MODULE [HELPERS]\n");
        return 2;
    }
    if (argc == 2 ? open_inside(&way, argv[1], &err)
                  : open_outside(&way, argv[1], argv[2], &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        struct mcplug_limits limits = {.struct_size = sizeof limits};
        unsigned rounds;
        if (sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu64 " %u %63s %2047s %2047s",
                   &limits.max_width, &limits.max_height, &limits.max_bytes, &rounds,
                   mime, in, out) != 7)
            continue;
        limits.want_mime = strcmp(mime, "-") == 0 ? NULL : mime;
        if (way.outside)
            one_outside(way.outside, &limits, rounds, in, out);
        else
            one(&way.host, way.plugin->features[0].ops, way.ctx, &limits, rounds, in,
                out);
    }
    if (way.outside)
        mcplug_free(way.outside);
    else
        way.plugin->fini(way.ctx);
    return 0;
}
