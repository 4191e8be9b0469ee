/* A model that says what the test wants: a module in the process, of the types "script",
 * "other" and "counts", which alone counts tokens. What it is asked is written down. */
#ifndef TESTS_SCRIPT_MODEL_H
#define TESTS_SCRIPT_MODEL_H

#include <mcplug/mcplug.h>
#include <mcplug/plugin.h>

#include <stdbool.h>

struct script_call {
    const char *name; /* NULL: no more */
    const char *arguments;
    const char *id;
};

struct script_turn { /* one answer */
    const char *thought, *text;
    /* NULL-ended: of the text, each in its own time; with a \1 before it, of a thought */
    const char *const *pieces;
    struct script_call calls[12];
    const struct script_call *more; /* n_more, instead of these */
    size_t n_more;
    const char *raw;
    uint64_t input, output;
    enum mcplug_stop stop; /* 0: as the calls say */
    /* a fault: */
    int code, status;
    uint32_t flags;
    const char *why;
    uint64_t retry_after; /* and 1; 0: the API says nothing of it */
    bool refuses;         /* ask() itself fails */
    bool hangs;           /* what is to be said is said, and no end */
    bool at_once;         /* all inside of ask() */
};

struct script {
    const struct script_turn *turns; /* the last again and again */
    size_t n;
    size_t asked, dropped;
    unsigned opened, closed;
    bool forgets;             /* nothing is written down */
    struct script_turn count; /* of requests to count: `input` are the tokens */
    size_t counted;
    size_t counted_bytes; /* of the last text */
    /* "SYSTEM|TOOL TOOL|\n", and each message: "U 'text'\n", "A 'text' use(ID,NAME,JSON)
     * raw(JSON)\n", "U ok(ID,NAME,'text') failed(ID,NAME,'text')\n". */
    char *prompts[128];
    char *tools[128]; /* "NAME: DESCRIPTION SCHEMA\n" of each */
};
extern struct script player;
extern const struct mcplug_plugin mcplug_builtin_script;

void script_clear(void);
/* Of the request after that many others; "": there was none. */
const char *script_prompt(size_t i);
/* What the turns point to is not copied. */
void script_begin(const struct script_turn *turns, size_t n);
#define SCRIPT(...)                                                                      \
    script_begin((const struct script_turn[]){__VA_ARGS__},                              \
                 sizeof((const struct script_turn[]){__VA_ARGS__}) /                     \
                     sizeof(struct script_turn))

#endif
