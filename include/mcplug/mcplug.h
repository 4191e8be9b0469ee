/* mcplug/mcplug.h - the embedding API of libmcplug: be an MCP host.
 *
 *   mcplug *host = mcplug_new(NULL, &err);
 *   mcplug_settings *s = mcplug_settings_new("stdio");
 *   mcplug_settings_set(s, "command", "my-server");
 *   mcplug_server *server;
 *   mcplug_result *result;
 *   if (mcplug_open_wait(host, s, NULL, &server, &err) == 0 &&
 *       mcplug_call_tool_wait(server, "now", "{}", NULL, &result, &err) == 0)
 *       puts(mcplug_result_json(result, NULL));
 *
 * Asynchronous first: every function that asks something of a server takes a
 * callback, which runs once, on the loop thread, never inside the call that asked.
 * The loop is yours to run: on your thread (mcplug_run), on one of ours
 * (mcplug_start_thread), or inside a loop you have (mcplug_fd, mcplug_timeout,
 * mcplug_turn). The *_wait forms block and are for simple programs; inside a callback
 * they fail with MCPLUG_EINVAL, or only begin to close and release.
 *
 * Threads: [any] may be called on any thread. All else belongs to the loop thread:
 * the one inside mcplug_run, our own after mcplug_start_thread, or, while no
 * loop runs, the thread that uses the host. mcplug_post takes you there.
 *
 * Ownership: borrow - valid until the call or callback returns; give - yours to
 * drop with the function named after it. Strings in are copied. Structs in begin
 * with their size, so that they can grow: set it (or get MCPLUG_EINVAL), and zero what
 * you do not use.
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

typedef struct mcplug mcplug;                   /* a host: loop, modules, servers */
typedef struct mcplug_settings mcplug_settings; /* how to reach a server */
typedef struct mcplug_server mcplug_server;     /* one server, connected or on its way */
typedef struct mcplug_call mcplug_call;         /* one request under way */
typedef struct mcplug_result mcplug_result;     /* what came back; counted */
typedef struct mcplug_list mcplug_list;         /* all pages of a list; counted */
typedef struct mcplug_input mcplug_input;       /* a question of a server to us */
typedef struct mcplug_config mcplug_config;     /* the servers that files name */
typedef struct mcplug_handle mcplug_handle;     /* a hold on a server that is kept up */
typedef struct mcplug_toolbox mcplug_toolbox;   /* the tools of many servers */

MCPLUG_API const char *mcplug_version(void);        /* [any] "0.1.0" */
MCPLUG_API const char *mcplug_error_name(int code); /* [any] "ETIMEDOUT" */

/* ---- host ---------------------------------------------------------------- */

struct mcplug_options {
    uint32_t struct_size;
    int32_t log_level;       /* most verbose MCPLUG_LOG_* wanted; with log only */
    const char *client_name; /* what servers are told; default "mcplug" */
    const char *client_version;
    /* Directories searched for modules before all others, NULL-ended. */
    const char *const *plugin_dirs;
    /* Where long strings go while they arrive. Default: the first that works, and has
     * room, of the user's cache directory, $TMPDIR, /var/tmp, /tmp, $XDG_RUNTIME_DIR. */
    const char *spill_dir;
    /* [any] One line, escaped. `source`: "mcp:NAME", "plugin:NAME" or "core". */
    void (*log)(void *arg, int level, const char *source, const char *text);
    void *log_arg;
    /* Directories searched after $MCPLUG_PLUGIN_PATH, NULL-ended: those that a user has
     * configured (mcplug_config_plugin_dirs). */
    const char *const *user_plugin_dirs;
};

/* give: mcplug_free. `options` may be NULL. */
MCPLUG_API mcplug *mcplug_new(const struct mcplug_options *options,
                              struct mcplug_error *err);
/* Closes every server, releases handles, frees toolboxes, waits until all processes are
 * gone, ends our thread if one was started. Calls under way end with MCPLUG_ECANCELED.
 * Not from a callback. Like all that free, close, release and cancel it takes NULL. */
MCPLUG_API void mcplug_free(mcplug *host);

/* ---- the loop ------------------------------------------------------------ */

MCPLUG_API void mcplug_run(mcplug *host);  /* until mcplug_stop() */
MCPLUG_API void mcplug_stop(mcplug *host); /* [any] ends mcplug_run() */
/* Runs the loop on a thread of ours until mcplug_free(). The *_wait forms may be used on
 * any other thread then. */
