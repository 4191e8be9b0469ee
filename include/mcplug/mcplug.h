/* mcplug/mcplug.h - the embedding API of libmcplug: be an MCP host.
 *
 *   struct mcplug_error err = MCPLUG_ERROR_INIT;
 *   mcplug *host = mcplug_new(NULL, &err);
 *   mcplug_settings *s = mcplug_settings_new("stdio");
 *   mcplug_settings_set(s, "command", "my-server");
 *   mcplug_server *server = NULL;
 *   mcplug_result *result = NULL;
 *   if (mcplug_open_wait(host, s, NULL, &server, &err) == 0 &&
 *       mcplug_call_tool_wait(server, "now", "{}", NULL, &result, &err) == 0)
 *       puts(mcplug_result_json(result, NULL));
 *   mcplug_result_unref(result);
 *   mcplug_settings_free(s);
 *   mcplug_free(host);
 *
 * Asynchronous first: every function that has an answer takes a callback, which runs
 * once, on the loop thread, never inside the call that asked.
 * The loop is yours to run: on your thread (mcplug_run), on one of ours
 * (mcplug_start_thread), or inside a loop you have (mcplug_fd, mcplug_timeout,
 * mcplug_turn). The *_wait forms block and are for simple programs; inside a callback
 * they fail with MCPLUG_EINVAL, or only begin to close.
 *
 * Threads: [any] may be called on any thread. All else belongs to the loop thread:
 * the one inside mcplug_run, our own after mcplug_start_thread, or, while no
 * loop runs, the thread that uses the host. mcplug_post takes you there. While a thread
 * is inside mcplug_run, or ours runs, the functions that belong to it fail on another one
 * with MCPLUG_EINVAL (pointers: NULL, counts: 0); those without `err` log that as an
 * error. The *_wait forms may be used there.
 *
 * Ownership. borrow, an argument of a callback: valid until the callback returns; a
 * returned pointer: until its object is freed, or as its comment says. give: yours to
 * drop with the function named after it. take: consumed. Strings, settings and
 * configurations that you pass are copied, or kept as long as they are needed: you may
 * free them at once. What a callback gets as `arg` stays yours. A callback that runs once
 * (done, ready, closed, freed, what is posted) runs exactly once after the function that
 * took it succeeded, so `arg` can go with it. For the others, options have `free_arg`: it
 * runs once, on the loop thread, when none of the callbacks of that struct can run any
 * more, and must not use what they were about. It does not run when the function that
 * took the struct failed: then `arg` is still yours. Structs that you pass begin with
 * struct_size: set it to sizeof, and zero what you do not use. Options without it, with
 * one that ends inside a member, and
 * those whose `reserved` is not 0, fail with MCPLUG_EINVAL; those of a newer release with
 * MCPLUG_ENOTSUP if members are set that this one does not know. Structs to be filled are
 * left alone without it.
 *
 * Processes. A host belongs to the process that made it. In a child of fork() that does
 * not exec, all that is about it fails with MCPLUG_EINVAL (pointers: NULL, counts: 0),
 * and the parent notices nothing; results, lists, records and configurations can be used,
 * and so can a host that the child makes. The child has copies of the host's descriptors,
 * which are closed on exec. While it has them, a server of the parent does not see the
 * end of its stdin, nor the end of the parent: a child that lives on closes them. A host
 * may run without descriptors 0, 1 and 2: the library gives none of these numbers to what
 * it keeps open. To close a descriptor of the library in its own process is undefined,
 * except that mcplug_turn() and mcplug_run() fail when it was one of the loop's, and
 * mcplug_free() leaves the host as it is; all log it. No signal is handled, blocked or
 * ignored, and no limit is changed: a file is not written beyond RLIMIT_FSIZE, so that
 * there is no SIGXFSZ.
 *
 * NULL is allowed in every _free, _close, _ref, _unref and _cancel, for `err`, `arg` and
 * `options`, and where a comment says so. For any other pointer a function does nothing
 * and returns MCPLUG_EINVAL, one that returns a pointer NULL; those that answer a
 * question or count return what they do for no or none.
 *
 * Results. int functions return MCPLUG_OK (0) or a negative MCPLUG_E*, unless their
 * comment says otherwise; functions that return a pointer return NULL on failure. `err`
 * may be NULL, and is written on failure only. When a function that takes a callback
 * fails, the callback does not run. In a callback `why` is NULL on success.
 */
#ifndef MCPLUG_MCPLUG_H
#define MCPLUG_MCPLUG_H

#include <mcplug/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MCPLUG_API __attribute__((visibility("default")))
#else
#define MCPLUG_API
#endif

typedef struct mcplug mcplug;                     /* a host: loop, modules, servers */
typedef struct mcplug_settings mcplug_settings;   /* how to reach a server */
typedef struct mcplug_server mcplug_server;       /* a hold on one server */
typedef struct mcplug_call mcplug_call;           /* one request; counted */
typedef struct mcplug_result mcplug_result;       /* what came back; counted */
typedef struct mcplug_list mcplug_list;           /* all pages of a list; counted */
typedef struct mcplug_input mcplug_input;         /* a question of a server to us */
typedef struct mcplug_config mcplug_config;       /* the servers that files name */
typedef struct mcplug_toolbox mcplug_toolbox;     /* the tools of many servers */
typedef struct mcplug_rendering mcplug_rendering; /* a result for a model; counted */
typedef struct mcplug_converted mcplug_converted; /* what a converter made; counted */
typedef struct mcplug_model mcplug_model;         /* that can be asked */
typedef struct mcplug_thread mcplug_thread;       /* a conversation with models */

