/* The command line: what there is to say, and what was said. One table per set of
 * options drives the parser and the help texts alike. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <mcplug/types.h>

#include <stdbool.h>

struct cli;
struct cli_cursor;

enum cli_option_type {
    CLI_FLAG,     /* bool */
    CLI_COUNT,    /* int; how often it was given */
    CLI_TEXT,     /* const char *; the last one counts */
    CLI_LIST,     /* struct cli_list; one more each time */
    CLI_DURATION, /* uint64_t ms, "250ms" "2s" "5m" "1h" */
    CLI_NUMBER,   /* uint64_t, from 1 */
    CLI_AGE,      /* as CLI_DURATION, but 0s counts: uint64_t, one more than was said */
    CLI_LIMIT     /* the same of CLI_NUMBER */
};

/* What a word of a command or the value of an option is, as far as completion can offer
 * something for it: see struct cli_rule. */
enum cli_word_kind {
    CLI_WORD_UNSET,
    CLI_WORD_FREE, /* anything: nothing is offered */
    CLI_WORD_FILE,
    CLI_WORD_DIRECTORY,
    CLI_WORD_AT_FILE, /* anything, or @FILE */
    CLI_WORD_COMMAND, /* of mcplug */
    CLI_WORD_IMPORTER,
    CLI_WORD_MODULE,
    CLI_WORD_TRANSPORT,
    CLI_WORD_SCOPE,  /* one that can be written */
    CLI_WORD_SERVER, /* by its name in the configuration; the next four: some of them */
    CLI_WORD_SERVER_ENABLED,
    CLI_WORD_SERVER_DISABLED,
    CLI_WORD_SERVER_APPROVED,
    CLI_WORD_SERVER_UNAPPROVED,
    /* Of the server of a command with CLI_SERVER, as it was last seen: */
    CLI_WORD_TOOL,
    CLI_WORD_TOOL_ARGUMENT, /* KEY=VALUE, for the tool that is the first word */
    CLI_WORD_PROMPT,
    CLI_WORD_PROMPT_ARGUMENT, /* KEY=VALUE, for the prompt that is the first word */
    CLI_WORD_RESOURCE
};

struct cli_choice {
    const char *name; /* NULL ends the list */
    const char *about;
};

/* How a word is completed: by one of the three. */
struct cli_rule {
    enum cli_word_kind is;
    const struct cli_choice *choices;
    void (*offer)(struct cli_cursor *at); /* see cli/complete/words.h */
};

struct cli_option {
    const char *name; /* NULL ends the table */
    char letter;      /* 0: none */
    enum cli_option_type type;
    const char *value;        /* what the value is called; NULL for flags and counts */
    const char *help;         /* NULL: not for people */
    size_t at;                /* of the member of struct cli_args */
    struct cli_rule complete; /* the value; unset for flags and counts */
};

/* What a command takes beside its own options. */
#define CLI_SERVER 1u    /* talks to a server: its name comes first, or how to reach it */
#define CLI_REQUEST 2u   /* makes a request that may last: progress, _meta */
#define CLI_CONFIG 4u    /* reads the configuration */
#define CLI_QUALIFIED 8u /* the first word may be mcp__SERVER__NAME */
#define CLI_COMMAND 16u  /* its words may go on behind --, as they are */
#define CLI_ALL_SERVERS 32u /* without a server it is about all that are configured */
#define CLI_TEXTS 64u       /* behind -- come more words, which may begin with - */
#define CLI_LINES 128u      /* prints things as they happen: --json is an object a line */
#define CLI_IN_PLACE 256u   /* behind -- may be the command of a server */

#define CLI_RULES 4

struct cli_command {
    const char *name;
    const char *words;   /* "TOOL [KEY=VALUE...]"; "" for none */
    const char *summary; /* one line */
    const char *details; /* paragraphs, newline-separated; may be NULL */
    const char *hint;    /* what to look at when the server objects: "tools"; or NULL */
    const struct cli_option *options; /* its own; may be NULL */
    unsigned flags;
    size_t min_words, max_words;
    /* Its words, without the server's name; the last one that is set holds for all that
     * follow. Every command that has words sets the first one. */
    struct cli_rule complete[CLI_RULES];
    bool hidden;                 /* not for people */
    int (*run)(struct cli *cli); /* returns the exit code */
};