MCPLUG_API int mcplug_start_thread(mcplug *host, struct mcplug_error *err);
MCPLUG_API int mcplug_fd(mcplug *host);      /* readable: call mcplug_turn() */
MCPLUG_API int mcplug_timeout(mcplug *host); /* ms until then at most; -1: none */
/* Does what is due; waits for something to do first when `wait`. */
MCPLUG_API void mcplug_turn(mcplug *host, int wait);
/* [any] Runs fn(arg) on the loop thread, never inside this call. */
MCPLUG_API int mcplug_post(mcplug *host, void (*fn)(void *arg), void *arg);

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

/* ---- servers ------------------------------------------------------------- */

enum mcplug_kind { /* what lists there are, and what can change */
                   MCPLUG_TOOLS = 1,
                   MCPLUG_PROMPTS = 2,
                   MCPLUG_RESOURCES = 4,
                   MCPLUG_TEMPLATES = 8
};

/* Questions a server may have. Each comes with its params as JSON, borrow, and is
 * answered once, now or later, with mcplug_input_answer or mcplug_input_refuse; it
 * stays valid until then, also when the call or the server has gone meanwhile. A
 * handler left NULL means that the capability is not declared to the server. */
typedef void mcplug_input_fn(void *arg, mcplug_server *server, mcplug_input *input,
                             const char *params, size_t len);

struct mcplug_server_options {
    uint32_t struct_size;
    uint32_t prefetch;   /* MCPLUG_TOOLS | ..: lists wanted before `ready` */
    const char *name;    /* for messages and logs; default: from the settings */
    uint32_t timeout_ms; /* to connect; 0: $MCP_TIMEOUT, else 30000 */
    uint32_t request_ms; /* for each request but tools/call; 0: 60000 */
    uint64_t tool_ms;    /* for tools/call; 0: $MCP_TOOL_TIMEOUT, else 100000000 */
    uint64_t max_memory; /* of one message; 0: 16 MiB. Longer strings spill */
    uint64_t max_spill;  /* of one message; 0: 8 GiB */
    const char
        *log_level; /* what the server may log: "debug" .. "emergency"; NULL: off */
    /* "2025-11-25": that revision and no other; NULL: find out. */
    const char *revision;
    void *arg;                   /* for all of the following */
    mcplug_input_fn *elicit;     /* elicitation/create, mode "form" */
    mcplug_input_fn *elicit_url; /* elicitation/create, mode "url" */
    mcplug_input_fn *sample;     /* sampling/createMessage */
    mcplug_input_fn *roots;      /* roots/list */
    /* A list changed (what was kept of it is forgotten already), or with `uri` a
     * resource that was subscribed to. */
    void (*changed)(void *arg, mcplug_server *server, int kind, const char *uri);
    /* notifications/message; params as JSON. borrow */
    void (*logged)(void *arg, mcplug_server *server, const char *params, size_t len);
    /* A line of the server's stderr. borrow */
    void (*remark)(void *arg, mcplug_server *server, const char *line, size_t len);
    /* The connection is gone, though nobody asked: once, after every call under way
     * has ended. Close the server then. */
    void (*dropped)(void *arg, mcplug_server *server, const struct mcplug_error *why);
    /* While a tool runs, the server is pinged that often, so that nobody on the way takes
     * the connection for dead: 50000, say; 0: it is not. */
    uint32_t keep_alive_ms;
    uint32_t reserved; /* 0 */
};

/* Starts connecting. `ready` runs once: why == NULL, or the reason of the failure (close
 * the server then too), or MCPLUG_ECANCELED when it was closed before. give:
 * mcplug_close, in either case. */
MCPLUG_API int mcplug_open(mcplug *host, const mcplug_settings *settings,
                           const struct mcplug_server_options *options,
                           void (*ready)(void *arg, mcplug_server *server,
                                         const struct mcplug_error *why),
                           void *ready_arg, mcplug_server **out,
                           struct mcplug_error *err);
MCPLUG_API int mcplug_open_wait(mcplug *host, const mcplug_settings *settings,
                                const struct mcplug_server_options *options,
                                mcplug_server **out, struct mcplug_error *err);
/* ---- servers by name ------------------------------------------------------ */

