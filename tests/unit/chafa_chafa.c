/* The module chafa: the same bytes as the command of that name, and what it refuses. */
#include "../../plugins/chafa/fit.h"
#include "cli/base/drawing.h"
#include "base/buf.h"
#include "base/error.h"
#include "plugin/props.h"

#include "plugin_modules.h"
#include "quick.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

/* ---- an image, as PAM and as PNG ---- */

struct image {
    unsigned width, height, depth;
    unsigned char *pixels;
};

/* Gradients, an edge and, with a depth of 4, a part that is not opaque. */
static struct image image_make(unsigned width, unsigned height, unsigned depth)
{
    struct image i = {width, height, depth, malloc((size_t)width * height * depth)};

    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++) {
            unsigned char *p = i.pixels + ((size_t)y * width + x) * depth;
            p[0] = (unsigned char)(x * 255 / width);
            p[1] = (unsigned char)(y * 255 / height);
            p[2] = (unsigned char)((x ^ y) & 16 ? 255 : 0);
            if (depth == 4)
                p[3] = (unsigned char)(x * 3 < width ? 255 : x * 3 < 2 * width ? 140 : 0);
        }
    return i;
}

/* `shift`: so many bytes of comment, for another alignment of the pixels. */
static mcplug_buf *image_pam(const struct image *i, int shift)
{
    struct mp_str s;

    mp_str_init(&s, (size_t)128 << 20);
    mp_str_addf(&s, "P7\n#%.*s\nWIDTH %u\nHEIGHT %u\nDEPTH %u\nMAXVAL 255\nENDHDR\n",
                shift, "xxxxxxxx", i->width, i->height, i->depth);
    mp_str_add(&s, i->pixels, (size_t)i->width * i->height * i->depth);
    mcplug_buf *pam = mp_str_to_buf(&s);
    ck_assert_ptr_nonnull(pam);
    return pam;
}

static void add_u32(struct mp_str *s, uint32_t n)
{
    const unsigned char b[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16),
                                (unsigned char)(n >> 8), (unsigned char)n};
    mp_str_add(s, b, 4);
}