/* The version of this header. MCPLUG_VERSION_NUMBER is 0xMMmmpp and grows with it. */
#define MCPLUG_VERSION_MAJOR 0
#define MCPLUG_VERSION_MINOR 1
#define MCPLUG_VERSION_PATCH 0
#define MCPLUG_VERSION_NUMBER                                                            \
    (MCPLUG_VERSION_MAJOR << 16 | MCPLUG_VERSION_MINOR << 8 | MCPLUG_VERSION_PATCH)

/* The version of the library that is loaded. [any] */
MCPLUG_API uint32_t mcplug_version_number(void);    /* as MCPLUG_VERSION_NUMBER */
MCPLUG_API const char *mcplug_version(void);        /* "0.1.0" */
MCPLUG_API const char *mcplug_error_name(int code); /* [any] "ETIMEDOUT" */

/* ---- host ---------------------------------------------------------------- */

struct mcplug_plugin; /* <mcplug/plugin.h> */

struct mcplug_options {
    uint32_t struct_size;
    int32_t log_level;       /* most verbose MCPLUG_LOG_* wanted, in the log. 0, which is
                                MCPLUG_LOG_ERROR, counts as not set for `json` */
    const char *client_name; /* sent to servers; default "mcplug" */
    const char *client_version;
    /* Directories searched for modules before all others, NULL-ended. */
    const char *const *plugin_dirs;
    /* Where long strings go while they arrive. Default: the first that works, and has
     * room, of the user's cache directory, $TMPDIR, /var/tmp, /tmp, $XDG_RUNTIME_DIR. */
    const char *spill_dir;
    /* [any] One line, escaped. `source`: "mcp:NAME", "plugin:NAME", "config" or "core".
     */
    void (*log)(void *arg, int level, const char *source, const char *text);
    void *log_arg;
    /* Directories searched after $MCPLUG_PLUGIN_PATH, NULL-ended: those that a user has
     * configured (mcplug_config_plugin_dirs). */
    const char *const *user_plugin_dirs;
    /* Modules that are linked into the program itself, NULL-ended: what MCPLUG_PLUGIN()
     * of <mcplug/plugin.h> defines with MCPLUG_BUILTIN, mcplug_builtin_NAME. They are
     * looked at before all files, and must outlive the host; the array need not. */
    const struct mcplug_plugin *const *plugins;
    /* The directory that has mcplug-reaper, without which no stdio server is started.
     * NULL: $MCPLUG_HELPER_PATH, else the one that the library was installed with. */
    const char *helper_dir;
    /* Some of the above as a JSON object: clientName, clientVersion, pluginDirs,
     * spillDir, helperDir, and logLevel ("error", "warn", "verbose", "trace"). Members
     * that are not 0 or NULL win; so "logLevel" wins over a log_level of
     * MCPLUG_LOG_ERROR, which is 0: leave it out, or write "error", to have that.
     * MCPLUG_ECONFIG: it is no such object, or has another key. */
    const char *json;
    uint32_t events;   /* MCPLUG_EVENT_BIT()s: what mcplug_next_event() is for; 0: none */
    uint32_t reserved; /* 0 */
    void (*free_arg)(void *arg); /* for log_arg: the last thing in mcplug_free() */
    /* Where results are kept that are too long for a model. NULL: results in the user's
     * cache directory, see <mcplug/content.h>. In `json` it is resultsDir. */
    const char *results_dir;
    /* Settings of converters: a JSON object with one of each, by its name, as a user's
     * file has them (mcplug_config_converters). With "isolation": "none" a converter runs
     * inside this process; all others in one of their own, which has no access to files
     * and networks. MCPLUG_ECONFIG: it is no such object. */
    const char *converters;
};

/* give: mcplug_free. `options` may be NULL. */
MCPLUG_API mcplug *mcplug_new(const struct mcplug_options *options,
                              struct mcplug_error *err);
/* Closes every server, frees toolboxes, waits until all processes are
 * gone, ends our thread if one was started. Calls under way end with MCPLUG_ECANCELED.
 * Call it on any one thread, once no other uses the host: not from a callback, nor on our
 * own thread, nor while another thread is inside mcplug_run(). There it does nothing but
 * log an error, the host stays as it is, and a later call frees it. Pending callbacks run
 * inside it, on that thread. In these, all servers and toolboxes are valid that were not
 * closed or freed before; functions that begin something fail with MCPLUG_ECLOSED. In a
 * child of fork() it frees memory of the host, but not that of its connections, and runs
 * no callback: servers are the parent's, and go on. */
MCPLUG_API void mcplug_free(mcplug *host);

/* ---- the loop ------------------------------------------------------------ */

/* Until mcplug_stop(). Inside a callback, and after mcplug_start_thread(), this and
 * mcplug_turn() do nothing but log an error, and mcplug_timeout() is -1 after the
 * latter. */
MCPLUG_API void mcplug_run(mcplug *host);
/* [any] Ends mcplug_run(), and a mcplug_next_event() that waits: it returns NULL. If
 * there is none, the next one returns at once. After mcplug_start_thread() our thread
 * goes on.
 */
MCPLUG_API void mcplug_stop(mcplug *host);
/* Runs the loop on a thread of ours until mcplug_free(). The *_wait forms may be used on
 * any other thread then. */