struct mcplug_config_options {
    uint32_t struct_size;
    uint32_t strict; /* not 0: `more` alone, and what the administrator says */
    /* Each the path of a file, or JSON text: {"mcpServers": {..}}. NULL-ended; later
     * ones win. */
    const char *const *more;
};

/* give: mcplug_config_free. Reads the files of the administrator, the working directory
 * and those above it, the user and packages, as mcplug.json(5) has it. What is wrong with
 * one of them hides only that one. `options` may be NULL. [any] */
MCPLUG_API mcplug_config *mcplug_config_load(const struct mcplug_config_options *options,
                                             struct mcplug_error *err);
MCPLUG_API void mcplug_config_free(mcplug_config *config);
MCPLUG_API size_t mcplug_config_count(const mcplug_config *config);
MCPLUG_API const char *mcplug_config_name(const mcplug_config *config, size_t i);
/* What is wrong: files and entries that can't be used, one line each. NULL: no more. */
MCPLUG_API const char *mcplug_config_problem(mcplug_config *config, size_t i);
/* "pluginDirs" of the user's file, NULL-ended; NULL: none. Borrow. */
MCPLUG_API const char *const *mcplug_config_plugin_dirs(const mcplug_config *config);
/* May that server be used? MCPLUG_ECONFIG with the reason: broken, disabled, not allowed,
 * not approved. */
MCPLUG_API int mcplug_config_check(const mcplug_config *config, const char *name,
                                   struct mcplug_error *err);
/* Its entry as the file has it, not NUL-ended, borrow: what to show to a user who is
 * asked for approval. NULL: there is no such server. */
MCPLUG_API const char *mcplug_config_entry(const mcplug_config *config, const char *name,
                                           size_t *len);
/* The user was shown the entry and said yes. */
MCPLUG_API int mcplug_config_approve(mcplug_config *config, const char *name,
                                     struct mcplug_error *err);
/* mcplug_open() with what the configuration says of `name`; times that `options` leaves 0
 * come from there too. Looks up variables and secrets, for which it may have to wait. */
MCPLUG_API int mcplug_open_named(mcplug *host, mcplug_config *config, const char *name,
                                 const struct mcplug_server_options *options,
                                 void (*ready)(void *arg, mcplug_server *server,
                                               const struct mcplug_error *why),
                                 void *ready_arg, mcplug_server **out,
                                 struct mcplug_error *err);
MCPLUG_API int mcplug_open_named_wait(mcplug *host, mcplug_config *config,
                                      const char *name,
                                      const struct mcplug_server_options *options,
                                      mcplug_server **out, struct mcplug_error *err);

/* Ends every call under way (MCPLUG_ECANCELED) and the connection; `closed`, which may
 * be NULL, runs when nothing of it is left, processes included. The connection of a
 * handle (mcplug_handle_server) is not closed so: that is logged, and `closed` runs. The
 * handle is not to be used after this call, but in those callbacks. */
MCPLUG_API void mcplug_close(mcplug_server *server, void (*closed)(void *arg), void *arg);
MCPLUG_API void mcplug_close_wait(mcplug_server *server);

MCPLUG_API const char *mcplug_server_name(const mcplug_server *server);
/* "2026-07-28"; "" while connecting. */
MCPLUG_API const char *mcplug_server_revision(const mcplug_server *server);
/* JSON, borrow, valid until the server is closed; "{}" when it told none. */
MCPLUG_API const char *mcplug_server_info(const mcplug_server *server);
MCPLUG_API const char *mcplug_server_capabilities(const mcplug_server *server);
MCPLUG_API const char *mcplug_server_instructions(const mcplug_server *server); /* text */
/* What the transport told: "pid", "peer", ..; NULL when it did not. */
MCPLUG_API const char *mcplug_server_fact(const mcplug_server *server, const char *name);

/* How requests on the wire ended so far, our own ones (connecting, list pages, rounds
 * of a call) included. issued == under_way + ok .. cancelled, always. */
struct mcplug_ledger {
    uint32_t struct_size;
    uint32_t under_way;
    uint64_t issued, ok, tool_error, peer_error, transport_error, timed_out, cancelled;
    uint64_t late;    /* answers to calls that had ended */
    uint64_t unknown; /* answers to calls never made */
    uint64_t noise;   /* lines that were not JSON */
};
MCPLUG_API void mcplug_server_ledger(const mcplug_server *server,
                                     struct mcplug_ledger *out);

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
};

