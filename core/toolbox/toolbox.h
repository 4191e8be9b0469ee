/* A toolbox: the tools of many servers, for one model. [loop]
 *
 *   toolbox.c       its servers, and what tools there are now
 *   warm.c          starting all of them, some at a time
 *   box_call.c      calling one
 *   record.c        what is told of a call
 *   own.c           the tools of our own
 *   resources.c     those about resources
 *   results.c       those about results in files
 *   instructions.c  what the model is told
 *   formats.c       tools as the APIs of models want them, by the rules of rules.h
 */
#ifndef MP_TOOLBOX_TOOLBOX_H
#define MP_TOOLBOX_TOOLBOX_H

#include "base/batch.h"
#include "content/render.h"
#include "registry/names.h"
#include "registry/registry.h"
#include "toolbox/rules.h"

#define MP_BATCH 3          /* servers that warm up at a time */
#define MP_BOX_SERVERS 4096 /* of one toolbox */
#define MP_BOX_NAMES 16384  /* of servers that it has had, which keep their names */

struct mp_hashed { /* a list, or none */
    mcplug_list *list;
    uint64_t hash;
};

struct mp_box_server { /* one server */
    struct mcplug_toolbox *box;
    char *name;
    mcplug_server *server;
    mcplug_list *lists[MP_FETCHED]; /* of the names that were given last */
    struct mp_hashed hashed[MP_FETCHED];
    size_t index; /* among the members */
    enum { MP_COLD, MP_WARMING, MP_WARM, MP_FAILED_TO_WARM } warmth;
    uint64_t began_at;

    bool is_leaving; /* not among the members any more */
    void (*closed)(void *arg);
    void *closed_arg;
};

struct mp_tool { /* one name */
    const char *name;
    struct mp_box_server *member; /* NULL: our own */
    size_t index;                 /* in its list; of our own, which */
    char *json;                   /* NULL until asked for */
    size_t json_len;
};

struct mp_warm_up { /* somebody who waits for it */
    struct mp_warm_up *next;
    void (*done)(void *arg, struct mcplug_toolbox *box, size_t ready, size_t failed);
    void *arg;
};

struct mcplug_toolbox {
    struct mp_registry *registry;
    struct mp_renderer *renderer;
    struct mcplug_toolbox *next, **prev; /* in the host's list */
    struct mcplug_toolbox_options o;
    struct mp_names *names;
    struct mp_box_server **members; /* in the order they were added */
    size_t n_members, cap;
    size_t n_named;   /* servers that it has had */
    size_t n_leaving; /* that are being closed */

    struct mp_tool *tools; /* as of the last time that somebody looked */
    struct mp_tool **by_name;
    size_t n_tools;
    uint64_t built;  /* how often they were made */
    bool is_old;     /* and has to be made anew */
    bool is_partial; /* there was no memory for all of it */
    bool has_stored; /* a result, which our own tools read */
    char *instructions;
    struct mp_array {
        char *json; /* NULL until asked for */
        size_t len;
    } arrays[MCPLUG_FORMAT_GEMINI + 1];
    uint64_t told; /* what there was when `changed` was told last, hashed */
    struct mp_job changed_job;

    struct mp_warm_up *warm_ups;
    struct mp_batch batch; /* of members, by their index, while they warm up */
    struct mp_job warm_job;

    struct mp_use *uses;
    unsigned under_way; /* of these */
    size_t n_closed;
    bool freeing;    /* nothing begins any more */
    bool is_closing; /* its servers are; it goes with the last */
    void (*freed)(void *arg);
    void *freed_arg;
    struct mp_job freed_job;
};

/* For the beginning of a public function: as mp_loop_check(), and it is not NULL. */
#define mp_box_check(box, err)                                                           \
    ((box) ? mp_loop_check((box)->registry->o.loop, err) : mp_fail_null(err, "`box`"))

/* It is put into `list`, and leaves it when nothing of it is left. */
struct mcplug_toolbox *mp_toolbox_new(struct mp_registry *r, struct mp_renderer *renderer,
                                      struct mcplug_toolbox **list,
                                      const struct mcplug_toolbox_options *options,
                                      unsigned batch, struct mcplug_error *err);
int mp_toolbox_begin(struct mcplug_toolbox *box, const char *name,
                     struct mp_box_server **out, struct mcplug_error *err);
/* Its server is there: take; or it is not, NULL. What it tells goes to the box. */
void mp_toolbox_added(struct mp_box_server *m, mcplug_server *server);
struct mp_box_server *mp_toolbox_member(const struct mcplug_toolbox *box,
                                        const char *name);
/* There may be other tools than before: they are looked at again, and it is told. */
void mp_toolbox_changed(struct mcplug_toolbox *box);
/* What tools there are now, in the order of the servers; without memory, fewer. */
void mp_toolbox_rebuild(struct mcplug_toolbox *box);
const struct mp_tool *mp_toolbox_find(struct mcplug_toolbox *box, const char *name);

