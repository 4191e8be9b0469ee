/* The calls of one turn. Those that only read run side by side; on one server, and among
 * the tools of the program, one that may have effects waits for those before it, and
 * keeps those behind it waiting. Answers stand in the order of the calls. */
#include "run/run.h"

#include "base/error.h"
#include "base/event.h"
#include "base/links.h"
#include "base/mem.h"
#include "json/conform.h"
#include "json/scan.h"
#include "registry/filter.h"

#include <stdio.h>

/* ---- answers ---- */

static struct mcplug_item *result_of(const struct mcplug_item *use, bool is_error)
{
    struct mcplug_item *result =
        mp_item_new(MCPLUG_ITEM_TOOL_RESULT, mp_text(NULL), NULL, use->name, use->id);

    if (result)
        result->is_error = is_error;
    return result;
}

/* No API takes an empty text. */
static bool put_text(struct mcplug_item *result, const char *text, size_t len)
{
    struct mcplug_bytes said = len ? mp_bytes(text, len) : mp_text("(no output)");

    return mp_item_put(result, mp_item_new(MCPLUG_ITEM_TEXT, said, NULL, NULL, NULL));
}

static void on_uses_job(struct mp_job *job);

static void go_on(struct mp_thread_run *run)
{
    mp_job_defer(run->runs->models.loop, &run->uses_job, on_uses_job);
}

static void log_end(const struct mcplug_use *use, const char *text, size_t len,
                    uint64_t ms)
{
    struct mp_events *log = use->run->runs->models.log;
    const struct mp_known *k = use->known;
    bool failed = use->result->is_error;
    int shown = len > 200 ? 200 : (int)len;

    if (k && k->server)
        mp_log(log, failed ? MCPLUG_LOG_WARN : MCPLUG_LOG_VERBOSE, "core",
               "MCP tool '%s' of integration '%s': %s after %llu ms%s%.*s", k->tool,
               k->server, failed ? "failed" : "ok", (unsigned long long)ms,
               failed ? ": " : "", failed ? shown : 0, text);
    else
        mp_log(log, failed ? MCPLUG_LOG_WARN : MCPLUG_LOG_VERBOSE, "core",
               "tool '%.100s': %s after %llu ms%s%.*s", use->item->name,
               failed ? "failed" : "ok", (unsigned long long)ms, failed ? ": " : "",
               failed ? shown : 0, text);
}

/* take `result`, also NULL, which is a lack of memory: then the run ends. */
static void end_use(struct mcplug_use *use, struct mcplug_item *result,
                    const struct mcplug_record *record)
{
    struct mp_thread_run *run = use->run;
    bool ran = use->state == MP_USE_RUNS;

    use->state = MP_USE_ENDED;
    use->result = result;
    if (!result) {
        mp_fail_nomem(&run->why);
        run->is_stopping = true;
    } else if (!run->is_stopping) {
        const struct mcplug_item *first = result->n_items ? result->items[0] : NULL;
        struct mcplug_run_event e = {
            .type = MCPLUG_RUN_TOOL_ENDS,
            .failed = result->is_error,
            .id = use->item->id,
            .tool = use->item->name,
            .server = use->known && use->known->server ? use->known->server : "",
            .ms = ran ? mp_loop_now(run->runs->models.loop) - use->began_at : 0,
            .record = record};
        if (first && first->kind == MCPLUG_ITEM_TEXT) {
            e.text = (const char *)first->text.data;
            e.len = first->text.len;
        }
        log_end(use, e.text ? e.text : "", e.len, e.ms);
        mp_run_tell(run, &e);
    }
    go_on(run);
}

static void end_with_text(struct mcplug_use *use, bool is_error, const char *text,
                          size_t len)
{
    struct mcplug_item *result = result_of(use->item, is_error);

    if (result && !put_text(result, text, len)) {
        mp_item_free(result);
        result = NULL;
    }
    end_use(use, result, NULL);
}

