/* What core/content/tokens.c makes of texts, for tokens.mjs, which asks tokenizers:
 *
 *   tokens FILE..          a line for each, its estimate
 *   tokens --speed FILE..  gigabytes of them in a second of processor time
 */
#include "content/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, n;

    *len = 0;
    do {
        room += 1 << 20;
        text = f ? realloc(text, room) : NULL;
        if (!text) {
            perror(path);
            exit(2);
        }
        n = fread(text + *len, 1, room - *len, f);
        *len += n;
    } while (n);
    fclose(f);
    return text;
}

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The best of several times: others may be busy. */
static double speed_of(const char *text, size_t len)
{
    volatile uint64_t sum = 0;
    double best = 0;

    for (int round = 0; round < 10; round++) {
        double begin = processor_time();
        size_t done = 0;
        for (; done < 50u << 20; done += len)
            sum += mp_tokens_of(text, len);
        double speed = (double)done / (processor_time() - begin) / 1e9;
        best = speed > best ? speed : best;
    }
    (void)sum;
    return best;
}

int main(int argc, char **argv)
{
    int speed = argc > 1 && !strcmp(argv[1], "--speed");

    for (int i = 1 + speed; i < argc; i++) {
        size_t len;
        char *text = read_file(argv[i], &len);
        if (!speed)
            printf("%llu\n", (unsigned long long)mp_tokens_of(text, len));
        else if (len)
            printf("%.2f\n", speed_of(text, len));
        free(text);
    }
    return 0;
}