MCPLUG_API int mcplug_start_thread(mcplug *host, struct mcplug_error *err);
/* For a loop that you have: a descriptor that is readable whenever mcplug_turn(host, 0)
 * has something to do, time-outs included. Watch it level-triggered; it stays the same
 * until mcplug_free(), and is not yours to close. -1: our own thread runs the loop, or no
 * descriptor is left (the first call makes a timerfd). */
MCPLUG_API int mcplug_fd(mcplug *host);
/* For a loop around poll() that has time-outs of its own: ms to wait for that at most;
 * -1: no limit. Call it again before each wait. */
MCPLUG_API int mcplug_timeout(mcplug *host);
/* Does what is due; waits for something to do first when `wait`. MCPLUG_EINVAL: as above.
 * MCPLUG_EIO: the loop's own descriptors were closed by somebody else. */
MCPLUG_API int mcplug_turn(mcplug *host, int wait);
/* [any] Runs fn(arg) once on the loop thread, never inside this call; if the loop does
 * not run any more, in mcplug_free(). */
MCPLUG_API int mcplug_post(mcplug *host, void (*fn)(void *arg), void *arg);

/* ---- events to pull ------------------------------------------------------ */

/* For programs that would rather ask than be called, from another language say. The types
 * that mcplug_options.events has are queued, each for those who have no callback for it:
 * servers and toolboxes without `state`, `changed`, `logged`, `remark`; a host without
 * `log`; calls made without `done`, which may be NULL then, and their progress, unless
 * they have `progress`, `progress_json` or `progress_arg`. All else stays as it is:
 * questions of servers, calls of a toolbox, and subscribing, which needs no `done`. */
enum mcplug_event_type {
    MCPLUG_EVENT_STATE,    /* state, why */
    MCPLUG_EVENT_CHANGED,  /* kind; text: the URI of a resource, or NULL. Of a toolbox
                              neither: its tools are others */
    MCPLUG_EVENT_LOGGED,   /* text: params of notifications/message, as JSON */
    MCPLUG_EVENT_REMARK,   /* text: a line of the server's stderr */
    MCPLUG_EVENT_PROGRESS, /* call, progress, total; text: the message, or NULL */
    MCPLUG_EVENT_DONE,     /* call, result or list, why */
    MCPLUG_EVENT_LOG       /* kind: MCPLUG_LOG_*; text: the line */
};
#define MCPLUG_EVENT_BIT(type) (1u << (type))

struct mcplug_event {
    uint32_t struct_size;
    uint32_t type;      /* enum mcplug_event_type */
    uint64_t dropped;   /* how many are missing between the one before and this one */
    const char *server; /* its name; NULL: it is about none */
    void *arg;          /* of the options, or of the call */
    mcplug_call *call;
    uint32_t state;   /* enum mcplug_state */
    uint32_t kind;    /* enum mcplug_kind, or MCPLUG_LOG_* */
    const char *text; /* with a NUL behind it */
    size_t len;
    double progress, total; /* `total` < 0: not known */
    mcplug_result *result;
    mcplug_list *list;
    const struct mcplug_error *why; /* NULL: it did not fail */
};
/* The oldest event; NULL: there is none. The event and all that it points to is borrow,
 * until the next call of this function; mcplug_call_ref() and the like keep a part of it.
 * Waits `wait_ms` for one at most, 0: not at all, -1: without limit. On the loop thread
 * it runs the loop meanwhile, and once if `wait_ms` is 0; after mcplug_start_thread() it
 * is for any one other thread. In a callback it does not wait. A wait ends with NULL
 * after mcplug_stop() and in mcplug_free(), which frees the last event, too: a thread
 * that pulls must not use it, nor call this function, once mcplug_free() has begun.
 * With mcplug_fd(): after each mcplug_turn(), call it with 0 until it returns NULL; the
 * descriptor does not tell of events that are left. A call of which the DONE was pulled
 * is valid until the next event is pulled, unless it was referenced. The queue holds 4096
 * events and 64 MiB of their texts (results and lists do not count). When it is full, the
 * oldest is dropped that is neither STATE nor DONE, then the oldest STATE. A DONE never
 * is: a call without `done` reserves its place, and fails with MCPLUG_EOVERLOADED when
 * there is none. */
MCPLUG_API const struct mcplug_event *mcplug_next_event(mcplug *host, int wait_ms);

/* ---- how to reach a server [any, one thread at a time] ------------------- */

/* give: mcplug_settings_free. `type` is a transport's name, "stdio"; NULL when a URL
 * will tell. What can be set is up to its module: `mcplug plugins stdio` shows it. */
MCPLUG_API mcplug_settings *mcplug_settings_new(const char *type);
MCPLUG_API void mcplug_settings_free(mcplug_settings *s);
MCPLUG_API int mcplug_settings_set(mcplug_settings *s, const char *name,
                                   const char *value);
MCPLUG_API int mcplug_settings_add(mcplug_settings *s, const char *name,
                                   const char *value); /* one more of a list: args */
MCPLUG_API int mcplug_settings_put(mcplug_settings *s, const char *name, const char *key,
                                   const char *value); /* one entry of a map: env */
/* Sets what a JSON object has, in the keys and forms of an entry in mcplug.json(5):
 * {"type":"stdio","command":"x","args":["-v"],"env":{"A":"1"}}. A member replaces all
 * that was set under its name. Values are taken as they are, without variables and
 * secrets. MCPLUG_ECONFIG: it is no such object, and nothing was set; keys of an entry
 * that are about supervision belong into mcplug_server_options.json. */
