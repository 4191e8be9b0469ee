#include "rpc/assembler.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/skip.h"

/* What is kept of a message that cannot be read: why, its first bytes and its last. */
struct mp_unread {
    struct mcplug_error error;
    size_t head_len, tail_len;
    char head[MP_EDGE], tail[MP_EDGE];
};

void mp_assembler_init(struct mp_assembler *a, const struct mp_assembler_limits *limits)
{
    memset(a, 0, sizeof *a);
    a->limits = *limits;
    mp_str_init(&a->text, limits->memory);
    mp_spill_init(&a->spill);
    mp_scan_init(&a->scan, &limits->scan);
}

void mp_assembler_clear(struct mp_assembler *a)
{
    mp_str_clear(&a->text);
    mp_spill_clear(&a->spill);
    mp_free(a->spills);
    a->spills = NULL;
    a->n_spills = 0;
    a->mode = MP_AT_START;
    mp_free(a->unread);
    a->unread = NULL;
    a->mark = 0;
    mp_scan_init(&a->scan, &a->limits.scan);
}

/* ---- what cannot be read ---- */

static void keep_edges(struct mp_unread *u, const char *data, size_t len)
{
    if (!u)
        return;
    size_t room = MP_EDGE - u->head_len, more = len < room ? len : room;
    memcpy(u->head + u->head_len, data, more);
    u->head_len += more;
    if (len > MP_EDGE) {
        data += len - MP_EDGE;
        len = MP_EDGE;
    }
    size_t keep = u->tail_len < MP_EDGE - len ? u->tail_len : MP_EDGE - len;
    memmove(u->tail, u->tail + u->tail_len - keep, keep);
    memcpy(u->tail + keep, data, len);
    u->tail_len = keep + len;
}

/* From here to its end the message is only looked through; what was kept is freed
 * but for its edges. `why` may be NULL where the verdict is MP_MESSAGE_NOISE. */
static void skip(struct mp_assembler *a, enum mp_message_state verdict,
                 const struct mcplug_error *why, const char *rest, size_t len)
{
    a->verdict = verdict;
    a->unread = mp_alloc(sizeof *a->unread);
    if (a->unread && why)
        a->unread->error = *why;
    if (a->text.len)
        keep_edges(a->unread, a->text.data, a->text.len);
    keep_edges(a->unread, rest, len);
    mp_str_clear(&a->text);
    mp_spill_clear(&a->spill);
    a->mode = MP_SKIPPING;
}

/* A line such as "[info] ready" looks like an array at first; it is noise. */
static void broken(struct mp_assembler *a, const struct mcplug_error *why,
                   const char *rest, size_t len)
{
    char first = a->text.len ? a->text.data[0] : len ? rest[0] : '{';
    skip(a, first == '[' ? MP_MESSAGE_NOISE : MP_MESSAGE_BROKEN, why, rest, len);
}

/* ---- long strings ---- */

/* How much of the string's inside can stay without cutting a character or an escape. */
static size_t whole_part(const char *inside, size_t len)
{
    size_t at = 0, limit = len < MP_SPILL_KEEP ? len : MP_SPILL_KEEP;

    while (at < limit) {
        unsigned char c = (unsigned char)inside[at];
        size_t n = c == '\\'  ? (inside[at + 1] == 'u' ? 6 : 2)
                   : c < 0x80 ? 1
                   : c < 0xe0 ? 2
                   : c < 0xf0 ? 3
                              : 4;
        if (at + n > limit)
            break;
        at += n;
    }
    return at;
}

/* From here on long strings are diverted; smaller slices catch them in time. */
static bool filling(const struct mp_assembler *a)
{
    return a->mode == MP_READING && a->text.len > a->limits.memory / 2;
}

/* Nothing that was not asked for is to cost disk. What is a batch is never spilled: its
 * messages could not be told apart. */
static bool is_wanted(const struct mp_assembler *a)
{
    const struct mp_envelope *env = &a->scan.env;
    mp_view id = mp_bytes(env->id.len ? a->text.data + env->id.at : NULL, env->id.len);

    if (env->method.len || a->text.data[0] == '[')
        return false;
    return !a->limits.wanted || a->limits.wanted(a->limits.arg, id);
}

/* What was diverted before its id had come may turn out to be nobody's, and a call may
 * end before its answer does. */
static int check_wanted(const struct mp_assembler *a, struct mcplug_error *err)
{
    return a->spill.fd < 0 || is_wanted(a)
               ? MCPLUG_OK
               : mp_fail(err, MCPLUG_ETOOBIG, "a long message that no call waits for");
}