/* A3: what the model is told of a failure. */
static void end_failed(struct mcplug_use *use, const char *prefix, const char *text,
                       size_t len, const struct mcplug_record *record)
{
    struct mcplug_item *result = result_of(use->item, true);
    struct mp_str all;

    mp_str_init(&all, MP_ANSWER_BYTES);
    mp_str_adds(&all, prefix);
    mp_str_add(&all, text, len);
    if (result && (all.failed || !put_text(result, all.data, all.len))) {
        mp_item_free(result);
        result = NULL;
    }
    mp_str_clear(&all);
    end_use(use, result, record);
}

/* ---- tools of MCP ---- */

static struct mcplug_item *result_of_parts(const struct mcplug_item *use,
                                           const mcplug_rendering *content)
{
    struct mcplug_item *result = result_of(use, false);
    struct mcplug_part part = {.struct_size = sizeof part};
    bool ok = result != NULL;
    struct mp_str text;

    mp_str_init(&text, MP_THREAD_BYTES);
    for (size_t i = 0; ok && mcplug_rendering_part(content, i, &part); i++) {
        if (part.kind != MCPLUG_PART_IMAGE) { /* those in a row are one */
            if (text.len && part.len)
                mp_str_addc(&text, '\n');
            ok = mp_str_add(&text, part.text, part.len);
            continue;
        }
        ok = !text.len || put_text(result, text.data, text.len);
        mp_str_reset(&text);
        ok = ok && mp_item_put(result, mp_item_new(MCPLUG_ITEM_IMAGE,
                                                   mp_bytes(part.text, part.len),
                                                   part.mime, NULL, NULL));
    }
    if (ok && (text.len || !result->n_items))
        ok = put_text(result, text.data, text.len);
    mp_str_clear(&text);
    if (!ok) {
        mp_item_free(result);
        return NULL;
    }
    return result;
}

/* The server's own words, if it answered; else the reason why it did not. */
static void on_record(void *arg, mcplug_call *call, const struct mcplug_record *record)
{
    struct mcplug_use *use = arg;

    mcplug_call_unref(call);
    use->call = NULL;
    if (use->run->is_stopping) {
        use->state = MP_USE_ENDED;
        go_on(use->run);
    } else if (record->ok) {
        end_use(use, result_of_parts(use->item, record->content), record);
    } else {
        bool timed_out = record->why && record->why->code == MCPLUG_ETIMEDOUT;
        size_t len = record->result_len;
        const char *text = record->content ? mcplug_rendering_text(record->content, &len)
                                           : record->result;
        if ((!text || !len) && record->why) { /* its server was removed */
            text = record->why->text;
            len = strlen(text);
        }
        end_failed(use, timed_out ? "" : "MCP tool execution failed: ", text ? text : "",
                   text ? len : 0, record);
    }
}

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    struct mcplug_use *use = arg;
    (void)call;
    struct mcplug_run_event e = {.type = MCPLUG_RUN_TOOL_REPORTS,
                                 .id = use->item->id,
                                 .tool = use->item->name,
                                 .server = use->known->server,
                                 .progress = progress,
                                 .total = total,
                                 .text = message,
                                 .len = message ? strlen(message) : 0};
    if (!use->run->is_stopping)
        mp_run_tell(use->run, &e);
}

/* The name that the toolbox has for it; NULL: it has no such tool now. */
static const char *name_in_box(const struct mcplug_use *use)
{
    const struct mp_known *k = use->known;
    mcplug_toolbox *box = use->run->o.box;

    if (!k->own)
        return k->def.name;
    for (size_t i = 0; box && i < mcplug_toolbox_count(box); i++) {
        const char *server = NULL, *tool = NULL, *name = mcplug_toolbox_name(box, i);
        if (name && mcplug_toolbox_find(box, name, &server, &tool) &&
            strcmp(server, k->server) == 0 && strcmp(tool, k->tool) == 0)
            return name;
    }
    return NULL;
}

