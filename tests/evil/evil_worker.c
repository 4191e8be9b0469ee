/* In place of mcplug-worker: what it sends is wrong in one way. Beside it, in the
 * directory that it was started from, the file `act` says in which, and on a second line
 * where the real one is, which it becomes if the act is "good". Up to that it does what
 * core/convert/message.h says. */
#include "convert/message.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define FDS_MAX 200

static char act[64], real[PATH_MAX];

static bool is(const char *name)
{
    return strcmp(act, name) == 0;
}

static void read_act(const char *self)
{
    char path[PATH_MAX];
    const char *slash = strrchr(self, '/');

    snprintf(path, sizeof path, "%.*s/act", slash ? (int)(slash - self) : 0, self);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%63s %4095s", act, real) != 2)
        _exit(3);
    fclose(f);
}

/* ---- messages ---- */

/* Room for more than a message may have. */
static char packet[160 << 10];
static size_t packet_len;

static void put(const void *data, size_t len)
{
    memcpy(packet + packet_len, data, len);
    packet_len += len;
}

/* `lens`: as the head has them, which need not be those of the texts. */
static void make(struct mp_worker_head head, const char *const texts[MP_TEXTS],
                 const uint32_t *lens)
{
    head.magic = MP_WORKER_MAGIC;
    for (size_t i = 0; i < MP_TEXTS; i++)
        head.len[i] = lens ? lens[i] : texts[i] ? (uint32_t)strlen(texts[i]) : 0;
    packet_len = 0;
    put(&head, sizeof head);
    for (size_t i = 0; i < MP_TEXTS; i++)
        put(texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) + 1 : 1);
}