static void add_chunk(struct mp_str *s, const char *type, const void *data, size_t len)
{
    uint32_t crc = 0xffffffff;

    add_u32(s, (uint32_t)len);
    size_t from = s->len;
    mp_str_add(s, type, 4);
    mp_str_add(s, data, len);
    for (size_t i = from; i < s->len; i++) {
        crc ^= (unsigned char)s->data[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    add_u32(s, ~crc);
}

/* Not compressed: each row is a stored block. */
static void image_png(const struct image *i, const char *path)
{
    const size_t row = 1 + (size_t)i->width * i->depth;
    struct mp_str head, rows, png;
    uint32_t a = 1, b = 0;

    mp_str_init(&head, 64);
    mp_str_init(&rows, (size_t)64 << 20);
    mp_str_init(&png, (size_t)64 << 20);
    add_u32(&head, i->width);
    add_u32(&head, i->height);
    mp_str_add(&head, i->depth == 4 ? "\10\6\0\0\0" : "\10\2\0\0\0", 5);
    mp_str_add(&rows, "\x78\1", 2);
    for (unsigned y = 0; y < i->height; y++) {
        const unsigned char block[] = {y + 1 == i->height,         (unsigned char)row,
                                       (unsigned char)(row >> 8),  (unsigned char)~row,
                                       (unsigned char)(~row >> 8), 0};
        mp_str_add(&rows, block, sizeof block);
        mp_str_add(&rows, i->pixels + y * (row - 1), row - 1);
        b = (b + a) % 65521; /* the zero that says: no filter */
        for (size_t x = 0; x < row - 1; x++) {
            a = (a + i->pixels[y * (row - 1) + x]) % 65521;
            b = (b + a) % 65521;
        }
    }
    add_u32(&rows, b << 16 | a);
    mp_str_add(&png, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(&png, "IHDR", head.data, head.len);
    add_chunk(&png, "IDAT", rows.data, rows.len);
    add_chunk(&png, "IEND", "", 0);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(png.data, 1, png.len, file), png.len);
    fclose(file);
    mp_str_clear(&head);
    mp_str_clear(&rows);
    mp_str_clear(&png);
}

/* ---- the module ---- */

struct mcplug_job {
    unsigned columns, rows; /* the facts */
    int cancelled;
};

static int is_cancelled(const mcplug_job *job)
{
    return job->cancelled;
}

static int on_fact(const mcplug_job *job, const char *name, const char *value)
{
    mcplug_job *to = (mcplug_job *)job;
    if (strcmp(name, "columns") == 0)
        to->columns = (unsigned)atoi(value);
    else if (strcmp(name, "rows") == 0)
        to->rows = (unsigned)atoi(value);
    return MCPLUG_OK;
}

static struct mcplug_job job;
static uint64_t max_bytes;

/* give; NULL: `err` says why. `words`: NAME, VALUE, .. NULL */
static mcplug_buf *convert(mcplug_buf *pam, const char *const *words)
{
    const struct mp_offer *offer = NULL;
    const char *build = getenv("MCPLUG_BUILD");
    mcplug_props *settings = mp_props_new();
    char dir[PATH_MAX];

    snprintf(dir, sizeof dir, "%s/plugins/.libs", build ? build : ".");
    open_catalogue((const char *const[]){dir, NULL});
    ck_assert_msg(mp_catalogue_find(cat, MCPLUG_CONVERTER, "chafa", &offer, &err) ==
                      MCPLUG_OK,
                  "%s", err.text);
    const struct mcplug_converter_ops *ops = offer->feature.ops;
    for (; words && words[0]; words += 2)
        ck_assert_int_eq(mp_props_set(settings, words[0], words[1]), MCPLUG_OK);
    ck_assert_int_eq(mp_props_check(settings, offer->feature.options, "chafa", &err),
                     MCPLUG_OK);
    const struct mcplug_content in = {.struct_size = sizeof in,
                                      .mime = "image/x-portable-arbitrarymap",
                                      .body = pam,
                                      .fd = -1};
    const struct mcplug_limits limits = {.struct_size = sizeof limits,
                                         .max_bytes = max_bytes,
                                         .want_mime = "text/x-terminal"};
    const struct mcplug_task task = {sizeof task,  &in,      &limits, &job,
                                     is_cancelled, settings, on_fact};
    struct mcplug_content out = {.struct_size = sizeof out, .fd = -1};
    ck_assert_int_eq(ops->match(offer->plugin->ctx, in.mime, &limits), 90);
    job.columns = job.rows = 0;
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int r = ops->convert(offer->plugin->ctx, &task, &out, &err);
    ck_assert_int_eq(r == MCPLUG_OK, out.body != NULL);
    if (r == MCPLUG_OK)
        ck_assert_str_eq(out.mime, "text/x-terminal");
    else
        ck_assert(r == err.code && err.text[0]);
    mp_props_free(settings);
    return out.body;
}
#define CONVERT(pam, ...) convert(pam, (const char *const[]){__VA_ARGS__, NULL})

/* ---- the command ---- */

static bool has_command(void)
{
    return system("chafa --version 2>/dev/null | grep -q 'version 1\\.1[2-9]'") == 0;
}

/* The size of a cell is what the terminal on standard input says, and no other is near.
 */
static int open_terminal(unsigned cell_width, unsigned cell_height)
{
    struct winsize size = {.ws_row = 24,
                           .ws_col = 80,
                           .ws_xpixel = (unsigned short)(80 * cell_width),
                           .ws_ypixel = (unsigned short)(24 * cell_height)};
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(grantpt(fd), 0);
    ck_assert_int_eq(unlockpt(fd), 0);
    ck_assert_int_eq(ioctl(fd, TIOCSWINSZ, &size), 0);
    return fd;
}

/* What it prints; give (mp_str_clear). */
static struct mp_str run_command(int terminal, const char *const *words)
{
    char bytes[65536];
    struct mp_str out;
    int ends[2];
    ssize_t n;

    mp_str_init(&out, (size_t)64 << 20);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        int in = open(ptsname(terminal), O_RDWR | O_NOCTTY);
        int nothing = open("/dev/null", O_RDWR);
        const char *path = getenv("PATH");
        char *keep = strdup(path ? path : "/usr/bin:/bin");
        dup2(in, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        clearenv();
        setenv("PATH", keep, 1);
        execvp("chafa", (char *const *)words);
        _exit(127);
    }
    close(ends[1]);
    while ((n = read(ends[0], bytes, sizeof bytes)) > 0)
        ck_assert(mp_str_add(&out, bytes, (size_t)n));
    close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return out;
}

static const struct {
    const char *format, *colors; /* of the module */
    const char *f, *c;           /* of the command */
} forms[] = {
    {"kitty", "256", "kitty", "full"},      {"sixel", "256", "sixels", "full"},
    {"iterm2", "256", "iterm", "full"},     {"symbols", "true", "symbols", "full"},
    {"symbols", "256", "symbols", "240"},   {"symbols", "16", "symbols", "16"},
    {"symbols", "none", "symbols", "none"},
};

static const struct {
    unsigned width, height, depth, cell_width, cell_height;
} sizes[] = {
    {200, 150, 4, 8, 16}, {200, 150, 3, 8, 16}, {31, 47, 4, 8, 8},
    {1, 1, 3, 10, 21},    {900, 20, 4, 9, 18},  {7, 640, 3, 8, 16},
};

START_TEST(the_bytes_are_those_of_the_command)
{
    if (!has_command())
        return;
    for (size_t k = 0; k < (is_slow() ? 2 : MP_COUNT(sizes)); k++) {
        unsigned cw = sizes[k].cell_width, ch = sizes[k].cell_height;
        char width[16], height[16], size[32];
        struct image image = image_make(sizes[k].width, sizes[k].height, sizes[k].depth);
        mcplug_buf *pam = image_pam(&image, (int)k);

        snprintf(width, sizeof width, "%u", cw);
        snprintf(height, sizeof height, "%u", ch);
        mcplug_buf *body =
            CONVERT(pam, "format", forms[_i].format, "colors", forms[_i].colors,
                    "cellWidth", width, "cellHeight", height);
        ck_assert_msg(body != NULL, "%s", err.text);
        struct mcplug_bytes ours = mp_buf_bytes(body);

        snprintf(size, sizeof size, "%ux%u", job.columns, job.rows);
        image_png(&image, own("x.png"));
        int terminal = open_terminal(cw, ch);
        struct mp_str theirs = run_command(
            terminal, (const char *const[]){"chafa", "-f", forms[_i].f, "-c", forms[_i].c,
                                            "-s", size, "--stretch", "--threads", "1",
                                            own("x.png"), NULL});
        close(terminal);
        if (strcmp(forms[_i].f, "sixels") != 0) { /* it ends the line */
            ck_assert(theirs.len && theirs.data[theirs.len - 1] == '\n');
            theirs.len--;
        }
        ck_assert_msg(ours.len == theirs.len &&
                          memcmp(ours.data, theirs.data, ours.len) == 0,
                      "%s, %s, image %zu: %zu bytes, chafa has %zu", forms[_i].format,
                      forms[_i].colors, k, ours.len, theirs.len);
        mp_str_clear(&theirs);
        mp_buf_unref(body);
        mp_buf_unref(pam);
        free(image.pixels);
    }
}
END_TEST

/* ---- without the command ---- */

/* FNV-1a: the bytes are the same everywhere, whatever the machine has. */
static uint64_t hash(struct mcplug_bytes b)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < b.len; i++)
        h = (h ^ b.data[i]) * 0x100000001b3;
    return h;
}