static void call_mcp(struct mcplug_use *use)
{
    static const char failed[] = "MCP tool execution failed: ",
                      unexpected[] = "MCP tool execution failed unexpectedly: ";
    struct mcplug_call_options o = {
        .struct_size = sizeof o, .progress = on_progress, .progress_arg = use};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const char *name = name_in_box(use);

    if (!name) {
        snprintf(why.text, sizeof why.text, "the server %.64s has no tool %.64s now",
                 use->known->server, use->known->tool);
        end_failed(use, unexpected, why.text, strlen(why.text), NULL);
        return;
    }
    use->call =
        mp_toolbox_call(use->run->o.box, name, (const char *)use->item->text.data, &o,
                        mp_model_counter(use->run->model), on_record, use, &why);
    if (use->call)
        mcplug_call_ref(use->call);
    else /* it is gone; or it is one of our own, which say what is wrong */
        end_failed(use,
                   why.code == MCPLUG_ENOTSUP  ? ""
                   : why.code == MCPLUG_EINVAL ? failed
                                               : unexpected,
                   why.text, strlen(why.text), NULL);
}

/* ---- tools of the program, and ours ---- */

static void use_free(struct mcplug_use *use)
{
    if (use->prev)
        mp_links_drop(use, next, prev);
    mp_item_free(use->result);
    mp_free(use);
}

/* Whoever has it: the program gives it back by answering. */
static bool take_back(mcplug_use *use)
{
    if (!use)
        return false;
    if (!use->run) {
        use_free(use);
        return false;
    }
    use->is_program_s = false;
    return true;
}

void mcplug_use_answer(mcplug_use *use, const char *text, size_t len, int is_error)
{
    if (take_back(use))
        end_with_text(use, is_error, text ? text : "", text ? len : 0);
}

static void indent(struct mp_str *out, mp_view value, unsigned depth)
{
    struct mp_walk w = mp_walk_into(value);
    bool is_object = mp_view_is_object(value);
    mp_view key = {0}, inner;
    size_t n = 0;

    if (!is_object && !mp_view_is_array(value)) {
        mp_str_add_bytes(out, value);
        return;
    }
    mp_str_addc(out, is_object ? '{' : '[');
    while (is_object ? mp_walk_member(&w, &key, &inner) : mp_walk_element(&w, &inner)) {
        mp_str_addf(out, "%s\n%*s", n++ ? "," : "", (int)(depth + 1) * 2, "");
        if (is_object) {
            mp_str_add_bytes(out, key);
            mp_str_adds(out, ": ");
        }
        indent(out, inner, depth + 1);
    }
    if (n)
        mp_str_addf(out, "\n%*s", (int)depth * 2, "");
    mp_str_addc(out, is_object ? '}' : ']');
}

void mcplug_use_answer_json(mcplug_use *use, const char *json, size_t len)
{
    mp_view value = mp_view_trim(mp_bytes(json, json ? len : 0));
    struct mp_str text;

    if (!take_back(use))
        return;
    mp_str_init(&text, MP_ANSWER_BYTES);
    if (!json || mp_scan_text(json, len, &mp_scan_defaults, NULL, NULL) != MCPLUG_OK)
        mp_str_add(&text, json, json ? len : 0);
    else if (mp_view_is_string(value))
        mp_str_add_view(&text, value);
    else
        indent(&text, value, 0);
    if (text.failed)
        end_use(use, NULL, NULL);
    else
        end_with_text(use, false, text.data, text.len);
    mp_str_clear(&text);
}

int mcplug_use_is_cancelled(const mcplug_use *use)
{
    return use && (!use->run || use->run->is_stopping);
}

static void call_search(struct mcplug_use *use)
{
    struct mp_str out;

    mp_str_init(&out, (size_t)64 << 10);
    if (mp_offer_search(&use->run->offered, use->item->text, &out) == MCPLUG_OK)
        end_with_text(use, false, out.data, out.len);
    else
        end_use(use, NULL, NULL);
    mp_str_clear(&out);
}

/* ---- one call ---- */

static void tell_begin(struct mcplug_use *use)
{
    const struct mp_known *k = use->known;
    struct mcplug_run_event e = {.type = MCPLUG_RUN_TOOL_BEGINS,
                                 .id = use->item->id,
                                 .tool = use->item->name,
                                 .server = k->server ? k->server : "",
                                 .text = (const char *)use->item->text.data,
                                 .len = use->item->text.len};

    mp_run_tell(use->run, &e);
}

