/* Small files that are gigabytes once they are decoded: the converter of images refuses
 * them at once, and whatever is in an image, the program that has it converted, which is
 * this one or the command, stays small. */
#include "../unit/suite.h"

#include "../unit/sanitized.h"

#include <mcplug/content.h>
#include <mcplug/mcplug.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define PEAK_KB (64L << 10)
#define WORK_MS 1000 /* of processors, so that others may be busy */
#define STEP ((size_t)1 << 20)
#define FILE_MAX ((size_t)4 << 20)

static char program[512], dir[64], path[128];
static unsigned char *file;
static size_t len;

/* ---- bombs ---- */

static void put(const void *data, size_t n)
{
    ck_assert_uint_le(n, FILE_MAX - len);
    memcpy(file + len, data, n);
    len += n;
}

static void put32(uint32_t n)
{
    unsigned char b[] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16),
                         (unsigned char)(n >> 8), (unsigned char)n};
    put(b, sizeof b);
}

static size_t pack(size_t n, int flush, unsigned char *out, size_t size)
{
    unsigned char *zeros = calloc(1, n ? n : 1);
    z_stream z = {.next_in = zeros,
                  .avail_in = (unsigned)n,
                  .next_out = out,
                  .avail_out = (unsigned)size};

    ck_assert_ptr_nonnull(zeros);
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
    deflate(&z, flush);
    deflateEnd(&z);
    free(zeros);
    return z.total_out;
}

/* So many zeros, compressed: one megabyte of them, again and again. */
static void put_zeros(uint64_t n)
{
    unsigned char step[8192];
    size_t size = pack(STEP, Z_FULL_FLUSH, step, sizeof step);

    put("\x78\xda", 2);
    for (uint64_t i = 0; i < n / STEP; i++)
        put(step, size);
    size = pack(n % STEP, Z_FINISH, step, sizeof step);
    put(step, size);
    put32((uint32_t)(n % 65521) << 16 | 1); /* Adler-32 */
}

static size_t chunk_begin(const char *type)
{
    put32(0);
    put(type, 4);
    return len;
}

static void chunk_end(size_t at)
{
    size_t end = len, n = end - at;
    uint32_t crc = (uint32_t)crc32(0, file + at - 4, (unsigned)n + 4);

    len = at - 8;
    put32((uint32_t)n);
    len = end;
    put32(crc);
}

/* A black image; behind its header a compressed text of `text` bytes. */
static void png(uint32_t width, uint32_t height, int depth, int channels, uint64_t text)
{
    const char type = channels == 1 ? 0 : channels == 3 ? 2 : 6;
    const char form[] = {(char)depth, type, 0, 0, 0};
    const uint64_t row = ((uint64_t)width * (unsigned)(depth * channels) + 7) / 8 + 1;

    len = 0;
    put("\x89PNG\r\n\x1a\n", 8);
    size_t at = chunk_begin("IHDR");
    put32(width);
    put32(height);
    put(form, sizeof form);
    chunk_end(at);
    if (text) {
        at = chunk_begin("zTXt");
        put("Comment\0\0", 9);
        put_zeros(text);
        chunk_end(at);
    }
    at = chunk_begin("IDAT");
    put_zeros(row * height);
    chunk_end(at);
    chunk_end(chunk_begin("IEND"));
}

static const struct bomb {
    uint32_t width, height;
    int depth, channels;
    const char *why;
} bombs[] = {
    /* 8 GB, of a byte for each pixel */
    {90000, 90000, 1, 1, "it is 90000 x 90000 pixels; 16384 a side are allowed"},
    /* 1 GB */
    {16384, 16384, 8, 4, "it is 16384 x 16384 pixels; 100000000 pixels are allowed"},
    /* 1 GB, in lines of 1 MB */
    {1000000, 1000, 8, 1, "it is 1000000 x 1000 pixels; 16384 a side are allowed"},
};

static void make(const struct bomb *b)
{
    png(b->width, b->height, b->depth, b->channels, 0);
    ck_assert_uint_gt(len, 500000); /* the whole of it is there */
    ck_assert_uint_lt(len, 1200000);
}

/* ---- what they cost ---- */

static long peak_kb(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[128];
    long kb = 0;

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %ld", &kb);
    fclose(f);
    return kb;
}

static double work_of(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e3 +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e3;
}

static void check_peak(long kb)
{
    ck_assert_int_gt(kb, 0);
    if (!SANITIZED)
        ck_assert_msg(kb < PEAK_KB, "the peak is %ld KB", kb);
}

static void check_work(double ms)
{
    if (!SANITIZED)
        ck_assert_msg(ms < WORK_MS, "it took %.0f ms of processors", ms);
}

/* ---- a program ---- */