START_TEST(alignment_and_environment_make_no_difference)
{
    struct image image = image_make(100, 80, 4);
    uint64_t first = 0;

    for (int shift = 0; shift < 4; shift++) {
        mcplug_buf *pam = image_pam(&image, shift);
        setenv("TERM", shift % 2 ? "xterm-kitty" : "dumb", 1);
        setenv("COLORTERM", shift % 2 ? "truecolor" : "", 1);
        mcplug_buf *body =
            CONVERT(pam, "format", forms[_i].format, "colors", forms[_i].colors);
        ck_assert_ptr_nonnull(body);
        uint64_t h = hash(mp_buf_bytes(body));
        ck_assert(shift == 0 || h == first);
        first = h;
        mp_buf_unref(body);
        mp_buf_unref(pam);
    }
    free(image.pixels);
}
END_TEST

START_TEST(no_colours_are_left_on)
{
    struct image image = image_make(100, 80, 3);
    mcplug_buf *pam = image_pam(&image, 0);
    mcplug_buf *body =
        CONVERT(pam, "format", forms[_i].format, "colors", forms[_i].colors);

    ck_assert_ptr_nonnull(body);
    struct mcplug_bytes text = mp_buf_bytes(body);
    ck_assert(!cli_drawing_leaves_colours((const char *)text.data, text.len));
    mp_buf_unref(body);
    mp_buf_unref(pam);
    free(image.pixels);
}
END_TEST

