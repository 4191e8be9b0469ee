/* plugins/stdio/streams.c - stdin, stdout and stderr of a server, see server.h */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void stdio_streams_unwatch(struct stdio_server *s, mcplug_watch **watch)
{
    if (*watch != NULL)
        s->host->loop->watch_stop(*watch);
    *watch = NULL;
}

void stdio_streams_close_stdin(struct stdio_server *s)
{
    s->lines->detach(s->framer);
    stdio_streams_unwatch(s, &s->in_watch);
    stdio_fd_close(&s->ends.to_stdin);
    stdio_fd_close(&s->ends.stdin_reader);
}

static void end_stdout(struct stdio_server *s)
{
    if (s->ends.from_stdout < 0)
        return;
    stdio_streams_unwatch(s, &s->out_watch);
    stdio_fd_close(&s->ends.from_stdout);
    if (s->opened)
        s->lines->end(s->framer);
}

static void end_stderr(struct stdio_server *s)
{
    if (s->ends.from_stderr < 0)
        return;
    stdio_streams_unwatch(s, &s->err_watch);
    stdio_fd_close(&s->ends.from_stderr);
    stdio_remarks_end(&s->remarks);
}

/* Reads once. The bytes read, 0 when there are none now, -1 when it is over. */
static ssize_t read_chunk(struct stdio_server *s, int fd)
{
    ssize_t n = read(fd, s->chunk, STDIO_CHUNK);
    if (n > 0)
        return n;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* A server that fills its pipe sends something long: with more room it goes on while we
 * read, and both of us sleep less often. Where the system grants none, the pipe stays as
 * it is. */
static void widen(struct stdio_server *s)
{
    s->is_wide = true;
    fcntl(s->ends.from_stdout, F_SETPIPE_SZ, STDIO_PIPE);
}

static ssize_t read_stdout(struct stdio_server *s)
{
    ssize_t n = read_chunk(s, s->ends.from_stdout);
    if (n > STDIO_NARROW / 2 && !s->is_wide)
        widen(s);
    if (n > 0 && s->opened)
        s->lines->feed(s->framer, (struct mcplug_bytes){s->chunk, (size_t)n});
    return n;
}

static ssize_t read_stderr(struct stdio_server *s)
{
    ssize_t n = read_chunk(s, s->ends.from_stderr);
    if (n > 0)
        stdio_remarks_take(&s->remarks, s->chunk, (size_t)n);
    return n;
}

/* What an ended server left in a pipe is no more than the pipe holds; the rest is
 * by others who still have it open, and may never end. */
static void drain(struct stdio_server *s, int fd,
                  ssize_t (*read_once)(struct stdio_server *))
{
    ssize_t left = fd < 0 ? 0 : fcntl(fd, F_GETPIPE_SZ);
    while (left > 0) {
        ssize_t n = read_once(s);
        if (n <= 0)
            return;
        left -= n;
    }
}

void stdio_streams_finish(struct stdio_server *s)
{
    drain(s, s->ends.from_stdout, read_stdout);
    end_stdout(s);
    drain(s, s->ends.from_stderr, read_stderr);
    end_stderr(s);
}

void stdio_streams_on_stdin(void *arg, unsigned events)
{
    struct stdio_server *s = arg;
    (void)events;
    if (s->lines->flush(s->framer, NULL) != MCPLUG_OK)
        stdio_server_fail(s, s->lines->broken(s->framer));
}

/* One read for one event: a server that floods us cannot keep us here. */
void stdio_streams_on_stdout(void *arg, unsigned events)
{
    struct stdio_server *s = arg;
    (void)events;
    if (read_stdout(s) >= 0)
        return;
    end_stdout(s);
    if (s->phase == STDIO_RUNNING)
        stdio_server_enter(s, STDIO_MUTE);
}

void stdio_streams_on_stderr(void *arg, unsigned events)
{
    struct stdio_server *s = arg;
    (void)events;
    if (read_stderr(s) < 0)
        end_stderr(s);
}
