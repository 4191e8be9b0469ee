#include "plugin/catalogue.h"

#include "../../plugins/common/fds.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MCPLUG_DATA_DIR
#error "define MCPLUG_DATA_DIR as a string: where files of packages are installed"
#endif

#define BLANKS " \t\r"

/* The next word of `*at`, which is moved behind it; "" when there is none. */
static const char *next_word(char **at)
{
    char *word = *at + strspn(*at, BLANKS), *end = word + strcspn(word, BLANKS);

    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static bool read_line(char *line, struct mp_packaged *out)
{
    out->kind = next_word(&line);
    out->name = next_word(&line);
    out->package = next_word(&line);
    out->summary = line + strspn(line, BLANKS);
    return out->kind[0] != '#' && *out->package;
}

static int read_file(const char *path, char *out, size_t max, size_t *len)
{
    int fd = fds_high(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    ssize_t n = fd < 0 ? -1 : 0;

    *len = 0;
    while (fd >= 0 && *len < max &&
           ((n = read(fd, out + *len, max - *len)) > 0 || (n < 0 && errno == EINTR)))
        *len += n > 0 ? (size_t)n : 0;
    if (fd >= 0)
        close(fd);
    return n < 0 ? -1 : 0;
}

int mp_packages_each(const char *path,
                     bool (*fn)(void *arg, const struct mp_packaged *one), void *arg)
{
    const char *env = secure_getenv("MCPLUG_MODULE_PACKAGES");
    char *text = mp_alloc_raw(MP_PACKAGES_BYTES + 1), *rest = text, *line;
    struct mp_packaged one;
    bool more = true;
    size_t len;

    if (!text)
        return MCPLUG_ENOMEM;
    if (!path)
        path = env && *env == '/' ? env : MCPLUG_DATA_DIR "/mcplug/module-packages";
    if (read_file(path, text, MP_PACKAGES_BYTES, &len) != 0)
        len = 0;
    text[len] = '\0';
    while (more && (line = strsep(&rest, "\n")))
        more = !read_line(line, &one) || fn(arg, &one);
    mp_free(text);
    return MCPLUG_OK;
}
