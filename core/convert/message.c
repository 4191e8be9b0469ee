#include "convert/message.h"

#include "../../plugins/common/fds.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int mp_worker_send(int fd, struct mp_worker_message *m, int n_fds, bool waits)
{
    union {
        char room[CMSG_SPACE(sizeof m->fds)];
        struct cmsghdr align;
    } control = {{0}};
    size_t at = sizeof m->head;

    for (size_t i = 0; i < MP_TEXTS; i++) {
        const char *text = m->texts[i] ? m->texts[i] : "";
        size_t len = strlen(text);
        if (len + 1 > sizeof m->room - at)
            return EMSGSIZE;
        memcpy(m->room + at, text, len + 1);
        m->head.len[i] = (uint32_t)len;
        at += len + 1;
    }
    m->head.magic = MP_WORKER_MAGIC;
    memcpy(m->room, &m->head, sizeof m->head);

    struct iovec part = {m->room, at};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    if (n_fds) {
        msg.msg_control = control.room;
        msg.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), m->fds, (size_t)n_fds * sizeof(int));
    }
    while (sendmsg(fd, &msg, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT)) < 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

void mp_worker_close_fds(struct mp_worker_message *m)
{
    for (size_t i = 0; i < 2; i++) {
        if (m->fds[i] >= 0)
            close(m->fds[i]);
        m->fds[i] = -1;
    }
}

/* All that came, be it more than anybody sends. */
static void take_fds(struct msghdr *msg, struct mp_worker_message *m)
{
    size_t n = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (n < 2)
                m->fds[n++] = fds_high(fd);
            else
                close(fd);
        }
    }
}

static int take_texts(struct mp_worker_message *m, size_t len)
{
    size_t at = sizeof m->head;

    if (len < at)
        return EPROTO;
    memcpy(&m->head, m->room, sizeof m->head);
    if (m->head.magic != MP_WORKER_MAGIC)
        return EPROTO;
    for (size_t i = 0; i < MP_TEXTS; i++) {
        if (m->head.len[i] >= len - at || m->room[at + m->head.len[i]] ||
            memchr(m->room + at, '\0', m->head.len[i]))
            return EPROTO;
        m->texts[i] = m->room + at;
        at += (size_t)m->head.len[i] + 1;
    }
    return at == len ? 0 : EPROTO;
}

int mp_worker_receive(int fd, struct mp_worker_message *m)
{
    union {
        char room[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {m->room, sizeof m->room};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof control.room};
    ssize_t n;

    m->fds[0] = m->fds[1] = -1;
    while ((n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC)) < 0)
        if (errno != EINTR)
            return errno == ECONNRESET ? EPIPE : errno;
    take_fds(&msg, m); /* an empty message may have some */
    int r = n == 0                                     ? EPIPE
            : msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? EPROTO
                                                       : take_texts(m, (size_t)n);
    if (r)
        mp_worker_close_fds(m);
    return r;
}