MCPLUG_API int mcplug_settings_json(mcplug_settings *s, const char *json,
                                    struct mcplug_error *err);

/* ---- servers ------------------------------------------------------------- */

/* An mcplug_server is one user's hold on an MCP server. It is started when it is wanted,
 * watched, and started again when it goes: attempts never stop, 0, 1, 2, 5, 10, 30, 60,
 * 60 .. seconds after a failure; the delays start over after 60 s of health. A cause that
 * lasts (settings, policy, credentials, a missing module) waits for mcplug_restart().
 *
 * Servers opened with the same settings, identity, revision, log_level, limits of memory,
 * probe and handlers of questions (with their `arg`) share one connection, unless they
 * are `dedicated`. Times, filters and queues are everybody's own. With `once` there is a
 * single attempt, and when the connection goes, it is gone: what a one-shot command
 * wants. */

enum mcplug_kind { /* what lists there are, and what can change */
                   MCPLUG_TOOLS = 1,
                   MCPLUG_PROMPTS = 2,
                   MCPLUG_RESOURCES = 4,
                   MCPLUG_TEMPLATES = 8
};
#define MCPLUG_NO_LISTS 0x80000000u /* of mcplug_server_options.lists */

enum mcplug_state {
    MCPLUG_STATE_RESTING = 0, /* not wanted yet, or stopped for being idle */
    MCPLUG_STATE_QUEUED,      /* too many others are starting */
    MCPLUG_STATE_STARTING,
    MCPLUG_STATE_READY, /* connected; the tools are known, if `lists` has them, and the
                           other lists were waited for, 2 s at most */
    MCPLUG_STATE_STOPPING,
    MCPLUG_STATE_WAITING, /* for the next attempt */
    MCPLUG_STATE_PARKED,  /* the cause lasts: see mcplug_restart() */
    MCPLUG_STATE_ENDED    /* closed, or opened `once` and gone */
};
MCPLUG_API const char *mcplug_state_name(enum mcplug_state state); /* "ready" [any] */

/* Questions a server may have. Each comes with its params as JSON, borrow, and is
 * answered once, now or later, with mcplug_input_answer or mcplug_input_refuse; it
 * stays valid until then, also when the call or the server has gone meanwhile. `server`
 * is the one whose call it belongs to; if that is not known, the one that was opened
 * first of those that share the connection. A handler left NULL means that the
 * capability is not declared. */
typedef void mcplug_input_fn(void *arg, mcplug_server *server, mcplug_input *input,
                             const char *params, size_t len);

struct mcplug_server_options {
    uint32_t struct_size;
    uint32_t dedicated;  /* not 0: a connection of its own */
    uint32_t once;       /* not 0: dedicated, one attempt, no supervision */
    uint32_t lists;      /* MCPLUG_TOOLS | ..: what READY waits for; 0: all but templates,
                            with `once` none. MCPLUG_NO_LISTS: none */
    const char *name;    /* for messages and logs; default: from the settings */
    uint32_t timeout_ms; /* for one attempt; 0: $MCP_TIMEOUT, else 30000 */
    uint32_t request_ms; /* for each request but tools/call; 0: 60000 */
    uint64_t tool_ms;    /* for tools/call; 0: $MCP_TOOL_TIMEOUT, else 100000000 */
    uint64_t ready_ms; /* how long `ready` waits; 0: 60000, counted from the first of all
                          who wait for the connection */
    uint64_t max_memory; /* of one message; 0: 16 MiB. Longer strings spill */
    uint64_t max_spill;  /* of one message, on disk; 0: 4 GiB, or maxSpill of `json` */
    /* What the server may log: "debug" .. "emergency"; NULL: off. */
    const char *log_level;
    const char *revision; /* "2025-11-25": that one and no other; NULL: find out */
    const char *identity; /* on whose behalf; two of them share nothing. NULL: "" */
    /* How to see whether it lives: "ping", "listTools", "discover", "http", or what else
     * a module offers. NULL: ping or discover, by era. With settings it is an object:
     * {"name":"cpu","limit":5}. */
    const char *probe;
    const char *probe_url; /* for "http" */
    uint64_t probe_ms; /* an idle server is probed after that much silence; 0: 30000 */
    uint64_t idle_ms;  /* without a call for that long it is stopped; 0: never */
    /* While a tool runs, the server is pinged that often, so that nothing on the way
     * takes the connection for dead: 50000, say; 0: it is not. */
    uint32_t keep_alive_ms;
    uint32_t reserved; /* 0 */
    const char *queue; /* calls wait for their turn there; NULL: they do not */
    /* TOOL, QUEUE, TOOL, QUEUE .. NULL: other queues for some tools; "" for none. */
    const char *const *tool_queues;
    /* Which tools exist: others are neither listed nor called. "*", "any", "get_*". */
    const char *const *tools_allowed; /* NULL-ended; none: all */
    const char *const *tools_denied;  /* NULL-ended; NULL: none */
    /* mcplug_open_named() only: put on top of the entry's settings. Values replace, lists
     * go on, maps get more entries; the policy judges the result. NULL: nothing. */
    const mcplug_settings *overlay;
    void *arg;                   /* for all of the following */
    mcplug_input_fn *elicit;     /* elicitation/create, mode "form" */
    mcplug_input_fn *elicit_url; /* elicitation/create, mode "url" */
    mcplug_input_fn *sample;     /* sampling/createMessage */
    mcplug_input_fn *roots;      /* roots/list */
    /* The state changed. `why`: the failure that caused it, or NULL. Calls that end with
     * it have been told before. */
    void (*state)(void *arg, mcplug_server *server, enum mcplug_state state,
                  const struct mcplug_error *why);
    /* A list changed, or with `uri` a resource that was subscribed to. */
    void (*changed)(void *arg, mcplug_server *server, int kind, const char *uri);
    /* notifications/message; params as JSON. borrow */
    void (*logged)(void *arg, mcplug_server *server, const char *params, size_t len);
    /* A line of the server's stderr. borrow */
    void (*remark)(void *arg, mcplug_server *server, const char *line, size_t len);
    /* mcplug_open_named() only, before it returns: what is wrong with the entry, but does
     * not keep it from being used, a variable that is not set for example; `source` as in
     * log lines. NULL: it is logged as a warning. */
    void (*problem)(void *arg, const char *source, const char *text);
    /* mcplug_open() only: the administrator's policy that this configuration has judges
     * the settings now, and at each start what a locator finds for them. NULL: nothing
     * does. The server keeps it. */
    mcplug_config *policy;
    /* The keys of an entry that are about supervision, as mcplug.json(5) has them:
     * {"timeouts":{"tool":"10m"},"queue":"gpu","toolsAllowed":["get_*"],"idle":"5m"}. It
     * comes before the entry of mcplug_open_named(); members above that are set win.
     * MCPLUG_ECONFIG: it is no such object, or has a key that is none of these. */
    const char *json;
    /* For `arg`: when the server has been closed, before `closed`. */
    void (*free_arg)(void *arg);
    /* How long a result may be in the records of a toolbox: tokens, and for some tools
     * TOOL, TOKENS, TOOL, TOKENS .. NULL, as decimal numbers. 0 and NULL: the toolbox's.
     * `output_tail`: as mcplug_render_options.tail. */
    uint32_t max_output_tokens;
    uint32_t output_tail;
    const char *const *tool_output_tokens;
    /* In runs (<mcplug/runs.h>): tools that are called without asking, and those that are
     * always asked about, which wins. Patterns as above; NULL: none. */
    const char *const *tools_approved;
    const char *const *tools_asked;
};

