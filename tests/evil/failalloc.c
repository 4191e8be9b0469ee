/* Preloaded, this makes one allocation fail, or all from one on, and counts what is
 * not freed. A program that calls failalloc_start() (a weak symbol there, so that it
 * runs without this library, too) has its allocations counted from then on:
 *
 *   FAILALLOC_AT=n      the n-th fails; none without it
 *   FAILALLOC_MODE=     once (default) or forever: and all that follow
 *   FAILALLOC_COUNT=f   the number of allocations is written to this file
 *   FAILALLOC_TRACE=1   backtraces of what failed and of what was not freed
 *
 * Who asks decides. What the program, its modules, jansson and libcurl ask for may fail,
 * and is looked for at the end. So may what libc and the dynamic linker ask for, but that
 * is not looked for: they keep what they like. The others are spared, and not counted:
 *
 * - libuv ends the program by design when its own tables cannot grow (uv__io_start() in
 *   its src/unix/core.c calls abort()), which is not ours to cure.
 * - libwebsockets 4.1 crashes when it cannot have all that it begins with: then
 *   lws_create_context() calls lws_context_destroy(), which runs an event loop that is
 *   not there yet. A connection it has no memory for it loses. All the same its memory
 *   has to be freed: else we have not let go of it.
 * - The libraries that libcurl brings along, OpenSSL among them, withstand it. But what
 *   they set up when they are loaded is more than all else in a session, none of it is
 *   ours, and much of it they keep for ever. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default) /* whatever the build hides by default */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *p);

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *p, size_t size);
void *aligned_alloc(size_t align, size_t size);
void *memalign(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);
void free(void *p);
void failalloc_start(void);
unsigned failalloc_stop(void);

enum { SLOTS = 1 << 16, DEPTH = 14, DEEP = 40, RANGES = 128 };

struct block {
    void *p;
    uint64_t number;
    size_t size;
    int depth;
    void *trace[DEPTH];
};

/* What becomes of the allocations of an object. */
enum rule {
    OURS,   /* may fail, and has to be freed */
    KEEPS,  /* may fail, unless it is for somebody who is spared */
    OWED,   /* never fails, but has to be freed */
    SPARED, /* never fails */
    SELF
};

struct range {
    uintptr_t from, to;
    enum rule rule;
};

static struct block blocks[SLOTS];
static struct range ranges[RANGES];
static atomic_size_t n_ranges;
static size_t n_blocks;
static bool active, forever, tracing;
static uint64_t number, fail_at;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool inside; /* backtrace() may allocate */

/* ---- who asks ---- */

static enum rule rule_of(const char *name)
{
    static const struct {
        const char *start;
        enum rule rule;
    } known[] = {
        {"failalloc.", SELF},    {"libc.", KEEPS},      {"ld-linux", KEEPS},
        {"libmcplug", OURS},     {"libjansson.", OURS}, {"libcurl", OURS},
        {"libwebsockets", OWED}, {"lib", SPARED},
    };
    const char *slash = strrchr(name, '/');

    name = slash ? slash + 1 : name;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(name, known[i].start, strlen(known[i].start)) == 0)
            return known[i].rule;
    return OURS; /* the program, a module */
}

struct search {
    uintptr_t at;
    struct range found;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    struct range r = {.from = UINTPTR_MAX};
    (void)size;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (at < r.from)
            r.from = at;
        if (at + info->dlpi_phdr[i].p_memsz > r.to)
            r.to = at + info->dlpi_phdr[i].p_memsz;
    }
    if (s->at < r.from || s->at >= r.to)
        return 0;
    r.rule = rule_of(info->dlpi_name);
    s->found = r;
    return 1;
}

/* Objects are noted when they first ask: modules and their libraries come late, and the
 * constructors of a library allocate before dlopen() returns. None is ever unloaded. */
static enum rule rule_at(const void *caller)
{
    struct search s = {.at = (uintptr_t)caller};
    size_t n = n_ranges;

    for (size_t i = 0; i < n; i++)
        if (s.at >= ranges[i].from && s.at < ranges[i].to)
            return ranges[i].rule;
    if (!dl_iterate_phdr(look_at, &s)) /* without our lock: it has one, too */
        return OURS;
    pthread_mutex_lock(&lock);
    if (n_ranges == RANGES)
        abort();
    ranges[n_ranges] = s.found; /* twice does no harm */
    n_ranges++;
    pthread_mutex_unlock(&lock);
    return s.found.rule;
}

/* When libc asks, it is for somebody: strdup() of a library that is spared, say. */
static bool is_spared(enum rule rule)
{
    void *trace[DEEP];

    if (rule != KEEPS)
        return rule == OWED || rule == SPARED;
    inside = true;
    int depth = backtrace(trace, DEEP);
    inside = false;
    for (int i = 0; i < depth; i++) {
        rule = rule_at(trace[i]);
        if (rule != KEEPS && rule != SELF)
            return rule != OURS;
    }
    return false;
}

/* ---- what is alive; under lock ---- */

