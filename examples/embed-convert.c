/* Content without a server: prints the text of a page or a PDF, or says what a model
 * would get of an image. The libraries that read such files run in another process.
 *
 *   cc embed-convert.c $(pkg-config --cflags --libs mcplug) -o embed-convert
 *   ./embed-convert FILE [TYPE]
 *   ./embed-convert page.html text/html
 */
#include <mcplug/mcplug.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (64 << 20) /* bytes, which is what can be converted */

/* A block for free(); NULL: it cannot be read. */
static char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *data = f ? malloc(FILE_MAX) : NULL;

    *len = data ? fread(data, 1, FILE_MAX, f) : 0;
    if (f && (ferror(f) || fgetc(f) != EOF)) {
        free(data);
        data = NULL;
    }
    if (f)
        fclose(f);
    return data;
}

static int is_image(const char *data, size_t len, const char *mime)
{
    return mime ? strncmp(mime, "image/", 6) == 0
                : len < 5 || memcmp(data, "%PDF-", 5) != 0;
}

static int convert(mcplug *host, const char *data, size_t len, const char *mime)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_convert_options options = {.struct_size = sizeof options, .mime = mime};
    const mcplug_converted *made = NULL;
    size_t size;

    if (is_image(data, len, mime)) {
        options.max_width = options.max_height = 2000;
        options.max_bytes = 3932160;
    } else {
        options.want = "text/plain";
    }
    if (mcplug_convert_wait(host, data, len, &options, &made, &err) != MCPLUG_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const char *text = mcplug_converted_data(made, &size);
    if (strcmp(mcplug_converted_mime(made), "text/plain") == 0)
        fwrite(text, 1, size, stdout);
    else
        printf("%s, %zu bytes, %s x %s pixels\n", mcplug_converted_mime(made), size,
               mcplug_converted_fact(made, "width"),
               mcplug_converted_fact(made, "height"));
    mcplug_converted_unref(made);
    return 0;
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t len;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s FILE [TYPE]\n", argv[0]);
        return 2;
    }
    char *data = read_file(argv[1], &len);
    mcplug *host = data ? mcplug_new(NULL, &err) : NULL;
    if (!host) {
        fprintf(stderr, "%s: %s\n", argv[1],
                data ? err.text : "cannot be read, or is too large");
        free(data);
        return 1;
    }
    int failed = convert(host, data, len, argv[2]);
    mcplug_free(host);
    free(data);
    return failed;
}