/* `ready` runs once: when the server is ready, or with the reason why not. All who wait
 * for a server fail together 60 s after the first of them came, or each after its own
 * `ready_ms`; from then on everybody fails at once, until an attempt succeeds. A cause
 * that lasts fails at once, and so does a program that cannot be run. After a failure
 * the server is there all the same, to be closed; unless it was opened `once`, it is
 * tried again. If it is closed before, `ready` gets MCPLUG_ECANCELED. Without `ready`
 * nothing is started before the first call. give: mcplug_close. */
typedef void mcplug_ready_fn(void *arg, mcplug_server *server,
                             const struct mcplug_error *why);
MCPLUG_API int mcplug_open(mcplug *host, const mcplug_settings *settings,
                           const struct mcplug_server_options *options,
                           mcplug_ready_fn *ready, void *ready_arg, mcplug_server **out,
                           struct mcplug_error *err);
/* The same, waiting; after a failure there is no server. */
MCPLUG_API int mcplug_open_wait(mcplug *host, const mcplug_settings *settings,
                                const struct mcplug_server_options *options,
                                mcplug_server **out, struct mcplug_error *err);
/* Ends the calls of this server (MCPLUG_ECANCELED). The last one to go ends the
 * connection. `closed`, which may be NULL, runs once: when the connection and its
 * processes are gone if this was its last user, else when the calls have ended. A shared
 * connection with `idle_ms` closes that much later, unless it is opened again before. The
 * server must not be used after this call, except in the callbacks of what it ended. */
MCPLUG_API void mcplug_close(mcplug_server *server, void (*closed)(void *arg), void *arg);
MCPLUG_API void mcplug_close_wait(mcplug_server *server);
/* Restarts the connection, for all who share it; the delays between
 * attempts start over. MCPLUG_ERESTARTING: that is under way already. MCPLUG_ECLOSED: it
 * has ended, or was opened `once`. */
MCPLUG_API int mcplug_restart(mcplug_server *server, struct mcplug_error *err);

/* ---- servers by name ------------------------------------------------------ */

struct mcplug_config_options {
    uint32_t struct_size;
    uint32_t strict; /* not 0: `more` alone, and what the administrator says */
    /* Each the path of a file, or JSON text: {"mcpServers": {..}}. NULL-ended. Of these
     * the later one wins; a server of the same name in a file of the administrator, the
     * directory or the user comes first. */
    const char *const *more;
};

/* give: mcplug_config_free. Reads the files of the administrator, the working directory
 * and those above it, the user and packages, as mcplug.json(5) has it. What is wrong with
 * one of them hides only that one; but if the administrator's file or policy cannot be
 * read, no server may be used. `options` may be NULL. [any] */
MCPLUG_API mcplug_config *mcplug_config_load(const struct mcplug_config_options *options,
                                             struct mcplug_error *err);