/* Frees it, if that is wanted and nothing stands in the way. */
void mp_toolbox_settle(struct mcplug_toolbox *box);

/* For a host that is being freed: nothing begins in any toolbox from mp_toolbox_end() on,
 * and all are there until each of them is idle, since the callbacks of one may use
 * another. Then they are closed. */
void mp_toolbox_end(struct mcplug_toolbox *box);
bool mp_toolbox_idle(const struct mcplug_toolbox *box);
void mp_toolbox_close(struct mcplug_toolbox *box);

/* ---- warm.c ---- */

/* A server has come up, or has something against it. */
void mp_warm_heard(struct mp_box_server *m, enum mcplug_state state,
                   const struct mcplug_error *why);
void mp_warm_removed(struct mcplug_toolbox *box, size_t index); /* it was a member */
void mp_warm_clear(struct mcplug_toolbox *box);                 /* tells those who wait */

/* ---- box_call.c ---- */

/* As mcplug_toolbox_call(). `counter` counts the tokens of the result, unless the program
 * does; NULL: they are estimated. */
mcplug_call *mp_toolbox_call(struct mcplug_toolbox *box, const char *name,
                             const char *arguments,
                             const struct mcplug_call_options *options,
                             struct mp_counter *counter, mcplug_record_fn *done,
                             void *arg, struct mcplug_error *err);
void mp_uses_cancel(struct mcplug_toolbox *box);

/* ---- record.c ---- */

/* give: mcplug_record_unref. An empty one, which copies what it is given; NULL: no
 * memory. */
struct mcplug_record *mp_record_new(const char *kind, const char *name_space,
                                    const char *server, const char *tool);
/* The call has ended; it had been cancelled by its caller, or not. Nothing that is in the
 * record belongs to others after this. What an answer is to a model is still to come. */
void mp_record_fill(struct mcplug_record *record, mcplug_result *result,
                    const struct mp_event_call *ended, bool cancelled);
/* Here it is; or why there is none. */
void mp_record_content(struct mcplug_record *record, const mcplug_rendering *content,
                       const struct mcplug_error *why);
/* The index of code that a server of that name is known to be; NULL: none. */
const char *mp_code_index(const char *server);

/* ---- own.c ---- */

enum {
    MP_LIST_RESOURCES,
    MP_READ_RESOURCE,
    MP_READ_RESULT,
    MP_SEARCH_RESULT,
    MP_OWN_TOOLS
};
extern const char *const mp_own_names[MP_OWN_TOOLS];
extern const char *const mp_own_tools[MP_OWN_TOOLS]; /* as JSON */

/* ---- resources.c ---- */

/* What list-resources answers: adds a CallToolResult. MCPLUG_EINVAL: there is no such
 * server; "" is all of them. */
int mp_resources_list(struct mcplug_toolbox *box, const char *server, struct mp_str *out,
                      struct mcplug_error *err);

/* ---- results.c ---- */

/* Adds a CallToolResult: what read_result, or search_result, answers, in at most `most`
 * bytes of text. It reads files, and blocks. [any] */
int mp_results_answer(const char *dir, bool search, const char *arguments, size_t most,
                      struct mp_str *out, struct mcplug_error *err);

/* ---- quote.c: the words of a server, for a model ---- */

/* Adds `text` so that no line of it can be taken for one of ours: `all` lines begin with
 * "> ", or those that look like a heading. Whatever ends a line for some reader ends one
 * here; characters that cannot be seen become visible. */
void mp_quote(struct mp_str *out, const char *text, size_t len, bool all);
/* Would that without `all` change it? */
bool mp_quote_needed(const char *text, size_t len);
/* The same with a string in JSON: as it came where it can be. */
void mp_quote_description(struct mp_str *out, mp_view string);

/* ---- formats.c ---- */

struct mp_formatting {
    enum mcplug_format format; /* the shape; that of MCP is as tools/list has it */
    const struct mp_provider *provider; /* for whom it is repaired */
    bool is_cut;                        /* a description that is too long is */
    struct mp_findings *found;          /* may be NULL */
};

bool mp_tool_is_hidden(mp_view tool); /* is it for user interfaces alone? */
size_t mp_format_max(size_t len);     /* that a tool of that length comes to at most */
/* Adds a tool under our name. What was added of a tool that is not MP_FORMATTED is to be
 * dropped. */
enum mp_formatted mp_format_tool(struct mp_str *out, const struct mp_formatting *how,
                                 const char *name, mp_view tool);

/* ---- instructions.c ---- */

/* give; NULL: no memory */
char *mp_instructions(struct mcplug_toolbox *box);

#endif
