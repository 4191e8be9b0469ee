/* How a request is coming along, shown while it runs. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <mcplug/types.h>

#include <stdbool.h>

enum cli_progress_mode {
    CLI_PROGRESS_OFF,
    CLI_PROGRESS_LINE, /* one line of a terminal, written over and over */
    CLI_PROGRESS_LOG   /* a line per news */
};

struct cli_progress {
    enum cli_progress_mode mode;
    bool running, paused, dirty;
    char what[128];            /* "Tool 'T'" */
    uint64_t began, told, due; /* ms; `due`: when to look again, 0: never */
    double done, total;        /* total < 0: unknown */
    bool any;
    char message[256];
};

uint64_t cli_now(void); /* ms, monotonic */

void cli_progress_begin(struct cli_progress *p, const char *what);
void cli_progress_news(struct cli_progress *p, double done, double total,
                       const char *message);
void cli_progress_tick(struct cli_progress *p);               /* when `due` has come */
void cli_progress_pause(struct cli_progress *p, bool paused); /* the user is asked */
void cli_progress_end(struct cli_progress *p);

/* What is shown `ms` after the beginning; returns its length. */
size_t cli_progress_text(const struct cli_progress *p, uint64_t ms, char *out,
                         size_t cap);

#endif