MCPLUG_API void mcplug_config_free(mcplug_config *config);
MCPLUG_API size_t mcplug_config_count(const mcplug_config *config);
MCPLUG_API const char *mcplug_config_name(const mcplug_config *config, size_t i);
/* What is wrong: files and entries that can't be used, one line each. NULL: no more. */
MCPLUG_API const char *mcplug_config_problem(mcplug_config *config, size_t i);
/* "pluginDirs" of the user's file, NULL-ended; NULL: none. Borrow. */
MCPLUG_API const char *const *mcplug_config_plugin_dirs(const mcplug_config *config);
/* Settings of converters, for mcplug_options.converters; NULL: none. */
MCPLUG_API const char *mcplug_config_converters(const mcplug_config *config);
enum mcplug_entry_state {
    MCPLUG_ENTRY_READY = 0,
    MCPLUG_ENTRY_BROKEN,
    MCPLUG_ENTRY_BLOCKED, /* by the administrator's policy */
    MCPLUG_ENTRY_DISABLED,
    MCPLUG_ENTRY_NEEDS_APPROVAL, /* see mcplug_config_approve() */
    MCPLUG_ENTRY_NONE            /* there is no server of that name */
};
/* May that server be used? `err`, which may be NULL, gets the reason when it may not. */
MCPLUG_API enum mcplug_entry_state mcplug_config_check(const mcplug_config *config,
                                                       const char *name,
                                                       struct mcplug_error *err);
/* Its entry as the file has it, not NUL-ended, borrow: what to show to a user who is
 * asked for approval. NULL: there is no such server. */
MCPLUG_API const char *mcplug_config_entry(const mcplug_config *config, const char *name,
                                           size_t *len);
/* The user was shown the entry and said yes; it counts for this configuration at once. */
MCPLUG_API int mcplug_config_approve(mcplug_config *config, const char *name,
                                     struct mcplug_error *err);
/* mcplug_open() with what the configuration says of `name`; what `options` leaves open
 * comes from its entry. Its queues get the limits that the configuration has. Variables
 * are looked up now, secrets when the server is started, off the loop's thread. */
MCPLUG_API int mcplug_open_named(mcplug *host, mcplug_config *config, const char *name,
                                 const struct mcplug_server_options *options,
                                 mcplug_ready_fn *ready, void *ready_arg,
                                 mcplug_server **out, struct mcplug_error *err);
MCPLUG_API int mcplug_open_named_wait(mcplug *host, mcplug_config *config,
                                      const char *name,
                                      const struct mcplug_server_options *options,
                                      mcplug_server **out, struct mcplug_error *err);

/* ---- what is known of a server -------------------------------------------- */

/* All of these are borrow: until the callback returns, or until you return to the loop.
 * They are the last known, also while the server is down. */
MCPLUG_API const char *mcplug_server_name(const mcplug_server *server);     /* [any] */
MCPLUG_API const char *mcplug_server_revision(const mcplug_server *server); /* or "" */
/* JSON; "{}" when it told none. */
MCPLUG_API const char *mcplug_server_info(const mcplug_server *server);
MCPLUG_API const char *mcplug_server_capabilities(const mcplug_server *server);
MCPLUG_API const char *mcplug_server_instructions(const mcplug_server *server); /* text */
/* What the transport told: "pid", "peer", ..; NULL when it did not. */
MCPLUG_API const char *mcplug_server_fact(const mcplug_server *server, const char *name);

/* issued == under_way + ok .. cancelled, always. */
struct mcplug_ledger {
    uint32_t struct_size;
    uint32_t under_way;
    uint64_t issued, ok, tool_error, peer_error, transport_error, timed_out, cancelled;
    /* Of requests on the wire only: */
    uint64_t late;    /* answers to requests that had ended */
    uint64_t unknown; /* answers to requests never made */
    uint64_t noise;   /* lines that were not JSON */
};
/* How the calls made through this server ended so far. */
MCPLUG_API void mcplug_server_ledger(const mcplug_server *server,
                                     struct mcplug_ledger *out);

struct mcplug_status { /* of the connection, for all who share it */
    uint32_t struct_size;
    uint32_t state;                          /* enum mcplug_state */
    uint32_t next_state;                     /* likewise: what follows STOPPING */
    uint32_t reserved;                       /* 0 */
    const char *name, *transport, *revision; /* borrow; "" when not known */
    const char *source; /* in log lines: "mcp:" and the name of who opened it first */
    int64_t pid;        /* 0: none */
    uint32_t servers, tools;           /* who share it; the latter filtered or not */
    uint32_t sent, waiting;            /* calls: sent, and not sent yet */
    uint64_t starts;                   /* attempts in all */
    uint64_t restarts;                 /* of these, after it had been ready */
    uint64_t up_ms;                    /* ready since; 0: it is not */
    uint64_t next_ms;                  /* until the next attempt; 0: none is waited for */
    uint64_t queued_ms;                /* that the calls so far have waited, in all */
    const struct mcplug_error *error;  /* the last one, borrow; NULL: none */
    const struct mcplug_ledger *calls; /* of all who share it, borrow */
    const struct mcplug_ledger *wire;  /* requests on the wire, our own ones included
                                          (connecting, list pages, rounds of a call) */
};
MCPLUG_API void mcplug_server_status(mcplug_server *server, struct mcplug_status *out);

/* ---- requests ------------------------------------------------------------ */

/* `result` is borrow (mcplug_result_ref to keep it) and NULL when there is none. With
 * MCPLUG_EPEER, peer_status is the JSON-RPC code and the result's JSON the error
 * object. A tool's own failure (isError) is a success here:
 * mcplug_result_is_error() tells. */
typedef void mcplug_done_fn(void *arg, mcplug_call *call, mcplug_result *result,
                            const struct mcplug_error *why);

