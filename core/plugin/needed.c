/* A module is bound at once: one that lacks a function is refused when it is loaded, and
 * does not end the program when it calls that. To bind every library behind it at once as
 * well would cost more than a call over HTTP does, for functions of which few are called.
 * So its libraries are opened before it, lazily; $LD_BIND_NOW still binds them at once.
 */
#include "plugin/catalogue.h"

#include "../../plugins/common/fds.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 64, ENTRIES_MAX = 256, NAME_MAX_LEN = 255 };

struct image {
    int fd;
    ElfW(Ehdr) head;
    ElfW(Phdr) parts[PARTS_MAX];
    ElfW(Dyn) entries[ENTRIES_MAX];
    size_t n_entries;
    ElfW(Addr) names; /* an address of the image, not of the file */
    bool has_path;
};

static bool read_at(const struct image *m, uint64_t at, void *to, size_t size)
{
    return pread(m->fd, to, size, (off_t)at) == (ssize_t)size;
}

/* What is not as it should be is for dlopen() to say. */
static bool read_parts(struct image *m)
{
    const ElfW(Ehdr) *h = &m->head;

    return read_at(m, 0, &m->head, sizeof m->head) &&
           memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
           h->e_phentsize == sizeof m->parts[0] && h->e_phnum <= PARTS_MAX &&
           read_at(m, h->e_phoff, m->parts, h->e_phnum * sizeof m->parts[0]);
}

static bool read_entries(struct image *m)
{
    for (size_t i = 0; i < m->head.e_phnum; i++) {
        const ElfW(Phdr) *part = &m->parts[i];
        size_t n = part->p_filesz / sizeof m->entries[0];
        if (part->p_type != PT_DYNAMIC || n > ENTRIES_MAX ||
            !read_at(m, part->p_offset, m->entries, n * sizeof m->entries[0]))
            continue;
        for (; m->n_entries < n && m->entries[m->n_entries].d_tag != DT_NULL;
             m->n_entries++) {
            const ElfW(Dyn) *entry = &m->entries[m->n_entries];
            if (entry->d_tag == DT_STRTAB)
                m->names = entry->d_un.d_ptr;
            m->has_path |= entry->d_tag == DT_RPATH || entry->d_tag == DT_RUNPATH;
        }
        return true;
    }
    return false;
}

/* Where the names are in the file; 0: nowhere. */
static uint64_t names_offset(const struct image *m)
{
    for (size_t i = 0; i < m->head.e_phnum; i++) {
        const ElfW(Phdr) *part = &m->parts[i];
        if (part->p_type == PT_LOAD && m->names >= part->p_vaddr &&
            m->names - part->p_vaddr < part->p_filesz)
            return m->names - part->p_vaddr + part->p_offset;
    }
    return 0;
}

void mp_plugin_open_needed(const char *real)
{
    struct image m = {.fd = fds_high(open(real, O_RDONLY | O_CLOEXEC))};
    char name[NAME_MAX_LEN + 1];

    /* One that has a search path of its own may mean other libraries than we would find
     * by their names. */
    uint64_t names = m.fd >= 0 && read_parts(&m) && read_entries(&m) && !m.has_path
                         ? names_offset(&m)
                         : 0;
    for (size_t i = 0; names && i < m.n_entries; i++) {
        if (m.entries[i].d_tag != DT_NEEDED)
            continue;
        ssize_t n =
            pread(m.fd, name, sizeof name, (off_t)(names + m.entries[i].d_un.d_val));
        /* It stays: it has run its constructors. */
        if (n > 0 && memchr(name, '\0', (size_t)n) &&
            !dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE))
            (void)dlerror(); /* which the module will meet, too */
    }
    if (m.fd >= 0)
        close(m.fd);
}
