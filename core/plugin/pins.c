#include "plugin/pins.h"

#include "../../plugins/common/fds.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "plugin/catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLANKS " \t\r"

/* ---- lines ---- */

static bool read_hex(const char *text, size_t len, unsigned char out[MP_SHA256_BYTES])
{
    if (len != MP_SHA256_HEX)
        return false;
    for (size_t i = 0; i < MP_SHA256_BYTES; i++) {
        int high = mp_hex_value(text[2 * i]), low = mp_hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* `line` is a C string without its line end. */
static int add_line(struct mp_pins *pins, const char *line, struct mcplug_error *err)
{
    struct mp_pin pin;

    line += strspn(line, BLANKS);
    size_t name = strcspn(line, BLANKS);
    if (*line == '\0' || *line == '#')
        return MCPLUG_OK;
    const char *hex = line + name + strspn(line + name, BLANKS);
    size_t len = strcspn(hex, BLANKS), rest = strspn(hex + len, BLANKS);
    if (!read_hex(hex, len, pin.sha256) || hex[len + rest] != '\0')
        return mp_fail(err, MCPLUG_ECONFIG,
                       "expected a module's name and its SHA-256 in %d hex digits",
                       MP_SHA256_HEX);
    pin.name =
        mp_grow(&pins->list, &pins->cap, pins->n + 1) ? mp_strndup(line, name) : NULL;
    if (!pin.name)
        return mp_fail_nomem(err);
    pins->list[pins->n++] = pin;
    return MCPLUG_OK;
}

static int add_lines(struct mp_pins *pins, char *text, size_t len,
                     struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char *end = text + len;
    int r = MCPLUG_OK;

    for (size_t at = 1; r == MCPLUG_OK && text < end; at++) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop)
            stop = end;
        *stop = '\0';
        r = memchr(text, '\0', (size_t)(stop - text))
                ? mp_fail(&why, MCPLUG_ECONFIG, "has a NUL byte")
                : add_line(pins, text, &why);
        if (r == MCPLUG_ECONFIG)
            mp_fail(err, r, "%s:%zu: %s", pins->path, at, why.text);
        else if (r != MCPLUG_OK)
            mp_fail_nomem(err);
        text = stop + 1;
    }
    return r;
}

/* ---- the file ---- */

/* give `text`, which has room for a NUL behind it */
static int read_file(const struct mp_pins *pins, int fd, uid_t owner, char **text,
                     size_t *len, struct mcplug_error *err)
{
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) != 0)
        return mp_fail_os(err, MCPLUG_EIO, errno, "%s: cannot be read", pins->path);
    if (!S_ISREG(st.st_mode))
        return mp_fail(err, MCPLUG_ECONFIG, "%s: is not a regular file", pins->path);
    if (st.st_uid != owner)
        return mp_fail(err, MCPLUG_ECONFIG, "%s: belongs to user %ld, not to %s",
                       pins->path, (long)st.st_uid, owner ? "its owner" : "root");
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "%s: it is writable by users other than its owner (mode %04o)",
                       pins->path, (unsigned)st.st_mode & 07777);
    char *data = mp_alloc_raw(MP_PINS_BYTES + 2);
    if (!data)
        return mp_fail_nomem(err);
    do {
        n = read(fd, data + *len, MP_PINS_BYTES + 1 - *len);
        *len += n > 0 ? (size_t)n : 0;
    } while (n < 0 ? errno == EINTR : n > 0 && *len <= MP_PINS_BYTES);
    int r = MCPLUG_OK;
    if (n < 0)
        r = mp_fail_os(err, MCPLUG_EIO, errno, "%s: cannot be read", pins->path);
    else if (*len > MP_PINS_BYTES)
        r = mp_fail(err, MCPLUG_ETOOBIG, "%s: is larger than %zu bytes", pins->path,
                    MP_PINS_BYTES);
    if (r == MCPLUG_OK)
        *text = mp_move(&data);
    mp_free(data);
    return r;
}

int mp_pins_read(struct mp_pins *pins, const char *path, uid_t owner,
                 struct mcplug_error *err)
{
    char *text = NULL;
    size_t len = 0;

    memset(pins, 0, sizeof *pins);
    pins->path = path;
    int fd = fds_high(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd < 0 && errno == ENOENT)
        return MCPLUG_OK;
    if (fd < 0)
        return mp_fail_os(err, MCPLUG_EIO, errno, "%s: cannot be read", path);
    pins->exist = true;
    int r = read_file(pins, fd, owner, &text, &len, err);
    if (r == MCPLUG_OK)
        r = add_lines(pins, text, len, err);
    if (r != MCPLUG_OK)
        mp_pins_clear(pins);
    mp_free(text);
    close(fd);
    return r;
}

void mp_pins_clear(struct mp_pins *pins)
{
    for (size_t i = 0; i < pins->n; i++)
        mp_free(pins->list[i].name);
    mp_free(pins->list);
    memset(pins, 0, sizeof *pins);
}

/* ---- questions ---- */

/* The next pin with the file's bytes, after `last`, or NULL. */
static const struct mp_pin *next_pin(const struct mp_pins *pins, const struct mp_pin *at)
{
    const struct mp_pin *end = pins->list + pins->n;

    for (at = at ? at + 1 : pins->list; at < end; at++)
        if (memcmp(at->sha256, pins->file, sizeof pins->file) == 0)
            return at;
    return NULL;
}

int mp_pins_allow_file(struct mp_pins *pins, const char *file, struct mcplug_error *err)
{
    char hex[MP_SHA256_HEX + 1];

    if (!pins->exist)
        return MCPLUG_OK;
    int os_error = mp_sha256_file(file, pins->file);
    if (os_error)
        return mp_plugin_fail(err, MCPLUG_EIO, file, "cannot be read: %s",
                              strerror(os_error));
    if (next_pin(pins, NULL))
        return MCPLUG_OK;
    mp_sha256_hex(pins->file, hex);
    return mp_plugin_fail(err, MCPLUG_EINVAL, file, "is not in %s (SHA-256 %s)",
                          pins->path, hex);
}

int mp_pins_allow_name(const struct mp_pins *pins, const char *file, const char *name,
                       struct mcplug_error *err)
{
    const struct mp_pin *pin = NULL, *first = NULL;

    if (!pins->exist)
        return MCPLUG_OK;
    while ((pin = next_pin(pins, pin))) {
        if (strcmp(pin->name, name) == 0)
            return MCPLUG_OK;
        first = first ? first : pin;
    }
    return mp_plugin_fail(err, MCPLUG_EINVAL, file,
                          "is the module \"%s\", but %s lists it as \"%.64s\"", name,
                          pins->path, first ? first->name : "");
}
