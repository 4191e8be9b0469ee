/* plugins/common/sse.c - reads a stream of server-sent events, see sse.h */
#include "sse.h"

#include <string.h>

enum { RETRY_MAX_MS = 24 * 60 * 60 * 1000 };

enum state {
    IN_NAME,     /* up to the colon; where every line begins */
    AFTER_COLON, /* one blank may follow, which is not part of the value */
    IN_VALUE
};

enum field { OTHER, DATA, EVENT, ID, RETRY };

static const unsigned char byte_order_mark[3] = {0xEF, 0xBB, 0xBF};

/* Where the next line ends. Kept for a whole feed, so that no byte is looked at twice
 * however the two kinds of line ends are mixed. */
struct ends {
    const unsigned char *lf, *cr, *end;
};

void sse_in_init(struct sse_in *in,
                 void (*data)(void *arg, const char *type, struct mcplug_bytes piece),
                 void (*event)(void *arg, const char *type, int has_data), void *arg)
{
    *in = (struct sse_in){.data = data, .event = event, .arg = arg, .retry_ms = -1};
}

/* ---- events ---------------------------------------------------------------- */

static void begin_event(struct sse_in *in)
{
    in->type[0] = '\0';
    in->has_field = in->has_id = in->has_data = in->in_data = 0;
}

static void begin_line(struct sse_in *in)
{
    in->state = IN_NAME;
    in->word_len = 0;
}

int sse_in_restart(struct sse_in *in)
{
    int had_data = in->has_data;
    begin_event(in);
    begin_line(in);
    in->bom = 0;
    in->after_cr = 0;
    return had_data;
}

static void hand_on(struct sse_in *in, const void *bytes, size_t len)
{
    struct mcplug_bytes piece = {bytes, len};
    if (len == 0)
        return;
    in->has_data = 1;
    in->data(in->arg, in->type, piece);
}

/* A blank line. Where nothing but comments came before, there is no event. */
static void end_event(struct sse_in *in)
{
    if (!in->has_field)
        return;
    if (in->has_id)
        strcpy(in->id, in->next_id);
    in->event(in->arg, in->type, in->has_data);
    begin_event(in);
}

/* ---- fields ---------------------------------------------------------------- */

static enum field field_of(const char *word, size_t len)
{
    static const struct {
        const char *name;
        size_t len;
        enum field field;
    } table[] = {
        {"data", 4, DATA}, {"event", 5, EVENT}, {"id", 2, ID}, {"retry", 5, RETRY}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (len == table[i].len && memcmp(word, table[i].name, len) == 0)
            return table[i].field;
    return OTHER;
}

static void add_name(struct sse_in *in, const unsigned char *bytes, size_t len)
{
    size_t room = sizeof in->word - in->word_len;
    if (len > room)
        len = room; /* longer than all names that we know */
    memcpy(in->word + in->word_len, bytes, len);
    in->word_len += len;
}

/* The name is complete; the value, which may be empty, follows. */
static void begin_field(struct sse_in *in)
{
    in->field = field_of(in->word, in->word_len);
    in->state = AFTER_COLON;
    in->value_len = 0;
    in->number = -1;
    in->bad = 0;
    if (in->field == OTHER)
        return;
    in->has_field = 1;
    if (in->field == DATA) {
        if (in->in_data)
            hand_on(in, "\n", 1);
        in->in_data = 1;
    }
}

/* Keeps what fits; a full buffer stands for a value that is too long. */
static void add_text(struct sse_in *in, const unsigned char *bytes, size_t len)
{
    size_t room = sizeof in->value - in->value_len;
    if (memchr(bytes, '\0', len))
        in->bad = 1;
    if (len > room)
        len = room;
    memcpy(in->value + in->value_len, bytes, len);
    in->value_len += len;
}

static void add_digits(struct sse_in *in, const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len && !in->bad; i++) {
        if (bytes[i] < '0' || bytes[i] > '9') {
            in->bad = 1;
            break;
        }
        if (in->number < 0)
            in->number = 0;
        in->number = in->number * 10 + (bytes[i] - '0');
        if (in->number > RETRY_MAX_MS)
            in->number = RETRY_MAX_MS;
    }
}