static size_t home(const void *p)
{
    return (size_t)(((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 40) & (SLOTS - 1);
}

static void forget(void *p, bool freed)
{
    size_t at = home(p);

    while (blocks[at].p && blocks[at].p != p)
        at = (at + 1) & (SLOTS - 1);
    if (!blocks[at].p)
        return;
    if (freed)
        memset(p, 0xdd, blocks[at].size); /* who still uses it shall notice */
    n_blocks--;
    for (size_t next = (at + 1) & (SLOTS - 1); blocks[next].p;
         next = (next + 1) & (SLOTS - 1)) {
        size_t wants = home(blocks[next].p);
        if (((next - wants) & (SLOTS - 1)) >= ((next - at) & (SLOTS - 1))) {
            blocks[at] = blocks[next];
            at = next;
        }
    }
    blocks[at].p = NULL;
}

static void remember(void *p, size_t size)
{
    size_t at = home(p);

    if (n_blocks > SLOTS / 2)
        abort();
    while (blocks[at].p)
        at = (at + 1) & (SLOTS - 1);
    blocks[at] = (struct block){.p = p, .number = number, .size = size};
    if (tracing)
        blocks[at].depth = backtrace(blocks[at].trace, DEPTH);
    n_blocks++;
}

/* ---- deciding ---- */

static void show_failure(size_t size)
{
    void *trace[DEPTH];
    char text[80];

    int n = snprintf(text, sizeof text, "allocation %llu of %zu bytes fails:\n",
                     (unsigned long long)number, size);
    if (write(STDERR_FILENO, text, (size_t)n) > 0)
        backtrace_symbols_fd(trace, backtrace(trace, DEPTH), STDERR_FILENO);
}

static bool fails(const void *caller, size_t size)
{
    if (!active || inside || is_spared(rule_at(caller)))
        return false;
    pthread_mutex_lock(&lock);
    number++;
    bool fail = fail_at && (forever ? number >= fail_at : number == fail_at);
    if (fail && tracing) {
        inside = true;
        show_failure(size);
        inside = false;
    }
    pthread_mutex_unlock(&lock);
    if (fail)
        errno = ENOMEM;
    return fail;
}

static void *given(void *p, size_t size, const void *caller)
{
    if (!p || !active || inside)
        return p;
    enum rule rule = rule_at(caller);
    if (rule != OURS && rule != OWED)
        return p;
    pthread_mutex_lock(&lock);
    inside = true;
    remember(p, size);
    inside = false;
    pthread_mutex_unlock(&lock);
    return p;
}

static void taken(void *p, bool freed)
{
    if (!p || !n_blocks || inside)
        return;
    pthread_mutex_lock(&lock);
    forget(p, freed);
    pthread_mutex_unlock(&lock);
}

/* ---- in place of libc's ---- */

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
    return fails(CALLER, size) ? NULL : given(__libc_malloc(size), size, CALLER);
}

void *calloc(size_t count, size_t size)
{
    return fails(CALLER, count * size)
               ? NULL
               : given(__libc_calloc(count, size), count * size, CALLER);
}

void *realloc(void *p, size_t size)
{
    if (fails(CALLER, size))
        return NULL;
    taken(p, false); /* before another thread can get that address */
    return given(__libc_realloc(p, size), size, CALLER);
}

void free(void *p)
{
    int saved = errno;
    taken(p, true);
    __libc_free(p);
    errno = saved;
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *p =
        fails(CALLER, size) ? NULL : given(__libc_memalign(align, size), size, CALLER);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

void *aligned_alloc(size_t align, size_t size)
{
    return fails(CALLER, size) ? NULL : given(__libc_memalign(align, size), size, CALLER);
}

void *memalign(size_t align, size_t size)
{
    return fails(CALLER, size) ? NULL : given(__libc_memalign(align, size), size, CALLER);
}

/* ---- for the program ---- */

void failalloc_start(void)
{
    const char *at = getenv("FAILALLOC_AT"), *mode = getenv("FAILALLOC_MODE");
    void *trace[DEPTH];

    fail_at = at ? strtoull(at, NULL, 10) : 0;
    forever = mode && strcmp(mode, "forever") == 0;
    tracing = getenv("FAILALLOC_TRACE") != NULL;
    backtrace(trace, DEPTH); /* loads what it needs now */
    active = true;
}

static void show_block(const struct block *b)
{
    char text[96];
    int n = snprintf(text, sizeof text, "never freed: allocation %llu of %zu bytes\n",
                     (unsigned long long)b->number, b->size);

    if (write(STDERR_FILENO, text, (size_t)n) > 0)
        backtrace_symbols_fd(b->trace, b->depth, STDERR_FILENO);
}

/* How many are still alive. */
unsigned failalloc_stop(void)
{
    const char *file = getenv("FAILALLOC_COUNT");
    char text[32];

    active = false;
    for (size_t i = 0; i < SLOTS; i++)
        if (blocks[i].p)
            show_block(&blocks[i]);
    int fd = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    int n = snprintf(text, sizeof text, "%llu\n", (unsigned long long)number);
    if (fd >= 0 && write(fd, text, (size_t)n) != n)
        n = 0;
    if (fd >= 0)
        close(fd);
    return (unsigned)n_blocks;
}
