/* mcplug/toolbox.h - the tools of many servers, for a model. Part of <mcplug/mcplug.h>.
 *
 * What a host with thirty servers gives to its model: the tools of all of them, each
 * under a name of its own (mcp__SERVER__TOOL: letters, digits and _, 64 characters at
 * most), called by these names; and instructions. A server that has resources adds two
 * tools of our own, once for all servers, called list-resources and read-resource; the
 * first result that is stored in a file adds read_result and search_result. Tools that
 * are meant for user interfaces alone are left out.
 */
#ifndef MCPLUG_TOOLBOX_H
#define MCPLUG_TOOLBOX_H

#include <mcplug/mcplug.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mcplug_toolbox_options {
    uint32_t struct_size;
    uint32_t batch;       /* servers that warm up at a time, 64 at most; 0:
                             $MCP_SERVER_CONNECTION_BATCH_SIZE, else 3 */
    uint32_t plain_names; /* not 0: SERVER__TOOL */
    uint32_t reserved;    /* 0 */
    void *arg;            /* for all of the following */
    /* Warming up one server ended after `ms`. `why` NULL: it is ready; else it failed,
     * and is tried again in the background. */
    void (*settled)(void *arg, mcplug_toolbox *box, const char *server, uint64_t ms,
                    const struct mcplug_error *why);
    /* There are other tools, prompts or resources than before. */
    void (*changed)(void *arg, mcplug_toolbox *box);
    void (*state)(void *arg, mcplug_toolbox *box, const char *server,
                  enum mcplug_state state, const struct mcplug_error *why);
    /* notifications/message of a server; a line of its stderr. */
    void (*logged)(void *arg, mcplug_toolbox *box, const char *server, const char *params,
                   size_t len);
    void (*remark)(void *arg, mcplug_toolbox *box, const char *server, const char *line,
                   size_t len);
    /* For `arg`: when the toolbox has been freed, before `freed`. */
    void (*free_arg)(void *arg);
    /* As in mcplug_render_options, for the records; the options of a server come first.
     * `count` gets `arg`. */
    int64_t (*count)(void *arg, const char *text, size_t len);
    uint32_t max_tokens;
    uint32_t no_files;
};

/* give: mcplug_toolbox_free. `options` may be NULL. */
MCPLUG_API mcplug_toolbox *
mcplug_toolbox_new(mcplug *host, const struct mcplug_toolbox_options *options,
                   struct mcplug_error *err);
/* Closes every server; `freed`, which may be NULL, runs when nothing of them is left,
 * but for those that linger (`idle_ms`). Calls under way end with MCPLUG_ECANCELED. */
MCPLUG_API void mcplug_toolbox_free(mcplug_toolbox *box, void (*freed)(void *arg),
                                    void *arg);
/* The same, waiting; inside a callback it only begins. */
MCPLUG_API void mcplug_toolbox_free_wait(mcplug_toolbox *box);
/* One server more. Nothing is started before it is warmed up; what it has is known then.
 * Of the callbacks in `options` those for questions are used, the others are not.
 * MCPLUG_EINVAL: there is one of that name. */
MCPLUG_API int mcplug_toolbox_add(mcplug_toolbox *box, const char *name,
                                  const mcplug_settings *settings,
                                  const struct mcplug_server_options *options,
                                  struct mcplug_error *err);
/* The same for a server of the configuration. What it offered last is known at once, when
 * it has been asked before. */
MCPLUG_API int mcplug_toolbox_add_named(mcplug_toolbox *box, mcplug_config *config,
                                        const char *name,
                                        const struct mcplug_server_options *options,
                                        struct mcplug_error *err);
/* One server less: its tools go, and its calls end with MCPLUG_ECANCELED. `closed`, which
 * may be NULL, runs when it is closed, as with mcplug_close(). If it was being warmed up,
 * `settled` does not run for it. The tools of one of the same name that is added later
 * have the names they had. MCPLUG_ENOTSUP: there is none of that name. */
MCPLUG_API int mcplug_toolbox_remove(mcplug_toolbox *box, const char *server,
                                     void (*closed)(void *arg), void *arg,
                                     struct mcplug_error *err);
/* Starts all servers, a batch at a time. A second call meanwhile waits for
 * the first; servers that are up are left alone. `done` may be NULL. */
MCPLUG_API int mcplug_toolbox_warm_up(mcplug_toolbox *box,
                                      void (*done)(void *arg, mcplug_toolbox *box,
                                                   size_t ready, size_t failed),
                                      void *arg, struct mcplug_error *err);
/* The same, waiting. `ready` and `failed` may be NULL. */
MCPLUG_API int mcplug_toolbox_warm_up_wait(mcplug_toolbox *box, size_t *ready,
                                           size_t *failed, struct mcplug_error *err);
/* One of its servers, borrow; NULL: there is none of that name. */
MCPLUG_API mcplug_server *mcplug_toolbox_server(mcplug_toolbox *box, const char *server);

/* All of these are borrow, until the next callback or turn of the loop, and until a
 * function about the tools is called after mcplug_toolbox_add(), mcplug_toolbox_remove()
 * or a failure for lack of memory. */