START_TEST(kitty_is_told_pixels_and_cells)
{
    static const char begins[] = "\033_Ga=T,f=32,s=96,v=80,c=12,r=5,m=1\033\\";
    struct image image = image_make(100, 80, 4);
    mcplug_buf *pam = image_pam(&image, 0), *body = CONVERT(pam, "format", "kitty");

    ck_assert_ptr_nonnull(body);
    ck_assert_uint_gt(mp_buf_bytes(body).len, sizeof begins);
    ck_assert_int_eq(memcmp(mp_buf_bytes(body).data, begins, sizeof begins - 1), 0);
    ck_assert_uint_eq(job.columns, 12);
    ck_assert_uint_eq(job.rows, 5);
    mp_buf_unref(body);
    mp_buf_unref(pam);
    free(image.pixels);
}
END_TEST

START_TEST(too_many_bytes_make_it_smaller_and_none_at_all_is_an_error)
{
    struct image image = image_make(640, 384, 3);
    mcplug_buf *pam = image_pam(&image, 0), *body;

    max_bytes = 20000;
    body = CONVERT(pam, "format", "kitty");
    ck_assert_msg(body != NULL, "%s", err.text);
    ck_assert_uint_le(mp_buf_bytes(body).len, max_bytes);
    ck_assert_uint_lt(job.columns, 80);
    mp_buf_unref(body);
    max_bytes = 100;
    ck_assert_ptr_null(CONVERT(pam, "format", "kitty"));
    ck_assert_int_eq(err.code, MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "100 bytes are too few for it on a terminal");
    max_bytes = 0;
    mp_buf_unref(pam);
    free(image.pixels);
}
END_TEST

static const struct {
    const char *name, *value, *why; /* NULL: it is fine */
} settings[] = {
    {"format", "braille", "the setting format cannot be \"braille\""},
    {"colors", "24", "the setting colors cannot be \"24\""},
    {"columns", "0", "the setting columns is 0; expected 1 to 1000"},
    {"columns", "1", NULL},
    {"columns", "1000", NULL},
    {"columns", "1001", "the setting columns is 1001; expected 1 to 1000"},
    {"rows", "1001", "the setting rows is 1001; expected 1 to 1000"},
    {"cellWidth", "5", "the setting cellWidth is 5; expected 6 to 200"},
    {"cellWidth", "6", NULL},
    {"cellHeight", "200", NULL},
    {"cellHeight", "201", "the setting cellHeight is 201; expected 6 to 200"},
};

START_TEST(settings_are_bounded)
{
    struct image image = image_make(20, 20, 4);
    mcplug_buf *pam = image_pam(&image, 0);
    mcplug_buf *body = CONVERT(pam, settings[_i].name, settings[_i].value);

    ck_assert_int_eq(body != NULL, settings[_i].why == NULL);
    if (settings[_i].why) {
        ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
        ck_assert_str_eq(err.text, settings[_i].why);
    }
    mp_buf_unref(body);
    mp_buf_unref(pam);
    free(image.pixels);
}
END_TEST