static void add_value(struct sse_in *in, const unsigned char *bytes, size_t len)
{
    switch ((enum field)in->field) {
    case DATA:
        hand_on(in, bytes, len);
        break;
    case EVENT:
    case ID:
        add_text(in, bytes, len);
        break;
    case RETRY:
        add_digits(in, bytes, len);
        break;
    case OTHER:
        break;
    }
}

/* A NUL would make a type look like a shorter one. */
static void set_type(struct sse_in *in)
{
    size_t len = in->value_len;
    if (len >= sizeof in->type)
        len = sizeof in->type - 1;
    for (size_t i = 0; i < len; i++)
        in->type[i] = in->value[i] ? in->value[i] : '?';
    in->type[len] = '\0';
}

static void set_next_id(struct sse_in *in)
{
    size_t len = in->value_len < sizeof in->next_id ? in->value_len : 0;
    memcpy(in->next_id, in->value, len);
    in->next_id[len] = '\0';
    in->has_id = 1;
}

static void end_field(struct sse_in *in)
{
    if (in->field == EVENT)
        set_type(in);
    else if (in->field == ID && !in->bad)
        set_next_id(in);
    else if (in->field == RETRY && !in->bad && in->number >= 0)
        in->retry_ms = in->number;
}

/* ---- lines ----------------------------------------------------------------- */

/* A part of a line, without its end. */
static void feed_line(struct sse_in *in, const unsigned char *bytes, size_t len)
{
    if (len > 0 && in->state == IN_NAME) {
        const unsigned char *colon = memchr(bytes, ':', len);
        size_t name = colon ? (size_t)(colon - bytes) : len;
        add_name(in, bytes, name);
        if (!colon)
            return;
        bytes += name + 1;
        len -= name + 1;
        begin_field(in);
    }
    if (len > 0 && in->state == AFTER_COLON) {
        size_t blank = bytes[0] == ' ';
        bytes += blank;
        len -= blank;
        in->state = IN_VALUE;
    }
    if (len > 0)
        add_value(in, bytes, len);
}

static void end_line(struct sse_in *in)
{
    if (in->state == IN_NAME && in->word_len == 0) {
        end_event(in);
    } else {
        if (in->state == IN_NAME)
            begin_field(in);
        end_field(in);
    }
    begin_line(in);
}

/* Returns how many bytes belong to a byte order mark. One that breaks off was none. */
static size_t skip_mark(struct sse_in *in, const unsigned char *bytes, size_t len)
{
    size_t used = 0;
    while (used < len && in->bom < 3 && bytes[used] == byte_order_mark[in->bom]) {
        used++;
        in->bom++;
    }
    if (in->bom < 3 && used == len)
        return used;
    if (in->bom > 0 && in->bom < 3)
        feed_line(in, byte_order_mark, (size_t)in->bom);
    in->bom = -1;
    return used;
}

static const unsigned char *find(const unsigned char *at, const unsigned char *end, int c)
{
    const unsigned char *found = memchr(at, c, (size_t)(end - at));
    return found ? found : end;
}

static const unsigned char *line_end(struct ends *ends, const unsigned char *at)
{
    if (ends->lf < at)
        ends->lf = find(at, ends->end, '\n');
    if (ends->cr < at)
        ends->cr = find(at, ends->end, '\r');
    return ends->lf < ends->cr ? ends->lf : ends->cr;
}

void sse_in_feed(struct sse_in *in, const unsigned char *bytes, size_t len)
{
    if (in->bom >= 0) {
        size_t used = skip_mark(in, bytes, len);
        bytes += used;
        len -= used;
    }
    if (len == 0)
        return;

    const unsigned char *at = bytes, *end = bytes + len;
    struct ends ends = {find(at, end, '\n'), find(at, end, '\r'), end};
    while (at < end) {
        if (in->after_cr && *at == '\n') {
            in->after_cr = 0;
            at++;
            continue;
        }
        const unsigned char *stop = line_end(&ends, at);
        in->after_cr = 0;
        feed_line(in, at, (size_t)(stop - at));
        if (stop == end)
            break;
        in->after_cr = *stop == '\r';
        end_line(in);
        at = stop + 1;
    }
}