static void say(size_t len, const int *fds, size_t n_fds)
{
    union {
        char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {packet, len};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

    if (n_fds) {
        msg.msg_control = control.room;
        msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
    }
    if (sendmsg(MP_WORKER_FD, &msg, MSG_NOSIGNAL) < 0)
        _exit(4);
}

static void say_all(void)
{
    say(packet_len, NULL, 0);
}

static void hang(void)
{
    for (;;)
        pause();
}

/* A request: its head, and the two descriptors of a conversion. */
static struct mp_worker_head hear(int fds[2])
{
    union {
        char room[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {packet, sizeof packet};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof control.room};
    struct mp_worker_head head;

    if (recvmsg(MP_WORKER_FD, &msg, 0) < (ssize_t)sizeof head)
        _exit(0);
    memcpy(&head, packet, sizeof head);
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    if (c)
        memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
    return head;
}

/* ---- before the first question ---- */

static char long_text[MP_WORKER_TEXT];

static const char *filled(size_t len, const char *pattern)
{
    size_t n = strlen(pattern);
    for (size_t i = 0; i < len; i++)
        long_text[i] = pattern[i % n];
    long_text[len] = '\0';
    return long_text;
}

static void greet(void)
{
    struct mp_worker_head hello = {.kind = MP_WORKER_HELLO};
    const char *texts[MP_TEXTS] = {NULL};

    if (is("no-hello"))
        hang();
    if (is("other-hello"))
        hello.kind = MP_WORKER_DONE;
    if (is("positive-hello") || is("silent-hello"))
        hello.code = is("silent-hello") ? MCPLUG_EIO : 7;
    if (is("cancelled-hello")) {
        hello.code = MCPLUG_ECANCELED;
        texts[MP_TEXT_ERROR] = "cancelled";
    }
    if (is("long-hello")) {
        hello.code = MCPLUG_EIO;
        texts[MP_TEXT_ERROR] = filled(40000, "no way\n\033[2J\xff");
    }
    make(hello, texts, NULL);
    say_all();
    if (is("two-hellos"))
        say_all();
    if (is("early")) { /* an answer to what was not asked */
        make((struct mp_worker_head){.kind = MP_WORKER_DONE, .code = 90}, texts, NULL);
        say_all();
    }
    if (is("gone"))
        _exit(9);
}

/* ---- the answer to MATCH ---- */

static void match(const struct mp_worker_head *asked)
{
    struct mp_worker_head done = {
        .kind = MP_WORKER_DONE, .serial = asked->serial, .code = 90};
    const char *texts[MP_TEXTS] = {NULL};

    if (is("match-serial"))
        done.serial++;
    if (is("match-more"))
        done.code = 101;
    if (is("match-less"))
        done.code = -90;
    if (is("no-match"))
        hang();
    make(done, texts, NULL);
    say_all();
}

/* ---- the answer to CONVERT ---- */

static int seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
}

/* What is wrong with the head or the file. */
static void spoil_head(struct mp_worker_head *done, int out)
{
    if (is("serial"))
        done->serial++;
    if (is("kind"))
        done->kind = MP_WORKER_CONVERT;
    if (is("larger"))
        done->size++;
    if (is("smaller"))
        done->size--;
    if (is("huge"))
        done->size = UINT64_MAX;
    if (is("sparse") && ftruncate(out, (off_t)1 << 40) == 0)
        done->size = (uint64_t)1 << 40;
    if (is("sealed"))
        seal(out);
    if (is("mapped"))
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
    if (is("positive"))
        done->code = 5;
    if (is("silent"))
        done->code = MCPLUG_EPROTO;
    if (is("unknown") || is("long-error"))
        done->code = is("unknown") ? INT32_MIN : MCPLUG_EPROTO;
    if (is("nomem"))
        done->code = MCPLUG_ENOMEM;
}

static void spoil_texts(const char *texts[MP_TEXTS])
{
    static const char many[] = "a\n1\nb\n1\nc\n1\nd\n1\ne\n1\nf\n1\ng\n1\nh\n1\ni\n1\n"
                               "j\n1\nk\n1\nl\n1\nm\n1\nn\n1\no\n1\np\n1\nq\n1\n";
    const struct {
        const char *act;
        int which;
        const char *text;
    } all[] = {
        {"no-type", MP_TEXT_MIME, ""},
        {"half-type", MP_TEXT_MIME, "text/"},
        {"type-line", MP_TEXT_MIME, "text/plain\nX-More: 1"},
        {"long-type", MP_TEXT_MIME, NULL},
        {"many-facts", MP_TEXT_FACTS, many},
        {"half-fact", MP_TEXT_FACTS, "pages\n"},
        {"open-fact", MP_TEXT_FACTS, "pages\n12"},
        {"fact-name", MP_TEXT_FACTS, "Bad Name\n1\n"},
        {"fact-escape", MP_TEXT_FACTS, "title\n\033[2J\n"},
        {"fact-bytes", MP_TEXT_FACTS, "title\n\xff\xfe\n"},
        {"long-facts", MP_TEXT_FACTS, NULL},
        {"unknown", MP_TEXT_ERROR, "an error of its own"},
        {"nomem", MP_TEXT_ERROR, "out of memory"},
        {"long-error", MP_TEXT_ERROR, NULL},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (is(all[i].act))
            texts[all[i].which] =
                all[i].text
                    ? all[i].text
                    : filled(40000, all[i].which == MP_TEXT_MIME ? "text/x" : "x\n");
}

/* Wrong lengths, and wrong in length. */
static bool say_torn(const struct mp_worker_head *done, const char *const texts[MP_TEXTS])
{
    uint32_t lens[MP_TEXTS];

    for (size_t i = 0; i < MP_TEXTS; i++)
        lens[i] = texts[i] ? (uint32_t)strlen(texts[i]) : 0;
    if (is("text-longer"))
        lens[MP_TEXT_FACTS] = 1000;
    else if (is("text-endless"))
        lens[MP_TEXT_MIME] = UINT32_MAX;
    else if (is("text-shorter"))
        lens[MP_TEXT_MIME]--;
    else if (is("text-nul")) /* all the other texts are in the first */
        lens[MP_TEXT_MIME] += 2;
    else if (!is("half") && !is("behind") && !is("flood") && !is("empty") && !is("magic"))
        return false;
    make(*done, texts, lens);
    if (is("magic"))
        packet[0] ^= 1;
    say(is("half")     ? sizeof *done / 2
        : is("empty")  ? 0
        : is("behind") ? packet_len + 3
        : is("flood")  ? sizeof packet
                       : packet_len,
        NULL, 0);
    return true;
}

/* With descriptors, which nobody asked for. */
static bool say_with_fds(int out)
{
    int fds[FDS_MAX], ends[2];
    size_t n = is("fd-many") ? FDS_MAX : is("fd-two") ? 2 : 1;

    if (strncmp(act, "fd-", 3) != 0 || pipe(ends) != 0)
        return false;
    for (size_t i = 0; i < FDS_MAX; i++)
        fds[i] = is("fd-directory") ? open("/", O_RDONLY | O_DIRECTORY)
                 : is("fd-file")    ? out
                                    : ends[0];
    say(packet_len, fds, n);
    return true;
}

static void convert(const struct mp_worker_head *asked, const int fds[2])
{
    struct mp_worker_head done = {
        .kind = MP_WORKER_DONE, .serial = asked->serial, .size = 7};
    const char *texts[MP_TEXTS] = {[MP_TEXT_MIME] = "text/plain"};

    if (is("never"))
        hang();
    if (is("closed")) {
        close(MP_WORKER_FD);
        hang();
    }
    if (pwrite(fds[1], "a lie\n", 7, 0) != 7)
        _exit(5);
    spoil_head(&done, fds[1]);
    spoil_texts(texts);
    if (say_torn(&done, texts))
        return;
    make(done, texts, NULL);
    if (!say_with_fds(fds[1]))
        say_all();
    if (is("again")) /* the next one would get this */
        say_all();
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    read_act(argv[0]);
    if (is("good")) {
        execv(real, (char *[]){real, argv[1], NULL});
        _exit(6);
    }
    greet();
    for (;;) {
        int fds[2] = {-1, -1};
        struct mp_worker_head asked = hear(fds);
        if (asked.kind == MP_WORKER_MATCH)
            match(&asked);
        else
            convert(&asked, fds);
        close(fds[0]);
        close(fds[1]);
    }
}
