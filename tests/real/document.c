/* document CONVERTER MIME [FILE..]: each file as text on the standard output, and facts
 * and failures on the standard error. For html.sh and pdf.sh. */
#include "tests/unit/document_kit.h"

static char *read_all(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        *len = (size_t)ftell(f);
        data = malloc(*len + 1);
        rewind(f);
        if (data && fread(data, 1, *len, f) != *len)
            *len = 0;
    }
    if (f)
        fclose(f);
    return data;
}

static int convert_file(const char *mime, const char *path)
{
    size_t len = 0;
    char *data = read_all(path, &len);
    if (!data) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 1;
    }
    int r = document_convert(mime, data, len, 0, NULL, NULL);
    free(data);
    if (r != 0)
        fprintf(stderr, "%s: %s: %s\n", path, mp_error_name(r), doc.err.text);
    else
        fwrite(doc.text, 1, doc.len, stdout);
    for (unsigned i = 0; r == 0 && i < doc.n_facts; i++)
        fprintf(stderr, "%s: %s: %s\n", path, doc.facts[i].name, doc.facts[i].value);
    return r != 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: %s CONVERTER MIME [FILE..]\n", argv[0]);
        return 2;
    }
    if (!document_open(argv[1])) {
        fprintf(stderr, "%s: %s\n", argv[1], doc.err.text);
        return 77;
    }
    for (int i = 3; i < argc; i++)
        failed |= convert_file(argv[2], argv[i]);
    document_close();
    return failed;
}