MCPLUG_API size_t mcplug_toolbox_count(mcplug_toolbox *box);
MCPLUG_API const char *mcplug_toolbox_name(mcplug_toolbox *box, size_t i);
/* The i-th tool as a model gets it: the server's own words, under our name. JSON, not
 * NUL-ended. NULL: there is none, or no memory. `len` may be NULL, here and below. */
MCPLUG_API const char *mcplug_toolbox_tool(mcplug_toolbox *box, size_t i, size_t *len);
enum mcplug_format {
    MCPLUG_FORMAT_MCP,              /* as mcplug_toolbox_tool() has them */
    MCPLUG_FORMAT_OPENAI,           /* "tools" of Chat Completions */
    MCPLUG_FORMAT_OPENAI_RESPONSES, /* "tools" of Responses */
    MCPLUG_FORMAT_ANTHROPIC,        /* "tools" of Messages */
    MCPLUG_FORMAT_GEMINI            /* "functionDeclarations" of generateContent */
};
/* All tools as one JSON array, ready for a request, with a NUL behind it. It is kept
 * until there are other tools. For models, what their APIs refuse is repaired: the schema
 * of the arguments gets a root that is a plain object, into which allOf, anyOf, oneOf and
 * $ref are merged (the server checks the arguments itself), what is no JSON Schema is
 * left out of it, and each tool gets a description. `mcplug tools --lint` has all rules.
 * Left out are, for Anthropic and Gemini, properties whose names they do not take, with
 * their tool if that requires one. Left out with a warning in the log are tools whose
 * schema has more than 32 levels of allOf, anyOf, oneOf and $ref, or takes more than 32
 * steps per byte to merge, and those of more than 1 MiB. How many tools a request may
 * have (OpenAI: 128) is up to the program. NULL: no memory, or no format. */
MCPLUG_API const char *mcplug_toolbox_json(mcplug_toolbox *box, enum mcplug_format format,
                                           size_t *len);
/* Which tool of which server a name means; false: none. For our own tools the server is
 * "". `server` and `tool` may be NULL. */
MCPLUG_API int mcplug_toolbox_find(mcplug_toolbox *box, const char *name,
                                   const char **server, const char **tool);
/* For a model's instructions: what each server says of itself, its prompts, and what it
 * says of single tools, in sections `#### MCP Server: NAME` and
 * `##### Tool: NAMESPACE__TOOL`. Each line in a server's own words begins with "> ", so
 * that none can open a section of another server; characters that cannot be seen are
 * written as \u{200b}. At most 256 KiB of each server, then a note that there is more. ""
 * if no server has any; NULL: no memory. */
MCPLUG_API const char *mcplug_toolbox_instructions(mcplug_toolbox *box);

struct mcplug_record { /* of one call; counted, whole without its toolbox */
    uint32_t struct_size;
    int32_t ok;         /* not 0: there is a result, and it is no error */
    const char *result; /* text for a model; of a failure, why. "" after mcplug_cancel()
                           and when the toolbox or the host was freed. What is longer
                           than the limit is in a file, or cut short, and says so */
    size_t result_len;
    uint64_t latency_ms;
    const char *kind;       /* "mcp"; of our own tools "mcp_resource", "mcp_result" */
    const char *name_space; /* what the server is in names */
    const char *server, *tool;
    const char *code_index;         /* which known index of code it is; NULL: none */
    mcplug_result *extras;          /* as it came; NULL: nothing did. Of a result that was
                                       stored, {"stored": PATH}: the rest is there */
    const struct mcplug_error *why; /* NULL: the server answered */
    void *own;                      /* for mcplug_record_json() */
    /* What a model gets, images included; of a tool's own failure all that it said. NULL:
     * the server did not answer. */
    const mcplug_rendering *content;
};
typedef void mcplug_record_fn(void *arg, mcplug_call *call,
                              const struct mcplug_record *record /* borrow */);
/* To keep one after its callback. [any] */
MCPLUG_API const struct mcplug_record *
mcplug_record_ref(const struct mcplug_record *record);
MCPLUG_API void mcplug_record_unref(const struct mcplug_record *record);
/* {"ok":true,"result":"..","latencyMs":12,"kind":"mcp","namespace":"..","extras":{..}};
 * borrow, as long as the record (of a copy of the struct: until the next call for one);
 * NULL: no memory. [any, one thread at a time] */
MCPLUG_API const char *mcplug_record_json(const struct mcplug_record *record);

/* MCPLUG_ENOTSUP: there is no such tool. `name` and `arguments` may be NULL, for models
 * that leave them out. */
MCPLUG_API mcplug_call *mcplug_toolbox_call(mcplug_toolbox *box, const char *name,
                                            const char *arguments,
                                            const struct mcplug_call_options *options,
                                            mcplug_record_fn *done, void *arg,
                                            struct mcplug_error *err);
/* The same, waiting. MCPLUG_OK: there is a record, which says how the call ended; give:
 * mcplug_record_unref. `out` may be NULL. */
MCPLUG_API int mcplug_toolbox_call_wait(mcplug_toolbox *box, const char *name,
                                        const char *arguments,
                                        const struct mcplug_call_options *options,
                                        const struct mcplug_record **out,
                                        struct mcplug_error *err);

#ifdef __cplusplus
}
#endif
#endif /* MCPLUG_TOOLBOX_H */
