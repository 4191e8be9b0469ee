/* What the two halves of the hostile peer share: evil.c and evil_acts.c. */
#ifndef EVIL_H
#define EVIL_H

#include <stddef.h>
#include <stdint.h>

struct evil;

/* What a mode does, at what it does not do as a proper server would. */
struct act {
    const char *mode;
    void (*start)(struct evil *e);
    void (*discover)(struct evil *e, uint64_t id);
    void (*call)(struct evil *e, uint64_t id); /* a tool other than "good" */
    void (*list)(struct evil *e, uint64_t id, const char *line);
    void (*cancelled)(struct evil *e, uint64_t id);
    void (*answer)(struct evil *e, const char *line); /* to a request of ours */
    int listen_lost;                                  /* stays when stdin has ended */
};

struct script;

struct evil {
    int legacy;
    uint64_t arg;
    const struct act *act;
    const struct script *script; /* NULL: an act */
    uint64_t calls;              /* of tools other than "good" so far */
    uint64_t held;               /* the id of a call to answer later */
    unsigned asked, answers, unknown, refused, results;
};

extern const struct act acts[]; /* ends with an empty one */

void say(const char *data, size_t len);
void sayf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_many(char c, uint64_t count);
void say_ok(const struct evil *e, uint64_t id, const char *text);

#endif