struct mcplug_call_options {
    uint32_t struct_size;
    uint32_t reserved;     /* 0 */
    uint64_t timeout_ms;   /* 0: the server's */
    const char *meta;      /* JSON object, merged into `_meta`; traceparent goes here */
    const char *log_level; /* overrides the server's, for this request (2026-07-28) */
    /* notifications/progress; `total` < 0: unknown; message may be NULL. borrow */
    void (*progress)(void *arg, mcplug_call *call, double progress, double total,
                     const char *message);
    void *progress_arg;
    uint64_t waited_ms; /* how much of the time has been spent already */
    /* The same notification, its params as they came: JSON with a NUL behind it, for who
     * wants what `progress` does not have. Either or both may be set; this one runs
     * first. Borrow; its `arg` is progress_arg. */
    void (*progress_json)(void *arg, mcplug_call *call, const char *params, size_t len);
    /* For progress_arg: after `done`. The *_wait forms do not call it: when they return,
     * nothing of the call runs any more. */
    void (*free_arg)(void *arg);
};

/* tools/call; `arguments` is a JSON object or NULL. Two members with one name are
 * refused, here and in `meta` (MCPLUG_EINVAL), for who reads them may take either. A
 * server that is not up is waited for, as long as the call's time allows, and 60 s at
 * most. A call that was not written when the connection went is sent again, one that was
 * is not. In 2026-07-28 questions that the result brings (input_required) are put to the
 * handlers and the request goes on with their answers; `done` runs with the final result.
 * MCPLUG_ECONFIG: toolsAllowed or toolsDenied forbid it. MCPLUG_EOVERLOADED: too many
 * calls wait: told here, or in `done` when its queue is full. MCPLUG_ECLOSED: the server
 * was opened `once`, and has gone. */
MCPLUG_API mcplug_call *mcplug_call_tool(mcplug_server *server, const char *tool,
                                         const char *arguments,
                                         const struct mcplug_call_options *options,
                                         mcplug_done_fn *done, void *arg,
                                         struct mcplug_error *err);
/* Any other request: `params` is a JSON object or NULL. MCPLUG_EINVAL for duplicate
 * members, and for tools/call and tools/list, which have functions of their own. */
MCPLUG_API mcplug_call *mcplug_request(mcplug_server *server, const char *method,
                                       const char *params,
                                       const struct mcplug_call_options *options,
                                       mcplug_done_fn *done, void *arg,
                                       struct mcplug_error *err);
/* Is the peer alive? ping, or server/discover in 2026-07-28; any answer is life. */
MCPLUG_API mcplug_call *mcplug_ping(mcplug_server *server,
                                    const struct mcplug_call_options *options,
                                    mcplug_done_fn *done, void *arg,
                                    struct mcplug_error *err);
/* Ends the call with MCPLUG_ECANCELED and tells the server; `done` runs in this or
 * the next turn, not inside this call. A call that has ended stays as it is. */
MCPLUG_API void mcplug_cancel(mcplug_call *call);
/* [any] A call is valid until its last callback has returned, and as long as there is
 * a reference to it. */
MCPLUG_API mcplug_call *mcplug_call_ref(mcplug_call *call);
MCPLUG_API void mcplug_call_unref(mcplug_call *call);

/* give: mcplug_result_unref. With MCPLUG_EPEER `*out` is set too, to the error object.
 * `out` may be NULL. */
MCPLUG_API int mcplug_call_tool_wait(mcplug_server *server, const char *tool,
                                     const char *arguments,
                                     const struct mcplug_call_options *options,
                                     mcplug_result **out, struct mcplug_error *err);
MCPLUG_API int mcplug_request_wait(mcplug_server *server, const char *method,
                                   const char *params,
                                   const struct mcplug_call_options *options,
                                   mcplug_result **out, struct mcplug_error *err);
MCPLUG_API int mcplug_ping_wait(mcplug_server *server,
                                const struct mcplug_call_options *options,
                                struct mcplug_error *err);

/* Changes of that resource are reported to `changed` from now on, also after restarts,
 * until mcplug_unsubscribe(). `done`, which may be NULL, gets the server's answer; the
 * result is an empty object. A server that is not up is waited for, as with a call. After
 * MCPLUG_EPEER and MCPLUG_ENOTSUP (the server refuses) and MCPLUG_ECANCELED there is no
 * subscription; after any other failure it stays wanted, and is asked for again when the
 * server is restarted. */
MCPLUG_API mcplug_call *mcplug_subscribe(mcplug_server *server, const char *uri,
                                         const struct mcplug_call_options *options,
                                         mcplug_done_fn *done, void *arg,
                                         struct mcplug_error *err);
/* Nothing is reported from now on, whatever the server answers. A server that is not up,
 * and one that others have subscribed at, need not be asked. */
MCPLUG_API mcplug_call *mcplug_unsubscribe(mcplug_server *server, const char *uri,
                                           const struct mcplug_call_options *options,
                                           mcplug_done_fn *done, void *arg,
                                           struct mcplug_error *err);

/* How many calls of that queue run at once, and how many may wait. 0, or never set: 1 and
 * 1024. */
MCPLUG_API int mcplug_set_queue(mcplug *host, const char *name, unsigned concurrent,
                                unsigned waiting);

/* ---- results [any] ------------------------------------------------------- */

MCPLUG_API mcplug_result *mcplug_result_ref(mcplug_result *result);
MCPLUG_API void mcplug_result_unref(mcplug_result *result); /* NULL is fine */
/* The result's JSON text with a NUL behind it. Strings that were too long for memory
 * are cut short here; mcplug_result_read() has them whole. `len` may be NULL. */
