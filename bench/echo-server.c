/* echo-server.c - the fastest MCP server we can write, so that what a
 * benchmark of clients measures is the client. On standard input and output;
 * echo-net.c is the same behind a port.
 *
 * Every request that came with one read is answered with one write.
 *
 *   bench-echo-server [--legacy] [--tools N]
 */
#include "echo.h"

#include <errno.h>
#include <unistd.h>

enum { READ_SIZE = 256 << 10, FLUSH_SIZE = 1 << 20 };

static void write_all(const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            exit(0); /* the client is gone, which is how a run ends */
        data += n;
        len -= (size_t)n;
    }
}

/* Answers all whole lines in `in`, returns how many bytes they were. */
static size_t answer_lines(struct server *s, const char *in, size_t len)
{
    const char *p = in, *end = in + len, *newline;

    while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
        answer_message(s, p, newline);
        if (s->out.len > FLUSH_SIZE)
            flush(&s->out);
        p = newline + 1;
    }
    flush(&s->out);
    return (size_t)(p - in);
}

int main(int argc, char **argv)
{
    struct server s = {.out.send = write_all};
    size_t have = 0, room = 0;
    unsigned tools = 0;
    char *in = NULL;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--legacy"))
            s.legacy = true;
        else if (!strcmp(argv[i], "--tools") && i + 1 < argc)
            tools = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            die("usage: bench-echo-server [--legacy] [--tools N]");
    }
    make_tools(&s, tools);
    for (;;) {
        if (room - have < READ_SIZE) {
            room = room * 2 + READ_SIZE;
            in = realloc(in, room);
            if (!in)
                die("out of memory");
        }
        ssize_t n = read(STDIN_FILENO, in + have, room - have);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        have += n > 0 ? (size_t)n : 0;
        size_t used = answer_lines(&s, in, have);
        have -= used;
        memmove(in, in + used, have);
    }
    free(in);
    free(s.tools);
    free(s.out.data);
    return 0;
}
