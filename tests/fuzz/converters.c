/* Broken files for converters, through mcplug-worker as every program has it:
 *
 *   converters MIME WANT RUNS SEED OUTDIR FILE...
 *
 * WANT is a type, or - for the same; FILEs are what the broken ones are made of. A worker
 * that crashes or takes longer than ten seconds is a finding: its input is kept in
 * OUTDIR. Ends with a line of figures, and status 1 if there was one. */
#include <mcplug/mcplug.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_IN (1 << 20)
#define SEEDS_MAX 256
#define FINDINGS_MAX 20

static struct {
    char *data;
    size_t len;
} seeds[SEEDS_MAX];
static size_t n_seeds;
static uint64_t state;

/* xorshift64* */
static uint32_t any(uint32_t below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static int take_seed(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *data = f ? malloc(SIZE_MAX_IN) : NULL;

    if (!data || n_seeds == SEEDS_MAX) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return -1;
    }
    seeds[n_seeds].len = fread(data, 1, SIZE_MAX_IN, f);
    seeds[n_seeds++].data = data;
    fclose(f);
    return 0;
}

/* ---- broken files ---- */

static const char *const words[] = {
    "<table>", "</table>", "<td>",  "<a href=\"", "&#x110000;", "<!--",   "\xff\xd8\xff",
    "IHDR",    "IDAT",     "acTL",  "ANMF",       "VP8X",       "GIF89a", "obj",
    "stream",  "endobj",   "/Kids", "/Length",    "<</Type",    "xref",
};

static uint32_t strange(void)
{
    static const uint32_t values[] = {0,          1,          0x7f,      0x80,
                                      0xff,       0x7fff,     0x8000,    0xffff,
                                      0x7fffffff, 0x80000000, 0xffffffff};
    return values[any(sizeof values / sizeof values[0])];
}

static size_t cut(char *data, size_t len)
{
    size_t at = any((uint32_t)len), n = any((uint32_t)(len - at) + 1);
    memmove(data + at, data + at + n, len - at - n);
    return len - n;
}

static size_t insert(char *data, size_t len, const char *piece, size_t n)
{
    size_t at = any((uint32_t)len + 1);

    if (n > SIZE_MAX_IN - len)
        return len;
    memmove(data + at + n, data + at, len - at);
    memcpy(data + at, piece, n);
    return len + n;
}

static size_t change(char *data, size_t len)
{
    char piece[4096];
    uint32_t value = strange();
    size_t n;

    if (!len)
        return insert(data, len, words[0], strlen(words[0]));
    switch (any(8)) {
    case 0:
        data[any((uint32_t)len)] ^= (char)(1 << any(8));
        return len;
    case 1:
        data[any((uint32_t)len)] = (char)any(256);
        return len;
    case 2:
        n = 1u << any(3);
        if (len >= n)
            memcpy(data + any((uint32_t)(len - n) + 1), &value, n);
        return len;
    case 3:
        return any(4) ? len : cut(data, len);
    case 4:
        return any(4) ? len : any((uint32_t)len + 1); /* truncated */
    case 5:
        n = any((uint32_t)(len < sizeof piece ? len : sizeof piece)) + 1;
        memcpy(piece, data + any((uint32_t)(len - n) + 1), n);
        return insert(data, len, piece, n);
    case 6: {
        const char *word = words[any(sizeof words / sizeof words[0])];
        return insert(data, len, word, strlen(word));
    }
    default: {
        size_t other = any((uint32_t)n_seeds), from;
        if (!seeds[other].len)
            return len;
        from = any((uint32_t)seeds[other].len);
        n = seeds[other].len - from;
        n = n < sizeof piece ? n : sizeof piece;
        return insert(data, len, seeds[other].data + from, any((uint32_t)n + 1));
    }
    }
}

static size_t make(char *data)
{
    size_t i = any((uint32_t)n_seeds), len = seeds[i].len;

    memcpy(data, seeds[i].data, len);
    for (uint32_t n = any(6) + (any(50) > 0); n > 0; n--)
        len = change(data, len);
    return len;
}

/* ---- the run ---- */

static void keep(const char *dir, unsigned long run, const char *data, size_t len,
                 const char *why)
{
    char path[512];

    snprintf(path, sizeof path, "%s/finding-%lu", dir, run);
    FILE *f = fopen(path, "wb");
    if (f) {
        fwrite(data, 1, len, f);
        fclose(f);
    }
    printf("%s: %s\n", path, why);
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_convert_options options = {.struct_size = sizeof options,
                                             .timeout_ms = 10000,
                                             .max_bytes = 100000,
                                             .max_width = 200,
                                             .max_height = 200};
    static char data[SIZE_MAX_IN];
    unsigned long converted = 0, refused = 0, findings = 0, run = 0;

    if (argc < 7) {
        fprintf(stderr, "usage: %s MIME WANT RUNS SEED OUTDIR FILE...\n", argv[0]);
        return 2;
    }
    for (int i = 6; i < argc; i++)
        if (take_seed(argv[i]) != 0)
            return 2;
    options.mime = argv[1];
    options.want = strcmp(argv[2], "-") == 0 ? NULL : argv[2];
    unsigned long runs = strtoul(argv[3], NULL, 10);
    state = strtoull(argv[4], NULL, 10) * 2 + 1;
    mcplug *host = mcplug_new(NULL, &err);
    if (!host) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    for (; run < runs && findings < FINDINGS_MAX; run++) {
        const mcplug_converted *made = NULL;
        size_t len = make(data);
        int r = mcplug_convert_wait(host, data, len, &options, &made, &err);
        converted += r == MCPLUG_OK;
        refused += r == MCPLUG_EPROTO || r == MCPLUG_ETOOBIG || r == MCPLUG_ENOTSUP ||
                   r == MCPLUG_ENOMEM;
        if (r == MCPLUG_EIO || r == MCPLUG_ETIMEDOUT || r == MCPLUG_ECONFIG) {
            findings++;
            keep(argv[5], run, data, len, err.text);
        }
        mcplug_converted_unref(made);
    }
    mcplug_free(host);
    printf("%s: %lu files, %lu converted, %lu refused, %lu findings\n", argv[1], run,
           converted, refused, findings);
    return findings > 0;
}