static void begin(struct mcplug_use *use)
{
    struct mp_known *k = use->known;
    struct mp_thread_run *run = use->run;

    use->state = MP_USE_RUNS;
    use->began_at = mp_loop_now(run->runs->models.loop);
    run->result.calls++;
    if (k->server)
        mp_log(run->runs->models.log, MCPLUG_LOG_VERBOSE, "core",
               "MCP tool '%s' of integration '%s' is called", k->tool, k->server);
    tell_begin(use);
    if (run->is_stopping) { /* meanwhile */
        use->state = MP_USE_ENDED;
        go_on(run);
    } else if (k->is_search) {
        call_search(use);
    } else if (k->own && !(k->own->flags & MCPLUG_TOOL_MCP)) {
        use->is_program_s = true;
        k->own->call(k->own->arg, use, (const char *)use->item->text.data,
                     use->item->text.len);
    } else {
        call_mcp(use);
    }
}

enum rule { NO_RULE, APPROVED, ASKED };

/* What the options of its server say of it. */
static enum rule rule_of(const struct mcplug_use *use)
{
    const struct mp_known *k = use->known;
    mcplug_toolbox *box = use->run->o.box;
    const mcplug_server *server =
        k->server && box ? mcplug_toolbox_server(box, k->server) : NULL;

    if (server && mp_filter_match(server->o.tools_asked, k->tool))
        return ASKED;
    return server && mp_filter_match(server->o.tools_approved, k->tool) ? APPROVED
                                                                        : NO_RULE;
}

static void ask(struct mcplug_use *use)
{
    struct mp_thread_run *run = use->run;
    const struct mp_known *k = use->known;

    use->state = MP_USE_ASKS;
    use->is_program_s = true;
    run->o.approve(run->o.arg, use, k->server ? k->server : "", use->item->name,
                   (const char *)use->item->text.data, use->item->text.len);
}

int mcplug_use_must_ask(const mcplug_use *use)
{
    return use && use->must_ask;
}

void mcplug_use_allow(mcplug_use *use)
{
    if (use && use->run && use->state != MP_USE_ASKS) /* nothing was asked */
        return;
    if (!take_back(use))
        return;
    use->is_allowed = true;
    use->state = MP_USE_WAITS;
    go_on(use->run);
}

/* As much as fits, in whole characters. */
static int name_length(const char *name)
{
    size_t len = strnlen(name, 200);

    while (len && name[len] && ((unsigned char)name[len] & 0xc0) == 0x80)
        len--;
    return (int)len;
}

/* What cannot be called is answered at once. */
static bool is_refused(struct mcplug_use *use)
{
    const struct mp_known *k = use->known;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char text[700];

    if (!k)
        snprintf(text, sizeof text,
                 "A tool with the name %.*s was not found. Only use tools that are "
                 "available in your given list of tools.",
                 name_length(use->item->name), use->item->name);
    else if (use->item->is_error)
        snprintf(text, sizeof text,
                 "The arguments of this call are not a JSON object: call it again.");
    else if (k->own && k->own->flags & MCPLUG_TOOL_MCP && !k->server)
        snprintf(text, sizeof text,
                 "MCP tool configuration error: missing integration ID");
    else if (mp_conform(k->schema, use->item->text, &why) != MCPLUG_OK)
        snprintf(text, sizeof text, "The arguments do not fit the tool: %.500s",
                 why.text);
    else
        return false;
    end_with_text(use, true, text, strlen(text));
    return true;
}

/* ---- all of them ---- */

static bool same_lane(const struct mcplug_use *a, const struct mcplug_use *b)
{
    const char *x = a->known->server, *y = b->known->server;

    return x && y ? strcmp(x, y) == 0 : !x && !y;
}

/* One before it, of the same server, that is not over, where one of the two may have
 * effects. */
static bool is_held(const struct mp_thread_run *run, size_t i)
{
    const struct mcplug_use *use = run->uses[i];

    for (size_t k = 0; k < i; k++) {
        const struct mcplug_use *other = run->uses[k];
        if (other->state != MP_USE_ENDED && other->known && !other->is_shown &&
            same_lane(use, other) &&
            !(use->known->is_read_only && other->known->is_read_only))
            return true;
    }
    return false;
}