static int divert(struct mp_assembler *a, struct mcplug_error *err)
{
    size_t at = a->scan.string_at + 1;
    char *inside = a->text.data + at;
    size_t len = a->text.len - at;

    int r = mp_spill_begin(&a->spill, a->limits.dir, err);
    if (r == MCPLUG_OK)
        r = mp_spill_add(&a->spill, inside, len, a->limits.spill, err);
    if (r != MCPLUG_OK)
        return r;
    size_t keep = whole_part(inside, len);
    a->text.len = at + keep;
    mp_scan_dropped(&a->scan, len - keep);
    a->mode = MP_DIVERTING;
    return MCPLUG_OK;
}

static int note_spilled(struct mp_assembler *a, struct mcplug_error *err)
{
    int r = mp_spill_end(&a->spill, a->limits.spill, err);
    if (r != MCPLUG_OK)
        return r;
    struct mp_spilled *more = mp_resize(a->spills, (a->n_spills + 1) * sizeof *a->spills);
    if (!more)
        return mp_fail_nomem(err);
    a->spills = more;
    a->spills[a->n_spills++] = (struct mp_spilled){
        .at = a->scan.string_at,
        .len = a->text.len - a->scan.string_at,
        .offset = a->spill.start,
        .size = a->spill.size - a->spill.start,
    };
    return MCPLUG_OK;
}

/* ---- reading ---- */

static int add_text(struct mp_assembler *a, const char *data, size_t len,
                    struct mcplug_error *err)
{
    if (mp_str_add(&a->text, data, len))
        return MCPLUG_OK;
    a->text.failed = false;
    if (len > a->limits.memory || a->text.len > a->limits.memory - len)
        return mp_fail(err, MCPLUG_ETOOBIG,
                       "message exceeds %zu bytes of memory without a string to spill",
                       a->limits.memory);
    return mp_fail_nomem(err);
}

/* One slice while a string goes to the file. */
static int read_diverted(struct mp_assembler *a, const char *data, size_t len,
                         size_t *used, struct mcplug_error *err)
{
    int r = mp_scan_feed(&a->scan, data, len, true, used, err);
    if (r != MCPLUG_OK)
        return r;
    bool ended = !a->scan.in_string;
    size_t inside = *used - (ended ? 1 : 0);
    mp_scan_dropped(&a->scan, inside);
    r = check_wanted(a, err);
    if (r == MCPLUG_OK)
        r = mp_spill_add(&a->spill, data, inside, a->limits.spill, err);
    if (r == MCPLUG_OK && ended) {
        r = add_text(a, "\"", 1, err);
        if (r == MCPLUG_OK)
            r = note_spilled(a, err);
        a->mode = MP_READING;
    }
    return r;
}

static int read_plain(struct mp_assembler *a, const char *data, size_t len, size_t *used,
                      struct mcplug_error *err)
{
    size_t quarter = a->limits.memory / 4;
    size_t least = quarter < MP_SPILL_MIN ? quarter : MP_SPILL_MIN;

    int r = mp_scan_feed(&a->scan, data, len, false, used, err);
    if (r == MCPLUG_OK)
        r = add_text(a, data, *used, err);
    if (r == MCPLUG_OK && filling(a) && a->scan.in_string && a->scan.string_is_value &&
        a->text.len - a->scan.string_at > least && is_wanted(a))
        r = divert(a, err);
    return r == MCPLUG_OK ? check_wanted(a, err) : r;
}

static void read_piece(struct mp_assembler *a, const char *data, size_t len)
{
    struct mcplug_error why;

    mp_error_init(&why);
    while (len) {
        size_t most = filling(a) ? MP_SLICE_FILLING : MP_SLICE;
        size_t part = a->limits.memory / (filling(a) ? 16 : 4) + 1;
        size_t slice = len < most ? len : most;
        slice = slice < part ? slice : part;
        size_t used = slice;
        int r = MCPLUG_OK;
        if (a->mode == MP_SKIPPING)
            keep_edges(a->unread, data, slice);
        else if (a->mode == MP_DIVERTING)
            r = read_diverted(a, data, slice, &used, &why);
        else
            r = read_plain(a, data, slice, &used, &why);
        if (r != MCPLUG_OK) {
            broken(a, &why, data, slice);
            used = slice;
        }
        data += used;
        len -= used;
    }
}

/* ---- delivering ---- */

static mp_message *deliver_unread(struct mp_assembler *a)
{
    const struct mp_unread *u = a->unread;
    mp_message *m = u ? mp_message_new(u->head, u->head_len, NULL) : NULL;
    if (!m)
        return NULL;
    m->state = a->verdict;
    if (m->state == MP_MESSAGE_BROKEN) {
        m->error = mp_alloc(sizeof *m->error);
        if (!m->error) {
            mp_message_unref(m);
            return NULL;
        }
        *m->error = u->error;
        if (a->scan.env.method.len) /* the id is the peer's own */
            return m;
        mp_scan_salvage_id(u->head, u->head_len, u->tail, u->tail_len, false,
                           &m->salvaged_id);
        if (!m->salvaged_id)
            m->salvaged_string = mp_scan_salvage_id(u->head, u->head_len, u->tail,
                                                    u->tail_len, true, &m->salvaged_id);
    }
    return m;
}