/* As for a model. Returns the code, and frees everything. */
static int convert(struct mcplug_error *err, char *mime, size_t size)
{
    struct mcplug_options o = {.struct_size = sizeof o};
    struct mcplug_convert_options how = {.struct_size = sizeof how,
                                         .timeout_ms = 60000,
                                         .mime = "image/png",
                                         .max_bytes = 3932160,
                                         .max_width = 2000,
                                         .max_height = 2000};
    const mcplug_converted *got = NULL;
    mcplug *host = mcplug_new(&o, err);

    ck_assert_msg(host != NULL, "%s", err->text);
    int r = mcplug_convert_wait(host, file, len, &how, &got, err);
    snprintf(mime, size, "%s", got ? mcplug_converted_mime(got) : "");
    mcplug_converted_unref(got);
    mcplug_free(host);
    return r;
}

START_TEST(a_bomb_is_refused_at_once_and_the_program_stays_small)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct rusage before, self, children;
    char mime[64];

    make(&bombs[_i]);
    getrusage(RUSAGE_SELF, &before);
    ck_assert_int_eq(convert(&err, mime, sizeof mime), MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, bombs[_i].why);
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    check_peak(peak_kb());
    check_work(work_of(&self) - work_of(&before) + work_of(&children));
}
END_TEST

START_TEST(a_large_image_is_decoded_elsewhere)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char mime[64];

    png(12000, 2000, 8, 4, 0); /* 96 MB */
    ck_assert_msg(convert(&err, mime, sizeof mime) == MCPLUG_OK, "%s", err.text);
    ck_assert_str_eq(mime, "image/png");
    check_peak(peak_kb());
}
END_TEST

START_TEST(a_bomb_beside_the_pixels_is_passed_over)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct rusage children;
    char mime[64];

    png(2001, 100, 8, 3, (uint64_t)1 << 30);
    ck_assert_uint_gt(len, 1000000);
    ck_assert_msg(convert(&err, mime, sizeof mime) == MCPLUG_OK, "%s", err.text);
    ck_assert_str_eq(mime, "image/png");
    getrusage(RUSAGE_CHILDREN, &children);
    check_peak(peak_kb());
    check_peak(children.ru_maxrss);
    check_work(work_of(&children));
}
END_TEST

/* ---- the command ---- */

/* Runs `mcplug convert`; its standard error is in `said`. Returns the exit code. */
static int run(char *said, size_t size, struct rusage *usage)
{
    int ends[2], status = 0;
    size_t n = 0;
    ssize_t more;

    FILE *f = fopen(path, "w");
    ck_assert(f && fwrite(file, 1, len, f) == len && fclose(f) == 0);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 0);
        dup2(nothing, 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "convert", path, (char *)NULL);
        _exit(9);
    }
    close(ends[1]);
    while (n < size - 1 && (more = read(ends[0], said + n, size - 1 - n)) > 0)
        n += (size_t)more;
    said[n] = '\0';
    close(ends[0]);
    ck_assert_int_eq(wait4(pid, &status, 0, usage), pid);
    ck_assert_msg(WIFEXITED(status), "status %x", (unsigned)status);
    return WEXITSTATUS(status);
}

START_TEST(the_command_refuses_a_bomb_and_its_worker_stays_small_too)
{
    struct rusage usage;
    char said[512];

    make(&bombs[_i]);
    ck_assert_int_eq(run(said, sizeof said, &usage), 4);
    ck_assert_msg(strstr(said, bombs[_i].why) != NULL, "%s", said);
    check_peak(usage.ru_maxrss);
    check_work(work_of(&usage));
}
END_TEST

/* ---- the whole ---- */

static void begin(void)
{
    snprintf(dir, sizeof dir, "/tmp/mcplug-bombs-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/bomb.png", dir);
    setenv("HOME", dir, 1);
    setenv("XDG_CONFIG_HOME", dir, 1);
    setenv("XDG_STATE_HOME", dir, 1);
    setenv("XDG_CACHE_HOME", dir, 1);
    file = malloc(FILE_MAX);
    ck_assert_ptr_nonnull(file);
}

static void end(void)
{
    char text[128];

    free(file);
    snprintf(text, sizeof text, "rm -rf %s", dir);
    ck_assert_int_eq(system(text), 0);
}

int main(void)
{
    const char *build = getenv("MCPLUG_BUILD");

    if (!build)
        return 77;
    snprintf(program, sizeof program, "%s/mcplug", build);

    Suite *suite = suite_create("bombs");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, a_bomb_is_refused_at_once_and_the_program_stays_small, 0,
                        sizeof bombs / sizeof *bombs);
    tcase_add_test(t, a_large_image_is_decoded_elsewhere);
    tcase_add_test(t, a_bomb_beside_the_pixels_is_passed_over);
    tcase_add_loop_test(t, the_command_refuses_a_bomb_and_its_worker_stays_small_too, 0,
                        sizeof bombs / sizeof *bombs);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