static bool asks(const struct mp_thread_run *run)
{
    for (size_t i = 0; i < run->n_uses; i++)
        if (run->uses[i]->state == MP_USE_ASKS)
            return true;
    return false;
}

/* Is there to be a question before it begins? */
static bool needs_word(struct mcplug_use *use)
{
    enum rule rule = use->is_allowed ? APPROVED : rule_of(use);

    use->must_ask = rule == ASKED;
    return rule == ASKED ||
           (rule == NO_RULE && use->run->o.approve && !use->known->is_read_only);
}

/* Begins what can begin; the user is asked about one at a time. */
static void begin_all(struct mp_thread_run *run)
{
    static const char nobody[] =
        "This call was not allowed: the user must confirm each call of this tool, and "
        "cannot be asked here. Do not call it again.";

    for (size_t i = 0; i < run->n_uses && !run->is_stopping; i++) {
        struct mcplug_use *use = run->uses[i];
        if (use->state != MP_USE_WAITS)
            continue;
        if (!use->is_checked && is_refused(use)) {
            use->is_shown = false;
            continue;
        }
        bool is_new = !use->is_checked;
        use->is_checked = true;
        if (use->is_shown && is_new)
            tell_begin(use);
        if (use->is_shown || is_held(run, i))
            continue;
        if (!needs_word(use))
            begin(use);
        else if (!run->o.approve)
            end_with_text(use, true, nobody, sizeof nobody - 1);
        else if (!asks(run))
            ask(use);
    }
}

static bool all_ended(const struct mp_thread_run *run)
{
    for (size_t i = 0; i < run->n_uses; i++)
        if (run->uses[i]->state != MP_USE_ENDED && !run->uses[i]->is_shown)
            return false;
    return true;
}

/* What the program has is left to it. */
static void stop_all(struct mp_thread_run *run)
{
    for (size_t i = 0; i < run->n_uses; i++) {
        struct mcplug_use *use = run->uses[i];
        if (use->call)
            mcplug_cancel(use->call); /* on_record() follows */
        else
            use->state = MP_USE_ENDED;
    }
}

static void on_uses_job(struct mp_job *job)
{
    struct mp_thread_run *run = MP_OF(job, struct mp_thread_run, uses_job);

    if (run->is_stopping)
        stop_all(run);
    else
        begin_all(run);
    if (all_ended(run))
        mp_run_uses_ended(run);
}

int mp_uses_start(struct mp_thread_run *run, struct mcplug_error *err)
{
    const struct mp_said *turn = run->thread->said[run->thread->n - 1];

    for (size_t i = 0; i < turn->m.n_items; i++) {
        if (turn->items[i]->kind != MCPLUG_ITEM_TOOL_USE)
            continue;
        struct mcplug_use *use = mp_grow(&run->uses, &run->uses_cap, run->n_uses + 1)
                                     ? mp_alloc(sizeof *use)
                                     : NULL;
        if (!use)
            return mp_fail_nomem(err);
        use->run = run;
        use->item = turn->items[i];
        use->known = mp_offer_find(&run->offered, use->item->name);
        use->is_shown =
            use->known && use->known->own && use->known->own->flags & MCPLUG_TOOL_SHOWN;
        run->uses[run->n_uses++] = use;
    }
    go_on(run);
    return MCPLUG_OK;
}

void mp_uses_stop(struct mp_thread_run *run)
{
    go_on(run);
}

void mp_uses_clear(struct mp_thread_run *run)
{
    for (size_t i = 0; i < run->n_uses; i++) {
        struct mcplug_use *use = run->uses[i];
        use->run = NULL;
        if (use->is_program_s)
            mp_links_push(run->runs->left, use, next, prev);
        else
            use_free(use);
    }
    run->n_uses = 0;
    mp_job_drop(run->runs->models.loop, &run->uses_job);
}

void mp_uses_forget(struct mp_runs *runs)
{
    while (runs->left)
        use_free(runs->left);
}
