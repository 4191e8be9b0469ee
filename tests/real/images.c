/* The converter `image` on files, for scripts: `images MODULE` reads lines of
 *   max-width max-height max-bytes rounds mime-or-- in-file out-file
 * and writes one of JSON for each: what came out, and the least processor time of so many
 * rounds. */
#include "base/buf.h"
#include "plugin/catalogue.h"

#include <dlfcn.h>
#include <inttypes.h>
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

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static mcplug_buf *file_read(const struct mcplug_mem *mem, const char *path)
{
    FILE *f = fopen(path, "rb");
    mcplug_buf *buf = NULL;
    char *data = NULL;
    size_t len = 0, size = 64u << 20;
    if (f && (data = malloc(size)) != NULL) {
        len = fread(data, 1, size, f);
        buf = mem->buf_new(data, len);
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
    mcplug_buf *body = file_read(host->mem, in_path);
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

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const struct mp_catalogue_options options = {.wire = NULL};
    struct mcplug_host host;
    void *so = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    const struct mcplug_plugin *plugin = so ? dlsym(so, MCPLUG_SYMBOL) : NULL;
    char line[8192], mime[64], in[2048], out[2048];
    void *ctx = NULL;

    if (!plugin) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: images MODULE");
        return 2;
    }
    mp_host_init(&host, &options, "/nowhere");
    if (plugin->init(&host, NULL, &ctx, &err) != 0) {
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
        one(&host, plugin->features[0].ops, ctx, &limits, rounds, in, out);
    }
    plugin->fini(ctx);
    return 0;
}
