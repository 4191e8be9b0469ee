/* client.h - what the clients of this benchmark that are written in C share. */
#ifndef MCPLUG_BENCH_CLIENT_H
#define MCPLUG_BENCH_CLIENT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define TEXT "The quick brown fox jumps over the lazy dog"
#define META                                                                             \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","             \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench-floor\",\"version\":"      \
    "\"1\"},\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* ---- time and memory ---- */

static inline double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline double cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* How often this process gave way, by itself or not. */
static inline double switches(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_nvcsw + u.ru_nivcsw);
}

/* A figure of /proc/self/status, in kB. */
static inline long status_kb(const char *key)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;

    while (f && fgets(line, sizeof line, f)) {
        if (!strncmp(line, key, strlen(key)))
            kb = strtol(line + strlen(key) + 1, NULL, 10);
    }
    if (f)
        fclose(f);
    return kb;
}

static inline int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- messages ---- */

/* The id of an answer; all of ours are numbers. A text cannot look like it: its
 * quotes are escaped. */
static inline long id_of(const char *line, size_t len)
{
    static const char usual[] = "{\"jsonrpc\":\"2.0\",\"id\":";
    const size_t skip = sizeof usual - 1;
    const char *at = len > skip && !memcmp(line, usual, skip) ? line + skip : NULL;
    char *end = NULL;
    long id = -1;

    if (!at && (at = memmem(line, len, "\"id\":", 5)))
        at += 5;
    if (at)
        id = strtol(at, &end, 10);
    if (!end || memmem(line, len < 4096 ? len : 4096, "\"error\":{", 9)) {
        fprintf(stderr, "bench-floor: unexpected answer: %.*s\n",
                (int)(len < 200 ? len : 200), line);
        exit(1);
    }
    return id;
}

/* Writes an echo call, without printf: the id is all that differs. */
static inline size_t make_call(bool modern, char *to, long id)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":";
    static const char tail[] = ",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
                               "\"arguments\":{\"text\":\"" TEXT "\"}}}\n";
    static const char modern_tail[] =
        ",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"arguments\":{\"text\":\"" TEXT "\"}," META "}}\n";
    char digits[24], *d = digits + sizeof digits, *p = to;

    p = mempcpy(p, head, sizeof head - 1);
    do
        *--d = (char)('0' + id % 10);
    while (id /= 10);
    p = mempcpy(p, d, (size_t)(digits + sizeof digits - d));
    p = modern ? mempcpy(p, modern_tail, sizeof modern_tail - 1)
               : mempcpy(p, tail, sizeof tail - 1);
    return (size_t)(p - to);
}

/* How often one had to wait for the server before the first call, by what its tool
 * `stats` says: over HTTP for every message, over a WebSocket for the upgrade and
 * every request. Setting up TCP is not counted, nor is a stream nobody waits for. */
static inline int round_trips(const char *said, bool over_http)
{
    unsigned accepts, upgrades, requests, notifications;
    const char *at = strstr(said, "accepts=");

    if (!at || sscanf(at, "accepts=%u upgrades=%u requests=%u notifications=%u", &accepts,
                      &upgrades, &requests, &notifications) != 4)
        return -1;
    return (int)(over_http ? requests + notifications : upgrades + requests);
}

#endif