/* Any request: `params` is a JSON object or NULL. In 2026-07-28 questions that the
 * result brings (input_required) are put to the handlers and the request goes on
 * with their answers; `done` runs with the final result. The handle is valid until
 * `done` has returned. */
MCPLUG_API mcplug_call *mcplug_request(mcplug_server *server, const char *method,
                                       const char *params,
                                       const struct mcplug_call_options *options,
                                       mcplug_done_fn *done, void *arg,
                                       struct mcplug_error *err);
/* tools/call; `arguments` is a JSON object or NULL. */
MCPLUG_API mcplug_call *mcplug_call_tool(mcplug_server *server, const char *tool,
                                         const char *arguments,
                                         const struct mcplug_call_options *options,
                                         mcplug_done_fn *done, void *arg,
                                         struct mcplug_error *err);
/* Ends the call with MCPLUG_ECANCELED and tells the server; `done` runs in this or
 * the next turn, not inside this call. */
MCPLUG_API void mcplug_cancel(mcplug_call *call);

/* give: mcplug_result_unref. With MCPLUG_EPEER `*out` is set too, to the error object. */
MCPLUG_API int mcplug_request_wait(mcplug_server *server, const char *method,
                                   const char *params,
                                   const struct mcplug_call_options *options,
                                   mcplug_result **out, struct mcplug_error *err);
MCPLUG_API int mcplug_call_tool_wait(mcplug_server *server, const char *tool,
                                     const char *arguments,
                                     const struct mcplug_call_options *options,
                                     mcplug_result **out, struct mcplug_error *err);

/* Is the peer alive? ping, or server/discover in 2026-07-28; any answer is life. */
MCPLUG_API mcplug_call *mcplug_ping(mcplug_server *server,
                                    const struct mcplug_call_options *options,
                                    mcplug_done_fn *done, void *arg,
                                    struct mcplug_error *err);

/* `changed` is told from now on when that resource changes. */
MCPLUG_API int mcplug_subscribe(mcplug_server *server, const char *uri,
                                struct mcplug_error *err);
MCPLUG_API int mcplug_unsubscribe(mcplug_server *server, const char *uri,
                                  struct mcplug_error *err);

/* ---- results [any] ------------------------------------------------------- */

MCPLUG_API mcplug_result *mcplug_result_ref(mcplug_result *result);
MCPLUG_API void mcplug_result_unref(mcplug_result *result); /* NULL is fine */
/* The result's JSON text with a NUL behind it. Strings that were too long for memory
 * are cut short here; their whole is in the spills. */
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

/* ---- lists --------------------------------------------------------------- */

typedef void mcplug_list_fn(void *arg, mcplug_list *list /* borrow */,
                            const struct mcplug_error *why);

/* Every page of one list, from what is kept while that is fresh. A server without the
 * capability has an empty list. Over HTTP, tools that want arguments sent as headers in a
 * way that can't be are left out, as the specification has it. */
MCPLUG_API int mcplug_get_list(mcplug_server *server, enum mcplug_kind kind,
                               mcplug_list_fn *done, void *arg, struct mcplug_error *err);
/* give: mcplug_list_unref */
MCPLUG_API int mcplug_get_list_wait(mcplug_server *server, enum mcplug_kind kind,
                                    mcplug_list **out, struct mcplug_error *err);

/* [any] */
MCPLUG_API mcplug_list *mcplug_list_ref(mcplug_list *list);
MCPLUG_API void mcplug_list_unref(mcplug_list *list);
MCPLUG_API size_t mcplug_list_count(const mcplug_list *list);
/* The i-th item as JSON, not NUL-ended; borrow from the list. */
MCPLUG_API const char *mcplug_list_item(const mcplug_list *list, size_t i, size_t *len);
/* Its name; for resources and templates the URI. Borrow from the list. */
MCPLUG_API const char *mcplug_list_name(const mcplug_list *list, size_t i);
/* Index by that name, or -1. */
MCPLUG_API ptrdiff_t mcplug_list_find(const mcplug_list *list, const char *name);

/* ---- servers that stay up ------------------------------------------------ */

/* A server behind a handle is started when it is wanted, watched, and started again when
 * it goes. Handles with the same settings, identity and handlers of questions share one
 * connection, unless they ask for their own. Attempts never stop: 0, 1, 2, 5, 10, 30, 60,
 * 60 .. seconds after a failure, by and by from the beginning once the server has been
 * well for a minute; but a cause that lasts (settings, policy, credentials) waits for
 * mcplug_restart(). */