#define CLI_MANY ((size_t)-1)

struct cli_list { /* NULL-ended once anything is in it */
    const char **items;
    size_t n;
};

struct cli_args {                      /* all strings belong to argv */
    const struct cli_command *command; /* NULL: none was given */
    struct cli_list words;             /* without the server's name */
    const char *server;    /* by its name in the configuration; NULL: given in place */
    char **server_command; /* what stands behind `--`, NULL-ended; NULL: no `--` */

    bool help, version, json, quiet;
    int verbose;
    const char *log_file;
    struct cli_list plugin_dirs;

    struct cli_list mcp_config;
    bool strict_mcp_config;

    const char *url, *type, *cwd, *revision, *log_level;
    struct cli_list env, headers, set, roots;
    uint64_t timeout, connect_timeout;
    bool no_input, insecure;

    const char *meta;
    bool progress, no_progress;

    const char *scope;         /* add, remove, .. */
    const char *file;          /* import --file */
    bool no_connect, yes, all; /* list, import, approve */
    bool refresh;              /* tools, prompts, resources */
    bool lint, repair;         /* tools */
    const char *providers;     /* tools --for */
    bool plain, until_ready;   /* watch */

    const char *arguments;              /* call --args */
    bool structured;                    /* call: print structured content */
    bool table;                         /* call, read: print rows as a table */
    bool raw;                           /* call, read, skill: add no newline */
    bool no_images;                     /* call, read: draw none */
    const char *output;                 /* call, read, skill: where to save */
    bool force;                         /* .. over what is there */
    bool for_model;                     /* call: as a model gets it */
    uint64_t max_tokens;                /* .. with that limit */
    uint64_t count;                     /* ping --count */
    bool follow;                        /* logs */
    const char *path, *offset, *length; /* results show */
    bool ignore_case;                   /* results grep */
    const char *to;                     /* convert: a type, or a word for one */
    uint64_t max_bytes, max_side;       /* .. of what comes out */
    const char *model, *system;         /* run */
    struct cli_list servers, tools;     /* .. names, patterns */
    uint64_t tool_budget;               /* .. tokens of definitions */
    uint64_t max_steps;                 /* .. requests to the model */
    const char *max_cost;               /* .. a number */
    const char *save, *resume;          /* .. files */
    bool tools_only;                    /* .. calls are read, no model is asked */
    uint64_t lines, since; /* logs: how many, ms before now; both one more, 0: not said */
    const char *check, *inspect;
};

/* Every command, in the order of the help text; NULL-ended. */
extern const struct cli_command *const cli_commands[];

bool cli_rule_is_set(const struct cli_rule *rule);

const struct cli_command *cli_command_find(const char *name, size_t len);

#define CLI_GROUPS 5
struct cli_group {
    const char *title;
    const struct cli_option *options;
};
/* The sets of options that `command` takes (NULL: those of no command), the most
 * special first; returns how many. */
size_t cli_command_groups(const struct cli_command *command,
                          struct cli_group out[CLI_GROUPS]);

/* MCPLUG_EINVAL with a sentence for the user; `args` knows then whether --json was given,
 * also behind the mistake. With --help or --version given, nothing is asked for. Clear
 * `args` in either case. */
int cli_args_parse(struct cli_args *args, int argc, char **argv,
                   struct mcplug_error *err);
void cli_args_clear(struct cli_args *args);

/* Is the server that is named to be reached in another way than its definition says, or
 * told more than that? What is known of it may not be true then. */
bool cli_args_alter(const struct cli_args *args);

/* A duration as the library takes it. */
static inline uint32_t cli_ms(uint64_t ms)
{
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

bool cli_list_add(struct cli_list *list, const char *item);

#endif