START_TEST(what_is_no_pam_is_refused_and_a_cancelled_task_ends)
{
    mcplug_buf *text = mp_buf_new("hello", 5);
    struct image image = image_make(20, 20, 4);
    mcplug_buf *pam = image_pam(&image, 0);

    ck_assert_ptr_null(CONVERT(text, "rows", "9"));
    ck_assert_int_eq(err.code, MCPLUG_EPROTO);
    job.cancelled = 1;
    ck_assert_ptr_null(CONVERT(pam, "rows", "9"));
    ck_assert_int_eq(err.code, MCPLUG_ECANCELED);
    job.cancelled = 0;
    mp_buf_unref(text);
    mp_buf_unref(pam);
    free(image.pixels);
}
END_TEST

/* ---- how large ---- */

static const struct {
    struct fit fit;
    uint32_t width, height, columns, rows;
} fits[] = {
    {{80, 24, 9999, 8, 16, 0}, 1000, 500, 80, 20}, /* as wide as may be */
    {{80, 24, 9999, 8, 16, 0}, 500, 1000, 24, 24}, /* as high as may be */
    {{80, 24, 9999, 8, 16, 0}, 100, 100, 12, 6},   /* not enlarged */
    {{80, 24, 9999, 8, 16, 0}, 1, 1, 1, 1},        /* but for a cell */
    {{80, 24, 9999, 8, 16, 0}, 4096, 1, 80, 1},
    {{80, 24, 9999, 8, 16, 0}, 1, 4096, 1, 24},
    {{1, 1, 9999, 8, 16, 0}, 4096, 4096, 1, 1},
    {{80, 24, 9999, 8, 16, 1}, 10, 10, 10, 5},
    {{80, 24, 9999, 8, 16, 1}, 1000, 500, 80, 20},
    {{80, 24, 9999, 8, 16, 1}, 1, 1, 1, 1},
    {{1000, 1000, 1000000, 6, 6, 1}, 4096, 4096, 1000, 1000},
    {{1000, 1000, 999999, 6, 6, 1}, 4096, 4096, 999, 999},
    {{1000, 1000, 1000000, 6, 6, 0}, 4096, 4096, 682, 682},
    {{80, 24, 800, 8, 16, 0}, 1000, 500, 56, 14}, /* few cells */
    {{80, 24, 3, 8, 16, 0}, 4096, 16, 3, 1},
    {{80, 24, 1, 8, 16, 1}, 4096, 4096, 1, 1},
};

START_TEST(an_image_fits_and_keeps_its_shape)
{
    uint32_t columns, rows;
    fit_image(&fits[_i].fit, fits[_i].width, fits[_i].height, &columns, &rows);
    ck_assert_uint_eq(columns, fits[_i].columns);
    ck_assert_uint_eq(rows, fits[_i].rows);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chafa_chafa");
    TCase *tc = tcase(suite, "chafa");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, the_bytes_are_those_of_the_command, 0, MP_COUNT(forms));
    tcase_add_loop_test(tc, alignment_and_environment_make_no_difference, 0,
                        MP_COUNT(forms));
    tcase_add_loop_test(tc, no_colours_are_left_on, 0, MP_COUNT(forms));
    tcase_add_test(tc, kitty_is_told_pixels_and_cells);
    tcase_add_test(tc, too_many_bytes_make_it_smaller_and_none_at_all_is_an_error);
    tcase_add_loop_test(tc, settings_are_bounded, 0, MP_COUNT(settings));
    tcase_add_test(tc, what_is_no_pam_is_refused_and_a_cancelled_task_ends);
    tcase_add_loop_test(tc, an_image_fits_and_keeps_its_shape, 0, MP_COUNT(fits));
    return run_to_end(suite);
}