MCPLUG_API const char *mcplug_result_json(const mcplug_result *result, size_t *len);
MCPLUG_API int mcplug_result_is_error(const mcplug_result *result); /* isError: true */
/* The message of a tool's failure: content[0].text, else `error`, else "Unknown
 * error". */
MCPLUG_API const char *mcplug_result_error_text(const mcplug_result *result);

/* A string that went to a file while it arrived, unescaped, as UTF-8. The file is
 * private, already unlinked or gone with the result. */
struct mcplug_spill {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t size;      /* of the text, in bytes */
    size_t json_offset; /* of its opening quote in mcplug_result_json() */
    size_t json_len;    /* of the cut form there, quotes included */
};
MCPLUG_API size_t mcplug_result_spills(const mcplug_result *result);
MCPLUG_API int mcplug_result_spill(const mcplug_result *result, size_t i,
                                   struct mcplug_spill *out);
/* Reads up to `len` bytes at `offset`; returns how many, 0 at the end, or an error. */
MCPLUG_API int64_t mcplug_result_spill_read(const mcplug_result *result, size_t i,
                                            uint64_t offset, void *buf, size_t len);

/* Where a reader of the whole is. Begin with struct_size set and all else 0. */
struct mcplug_cursor {
    uint32_t struct_size;
    uint32_t inside; /* not 0: a spilled string */
    uint64_t part;   /* which one that is, or comes next */
    uint64_t offset; /* in it, or in mcplug_result_json() */
};
#define MCPLUG_READ_MIN 16 /* of `len` below: an escape and a character fit */
/* Reads the result's JSON whole, spilled strings in their places, piece by piece: up to
 * `len` bytes, and never a part of a character of UTF-8. Returns how many, 0 at the end,
 * or an error: MCPLUG_EINVAL, or MCPLUG_EIO when the file cannot be read. */
MCPLUG_API int64_t mcplug_result_read(const mcplug_result *result,
                                      struct mcplug_cursor *at, void *buf, size_t len);

/* ---- lists --------------------------------------------------------------- */

typedef void mcplug_list_fn(void *arg, mcplug_call *call, mcplug_list *list /* borrow */,
                            const struct mcplug_error *why);

/* Every page of one list, from what is kept while that is fresh; of tools, those that are
 * allowed. A server that is not up is waited for, as with a call. A server without the
 * capability has an empty list. Over HTTP, tools that want arguments sent as headers in a
 * way that can't be are left out, as the specification has it. A list ends after 10,000
 * items, 64 pages or 32 MiB, which a line in the log says.
 * Of `options` the times are used: `timeout_ms` is for the whole list, and without it the
 * server's `request_ms` for each page. Who asks for the same list at the same time shares
 * its requests; they are cancelled with the last who waits for them. No ledger has lists.
 */
MCPLUG_API mcplug_call *mcplug_get_list(mcplug_server *server, enum mcplug_kind kind,
                                        const struct mcplug_call_options *options,
                                        mcplug_list_fn *done, void *arg,
                                        struct mcplug_error *err);
/* give: mcplug_list_unref */
MCPLUG_API int mcplug_get_list_wait(mcplug_server *server, enum mcplug_kind kind,
                                    const struct mcplug_call_options *options,
                                    mcplug_list **out, struct mcplug_error *err);
/* The same as it was found last, at once, also while the server is down; it is refreshed
 * in the background when it is old. NULL: not known; templates are not kept. Borrow,
 * until the next callback. */
MCPLUG_API mcplug_list *mcplug_server_list(mcplug_server *server, enum mcplug_kind kind);

/* [any] NULL is a list without items. */
MCPLUG_API mcplug_list *mcplug_list_ref(mcplug_list *list);
MCPLUG_API void mcplug_list_unref(mcplug_list *list);
MCPLUG_API size_t mcplug_list_count(const mcplug_list *list);
/* The i-th item as JSON, not NUL-ended; borrow from the list. `len` may be NULL. */
MCPLUG_API const char *mcplug_list_item(const mcplug_list *list, size_t i, size_t *len);
/* Its name; for resources and templates the URI. Borrow from the list. */
MCPLUG_API const char *mcplug_list_name(const mcplug_list *list, size_t i);
/* Index by that name, or -1. */
MCPLUG_API ptrdiff_t mcplug_list_find(const mcplug_list *list, const char *name);

/* ---- answers to a server's questions ------------------------------------- */

/* The server that it is for; NULL: the answer is no longer needed. */
MCPLUG_API mcplug_server *mcplug_input_server(mcplug_input *input);
/* The call that it belongs to, where the wire says so: it came in the call's result
 * (2026-07-28), or over HTTP on the answer to the call. NULL: not known, or that call has
 * ended. Borrow: until the call ends. */
MCPLUG_API mcplug_call *mcplug_input_call(mcplug_input *input);
/* take. `result` is the JSON object of the answer (ElicitResult, CreateMessageResult,
 * ListRootsResult). MCPLUG_EINVAL when it is no JSON object: the question stays open. */
MCPLUG_API int mcplug_input_answer(mcplug_input *input, const char *result);
/* take. `message` may be NULL. */
MCPLUG_API void mcplug_input_refuse(mcplug_input *input, int code, const char *message);

#ifdef __cplusplus
}
#endif

#include <mcplug/content.h> /* results for a model */
#include <mcplug/toolbox.h> /* the tools of many servers */
#include <mcplug/runs.h>    /* a model that calls them */

#endif /* MCPLUG_MCPLUG_H */