static mp_message *deliver_read(struct mp_assembler *a)
{
    size_t len = a->text.len, cap = a->text.cap;
    char *owned = mp_str_take(&a->text);
    if (owned && cap > 2 * len + MP_SLICE) { /* most of it went to the file */
        char *smaller = mp_resize(owned, len + 1);
        owned = smaller ? smaller : owned;
    }
    mp_message *m = owned ? mp_message_new(NULL, len, owned) : NULL;

    if (m) {
        mp_envelope_copy(&m->env, &a->scan.env);
        m->spill_fd = a->spill.fd;
        m->spills = a->spills;
        m->n_spills = a->n_spills;
        a->spill.fd = -1;
        a->spills = NULL;
    }
    return m;
}

/* What the end of the stream cut short is nobody's answer: its calls have the reason of
 * that end. */
static int finish(struct mp_assembler *a, enum mp_piece kind, mp_message **out)
{
    struct mcplug_error why;

    if (a->mode == MP_AT_START)
        return MCPLUG_OK;
    mp_error_init(&why);
    if (a->mode != MP_SKIPPING && mp_scan_end(&a->scan, &why) != MCPLUG_OK) {
        if (kind == MP_PIECE_CUT)
            skip(a, MP_MESSAGE_NOISE, NULL, "", 0);
        else
            broken(a, &why, "", 0);
    }
    *out = a->mode == MP_SKIPPING ? deliver_unread(a) : deliver_read(a);
    mp_assembler_clear(a);
    return *out ? MCPLUG_OK : MCPLUG_ENOMEM;
}

/* A message that came in one piece needs no buffer: scanned where it lies, copied
 * once. */
static mp_message *read_at_once(struct mp_assembler *a, const char *data, size_t len)
{
    size_t used;
    if (len > MP_SLICE || len > a->limits.memory)
        return NULL;
    if (mp_scan_feed(&a->scan, data, len, false, &used, NULL) != MCPLUG_OK ||
        mp_scan_end(&a->scan, NULL) != MCPLUG_OK) {
        mp_scan_init(&a->scan, &a->limits.scan);
        return NULL;
    }
    mp_message *m = mp_message_new(data, len, NULL);
    if (m)
        mp_envelope_copy(&m->env, &a->scan.env);
    mp_scan_init(&a->scan, &a->limits.scan);
    return m;
}

static const char byte_order_mark[] = "\xef\xbb\xbf";
enum { MARK_LEN = 3 };

/* Passes over white space and a stray mark; what is left begins the message. */
static void skip_before(struct mp_assembler *a, const char **data, size_t *len)
{
    while (*len) {
        if (a->mark < MARK_LEN && **data == byte_order_mark[a->mark])
            a->mark++;
        else if (!mp_is_space((unsigned char)**data) || a->mark % MARK_LEN)
            return;
        ++*data;
        --*len;
    }
}

int mp_assembler_feed(struct mp_assembler *a, struct mcplug_bytes piece,
                      enum mp_piece kind, mp_message **out)
{
    bool last = kind != MP_PIECE_MORE;
    const char *data = (const char *)piece.data;
    size_t len = piece.len;

    *out = NULL;
    if (a->mode == MP_AT_START) {
        skip_before(a, &data, &len);
        bool cut = a->mark % MARK_LEN && (len || last);
        if (len == 0 && !cut) {
            if (last)
                a->mark = 0;
            return MCPLUG_OK;
        }
        if (!cut && *data == '{' && last && (*out = read_at_once(a, data, len))) {
            a->mark = 0;
            return MCPLUG_OK;
        }
        a->mode = MP_READING;
        if (cut || (*data != '{' && *data != '[')) {
            if (cut) /* it was no mark: noise begins with what there was of it */
                mp_str_add(&a->text, byte_order_mark, a->mark);
            skip(a, MP_MESSAGE_NOISE, NULL, data, len);
            len = 0;
        }
    }
    read_piece(a, data, len);
    return last ? finish(a, kind, out) : MCPLUG_OK;
}

const struct mcplug_error *mp_assembler_overrun(const struct mp_assembler *a)
{
    bool over = a->mode == MP_SKIPPING && a->verdict == MP_MESSAGE_BROKEN && a->unread &&
                a->unread->error.code == MCPLUG_ETOOBIG;
    return over ? &a->unread->error : NULL;
}