enum mcplug_state {
    MCPLUG_STATE_RESTING = 0, /* nobody has wanted it yet, or it was idle for long */
    MCPLUG_STATE_QUEUED,      /* too many others are starting */
    MCPLUG_STATE_STARTING,
    MCPLUG_STATE_READY, /* connected, and its tools are there; other lists may follow */
    MCPLUG_STATE_STOPPING,
    MCPLUG_STATE_WAITING, /* for the next attempt */
    MCPLUG_STATE_PARKED,  /* the cause lasts: see mcplug_restart() */
    MCPLUG_STATE_ENDED
};
MCPLUG_API const char *mcplug_state_name(enum mcplug_state state); /* "ready" [any] */

struct mcplug_acquire_options {
    uint32_t struct_size;
    uint32_t dedicated; /* not 0: a connection of its own */
    /* Name, times, limits, questions. What else it has goes to whom the connection
     * belongs: `changed`, `logged`, `remark`, `dropped` and `prefetch` are not used. */
    const struct mcplug_server_options *server;
    const char *identity; /* on whose behalf; two of them share nothing. NULL: "" */
    /* How to see whether it lives: "ping", "listTools", "discover", "http", or what else
     * a module offers. NULL: ping or discover, by era. */
    const char *probe;
    const char *probe_url; /* for "http" */
    uint64_t probe_ms;     /* silent that long, an idle server is probed; 0: 30000 */
    uint64_t idle_ms;      /* without a call for that long it is stopped; 0: never */
    const char *queue;     /* calls wait for their turn there; NULL: they do not */
    /* TOOL, QUEUE, TOOL, QUEUE .. NULL: other queues for some tools; "" for none. */
    const char *const *tool_queues;
    const char *const *tools_allowed; /* NULL-ended; none: all. "*", "any", "get_*" */
    const char *const *tools_denied;  /* NULL-ended; NULL: none */
    void *arg;                        /* for all of the following */
    /* It is in another state; `why` when that is because something went wrong. */
    void (*state)(void *arg, mcplug_handle *handle, enum mcplug_state state,
                  const struct mcplug_error *why);
    void (*changed)(void *arg, mcplug_handle *handle, int kind, const char *uri);
    void (*logged)(void *arg, mcplug_handle *handle, const char *params, size_t len);
    void (*remark)(void *arg, mcplug_handle *handle, const char *line, size_t len);
};

/* `ready` runs once: at once when the server is, else when it is, or the reason why not:
 * all who wait for a server fail together 60 s after the first of them came; from then on
 * everybody fails at once, until an attempt succeeds. So they do when its program cannot
 * be run. The handle is good in either case, and the attempts go on. Without `ready`
 * nothing is started before the first call. give: mcplug_release. */
MCPLUG_API int mcplug_acquire(mcplug *host, const mcplug_settings *settings,
                              const struct mcplug_acquire_options *options,
                              void (*ready)(void *arg, mcplug_handle *handle,
                                            const struct mcplug_error *why),
                              void *ready_arg, mcplug_handle **out,
                              struct mcplug_error *err);
/* The same for a server of the configuration: what `options` leaves open comes from its
 * entry. Its queues get the limits that the configuration has. */
MCPLUG_API int mcplug_acquire_named(mcplug *host, mcplug_config *config, const char *name,
                                    const struct mcplug_acquire_options *options,
                                    void (*ready)(void *arg, mcplug_handle *handle,
                                                  const struct mcplug_error *why),
                                    void *ready_arg, mcplug_handle **out,
                                    struct mcplug_error *err);
/* The same, waiting; after a failure there is no handle. */
MCPLUG_API int mcplug_acquire_wait(mcplug *host, const mcplug_settings *settings,
                                   const struct mcplug_acquire_options *options,
                                   mcplug_handle **out, struct mcplug_error *err);
MCPLUG_API int mcplug_acquire_named_wait(mcplug *host, mcplug_config *config,
                                         const char *name,
                                         const struct mcplug_acquire_options *options,
                                         mcplug_handle **out, struct mcplug_error *err);
/* Ends the calls of this handle (MCPLUG_ECANCELED). The last one to go ends the server;
 * `released`, which may be NULL, runs when nothing of it is left then. A server that is
 * shared and has `idle_ms` goes that much later, unless somebody acquires it before. */
