/* result-server.c - an MCP server with results of any size, in bounded memory, and the
 * same bytes every time, so that what arrives can be compared.
 *
 *   result-server                      on standard input and output
 *   result-server --expect TOOL BYTES  prints what the text of such a result is
 *
 * Each tool takes {"bytes":N}:
 *
 *   text    numbered lines
 *   json    a text that is a JSON array of objects
 *   base64  a text of Base64
 *   blob    an embedded resource whose data is that Base64
 *
 * N is a lower bound: the last line, object or group is whole. Requests are looked
 * through for the few members that matter; this is a tool to measure with, not an
 * example to follow.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16, DIGITS = 10 };

static char piece[PIECE];
static size_t piece_len;

static void flush(void)
{
    const char *p = piece;

    while (piece_len > 0) {
        ssize_t n = write(STDOUT_FILENO, p, piece_len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            exit(0); /* the client is gone, which is how a run ends */
        p += n;
        piece_len -= (size_t)n;
    }
}

static void put(const char *data, size_t len)
{
    if (PIECE - piece_len < len)
        flush();
    memcpy(piece + piece_len, data, len);
    piece_len += len;
}

static void puts_of(const char *text)
{
    put(text, strlen(text));
}

/* ---- what results are made of ---- */

/* One more, in the DIGITS digits at `p`. */
static void count_up(char *p)
{
    int i = DIGITS - 1;

    while (i > 0 && p[i] == '9')
        p[i--] = '0';
    p[i]++;
}

struct unit {
    char text[256]; /* as it is in the text */
    char wire[256]; /* as it is in JSON */
    size_t text_len, wire_len;
    char *numbers[4]; /* in both */
    int n;
};

static void unit_init(struct unit *u, const char *text)
{
    char *to = u->wire;

    strcpy(u->text, text);
    u->text_len = strlen(text);
    for (const char *p = text; *p; p++) {
        if (*p == '"')
            *to++ = '\\';
        if (*p == '\n')
            to = mempcpy(to, "\\n", 2);
        else
            *to++ = *p;
    }
    u->wire_len = (size_t)(to - u->wire);
    u->n = 0;
    for (char *at = u->text; (at = strstr(at, "1000000000")); at += DIGITS)
        u->numbers[u->n++] = at;
    for (char *at = u->wire; (at = strstr(at, "1000000000")); at += DIGITS)
        u->numbers[u->n++] = at;
}

static void put_units(struct unit *u, uint64_t bytes, bool escaped)
{
    for (uint64_t done = 0; done < bytes; done += u->text_len) {
        put(escaped ? u->wire : u->text, escaped ? u->wire_len : u->text_len);
        for (int i = 0; i < u->n; i++)
            count_up(u->numbers[i]);
    }
}

static void put_text(uint64_t bytes, bool escaped)
{
    struct unit u;

    unit_init(&u, "1000000000 The quick brown fox jumps over the lazy dog, and over the "
                  "next one too.\n");
    put_units(&u, bytes, escaped);
}

static void put_json(uint64_t bytes, bool escaped)
{
    struct unit u;

    puts_of(escaped ? "[{\\\"id\\\":0}" : "[{\"id\":0}");
    unit_init(&u, ",\n{\"id\":1000000000,\"name\":\"item 1000000000\",\"tags\":[\"a\","
                  "\"b\"],\"ratio\":0.25}");
    put_units(&u, bytes, escaped);
    puts_of("]");
}

/* Groups of four, none with a regular neighbour. */
static void put_base64(uint64_t bytes)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t state = 88172645463325252u;
    char group[8];

    for (uint64_t done = 0; done < bytes; done += sizeof group) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        for (size_t i = 0; i < sizeof group; i++)
            group[i] = alphabet[state >> (8 * i) & 63];
        put(group, sizeof group);
    }
}

static bool put_result(const char *tool, uint64_t bytes, bool escaped)
{
    if (!strcmp(tool, "text"))
        put_text(bytes, escaped);
    else if (!strcmp(tool, "json"))
        put_json(bytes, escaped);
    else if (!strcmp(tool, "base64") || !strcmp(tool, "blob"))
        put_base64(bytes);
    else
        return false;
    return true;
}

/* ---- the server ---- */

static const char *const tools[] = {"text", "json", "base64", "blob"};
enum { TOOLS = sizeof tools / sizeof *tools };

static void list(void)
{
    puts_of("\"result\":{\"tools\":[");
    for (int i = 0; i < TOOLS; i++) {
        puts_of(i ? ",{\"name\":\"" : "{\"name\":\"");
        puts_of(tools[i]);
        puts_of("\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"bytes\":{"
                "\"type\":\"integer\"}}}}");
    }
    puts_of("]}}\n");
}

static void call(const char *line)
{
    const char *bytes = strstr(line, "\"bytes\":");
    uint64_t n = bytes ? strtoull(bytes + 8, NULL, 10) : 0;
    char name[32];

    for (int i = 0; i < TOOLS; i++) {
        snprintf(name, sizeof name, "\"name\":\"%s\"", tools[i]);
        if (!strstr(line, name))
            continue;
        puts_of(!strcmp(tools[i], "blob")
                    ? "\"result\":{\"content\":[{\"type\":\"resource\",\"resource\":{"
                      "\"uri\":\"res:/data.bin\",\"mimeType\":"
                      "\"application/octet-stream\",\"blob\":\""
                    : "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
        put_result(tools[i], n, true);
        puts_of(!strcmp(tools[i], "blob") ? "\"}}]}}\n" : "\"}]}}\n");
        return;
    }
    puts_of("\"error\":{\"code\":-32602,\"message\":\"Unknown tool\"}}\n");
}

static void answer(const char *line)
{
    const char *id = strstr(line, "\"id\":");

    if (!id)
        return;
    id += 5;
    puts_of("{\"jsonrpc\":\"2.0\",\"id\":");
    put(id, strcspn(id, ",}"));
    puts_of(",");
    if (strstr(line, "\"method\":\"initialize\""))
        puts_of("\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{"
                "\"tools\":{}},\"serverInfo\":{\"name\":\"result-server\",\"version\":"
                "\"1\"}}}\n");
    else if (strstr(line, "\"method\":\"tools/list\""))
        list();
    else if (strstr(line, "\"method\":\"tools/call\""))
        call(line);
    else if (strstr(line, "\"method\":\"ping\""))
        puts_of("\"result\":{}}\n");
    else
        puts_of("\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n");
    flush();
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;

    if (argc == 4 && !strcmp(argv[1], "--expect")) {
        bool known = put_result(argv[2], strtoull(argv[3], NULL, 10), false);
        flush();
        return known ? 0 : 2;
    }
    if (argc != 1) {
        fputs("usage: result-server [--expect TOOL BYTES]\n", stderr);
        return 2;
    }
    while (getline(&line, &room, stdin) > 0)
        answer(line);
    free(line);
    return 0;
}