MCPLUG_API void mcplug_release(mcplug_handle *handle, void (*released)(void *arg),
                               void *arg);
MCPLUG_API void mcplug_release_wait(mcplug_handle *handle);

/* As mcplug_call_tool and mcplug_request, but a server that is not up is waited for, as
 * long as the call's time allows, and 60 s at most; a call that was not written when the
 * connection went is sent again, one that was is not. MCPLUG_EOVERLOADED: too many wait
 * already, here, or in `done` when it has come to its queue. */
MCPLUG_API mcplug_call *mcplug_handle_call(mcplug_handle *handle, const char *tool,
                                           const char *arguments,
                                           const struct mcplug_call_options *options,
                                           mcplug_done_fn *done, void *arg,
                                           struct mcplug_error *err);
MCPLUG_API mcplug_call *mcplug_handle_request(mcplug_handle *handle, const char *method,
                                              const char *params,
                                              const struct mcplug_call_options *options,
                                              mcplug_done_fn *done, void *arg,
                                              struct mcplug_error *err);
MCPLUG_API int mcplug_handle_call_wait(mcplug_handle *handle, const char *tool,
                                       const char *arguments,
                                       const struct mcplug_call_options *options,
                                       mcplug_result **out, struct mcplug_error *err);
MCPLUG_API int mcplug_handle_request_wait(mcplug_handle *handle, const char *method,
                                          const char *params,
                                          const struct mcplug_call_options *options,
                                          mcplug_result **out, struct mcplug_error *err);
/* What the server offers, less the tools that are filtered out: as it was found when it
 * became ready, and after each change since; also while it is down. NULL: not known yet.
 * Borrow, until the next callback; of MCPLUG_TEMPLATES nothing is known. */
MCPLUG_API mcplug_list *mcplug_handle_list(mcplug_handle *handle, enum mcplug_kind kind);
/* The connection, NULL unless it is ready. Borrow, until the next callback; only
 * mcplug_release() ends it. What is subscribed to here stays so after a restart. */
MCPLUG_API mcplug_server *mcplug_handle_server(mcplug_handle *handle);
MCPLUG_API const char *mcplug_handle_name(const mcplug_handle *handle);
/* Ends the connection and starts it anew, for all who share it; should that fail, the
 * delays between attempts begin anew, too. MCPLUG_ERESTARTING: that is being done
 * already. */
MCPLUG_API int mcplug_restart(mcplug_handle *handle, struct mcplug_error *err);

struct mcplug_status { /* of the server behind a handle */
    uint32_t struct_size;
    enum mcplug_state state;
    const char *name, *transport, *revision; /* borrow; "" when not known */
    int64_t pid;                             /* 0: none */
    uint32_t handles, tools;                 /* the latter filtered or not */
    uint32_t under_way, waiting;             /* calls: sent, and not sent yet */
    uint64_t starts;                         /* attempts in all */
    uint64_t restarts;                       /* of these, after it had been ready */
    uint64_t up_ms;                          /* ready since; 0: it is not */
    uint64_t next_ms;           /* until the next attempt; 0: there is none to wait for */
    uint64_t queued_ms;         /* that the calls so far have waited, all together */
    struct mcplug_error error;  /* the last one; code 0: none */
    struct mcplug_ledger calls; /* of all handles; set its struct_size */
};
MCPLUG_API void mcplug_handle_status(mcplug_handle *handle, struct mcplug_status *out);

/* How many calls of that queue run at once, and how many may wait; 0, and as long as
 * nobody says otherwise: one, and 1024. */
MCPLUG_API int mcplug_set_queue(mcplug *host, const char *name, unsigned concurrent,
                                unsigned waiting);

/* ---- answers to a server's questions ------------------------------------- */

MCPLUG_API mcplug_server *mcplug_input_server(mcplug_input *input);
/* take. `result` is the JSON object of the answer (ElicitResult, CreateMessageResult,
 * ListRootsResult). MCPLUG_EINVAL when it is no JSON object: the question stays open. */
MCPLUG_API int mcplug_input_answer(mcplug_input *input, const char *result);
MCPLUG_API void mcplug_input_refuse(mcplug_input *input, int code, const char *message);

#ifdef __cplusplus
}
#endif

#include <mcplug/toolbox.h> /* the tools of many servers */

#endif /* MCPLUG_MCPLUG_H */
