/* A model whose answers are in a file: one directive a line, `turn` between two requests.
 *
 *   text WORDS         a piece of the answer; \n in it is a newline
 *   thought WORDS      of what it thinks aloud
 *   call ID NAME JSON  a tool is to be called; - for no ID
 *   usage IN OUT       tokens
 *   stop WHY           how it ends: end, tools, length, refused, full
 *   retry MS           what fails may be asked again after that time
 *   fail CODE STATUS WORDS  a number of MCPLUG_E*, and what the API says
 *   dump FILE          writes what it was asked to FILE
 *   hang               is never done
 *
 * Whatever it is asked to count has as many tokens as the setting `count` says.
 */
#include <mcplug/plugin.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model {
    const struct mcplug_host *host;
    char *script;
    char *at; /* the next turn */
    const char *count;
    unsigned requests;
};

static char *read_script(const struct mcplug_host *host, const char *path)
{
    FILE *f = path ? fopen(path, "r") : NULL;
    char *text = f ? host->mem->alloc(1 << 20) : NULL;

    if (text)
        text[fread(text, 1, (1 << 20) - 1, f)] = '\0';
    if (f)
        fclose(f);
    return text;
}

static int open_model(void *ctx, const mcplug_props *settings, void **out,
                      struct mcplug_error *err)
{
    const struct mcplug_host *host = ctx;
    const char *path = host->diag->prop(settings, "script");
    struct model *m = host->mem->alloc(sizeof *m);

    if (!m)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    m->host = host;
    m->count = host->diag->prop(settings, "count");
    m->script = m->at = read_script(host, path);
    if (!m->script) {
        host->mem->free(m);
        return host->diag->fail(err, MCPLUG_ECONFIG, "script: cannot read \"%s\"",
                                path ? path : "");
    }
    *out = m;
    return MCPLUG_OK;
}

static void close_model(void *arg)
{
    struct model *m = arg;
    m->host->mem->free(m->script);
    m->host->mem->free(m);
}

/* ---- what it was asked ---- */

static void dump_items(FILE *f, const struct mcplug_item *const *items, size_t n)
{
    static const char *const kinds[] = {"?",        "text", "image",
                                        "document", "use",  "result"};

    for (size_t i = 0; i < n; i++) {
        const struct mcplug_item *item = items[i];
        fprintf(f, "%s%s", kinds[item->kind < 6 ? item->kind : 0],
                item->is_error ? " error" : "");
        fprintf(f, " id=%s name=%s mime=%s: %.*s\n", item->id ? item->id : "",
                item->name ? item->name : "", item->mime ? item->mime : "",
                (int)item->text.len, (const char *)item->text.data);
        dump_items(f, item->items, item->n_items);
    }
}

static void dump(const struct mcplug_prompt *p, const char *path)
{
    char other[4096];

    snprintf(other, sizeof other, "%s.new", path);
    FILE *f = fopen(other, "w");
    if (!f)
        return;
    fprintf(f, "model: %s\nsystem: %.*s\n", p->model, (int)p->system.len,
            (const char *)p->system.data);
    for (size_t i = 0; i < p->n_tools; i++)
        fprintf(f, "tool: %s\n", p->tools[i]->name);
    for (size_t i = 0; i < p->n_messages; i++) {
        fprintf(f, "%s:\n", p->messages[i]->role == MCPLUG_ROLE_USER ? "USER" : "MODEL");
        dump_items(f, p->messages[i]->items, p->messages[i]->n_items);
    }
    fclose(f);
    rename(other, path);
}

/* ---- what it answers ---- */

static struct mcplug_bytes bytes(char *text)
{
    char *to = text;

    for (char *from = text; *from; from++)
        if (from[0] == '\\' && from[1] == 'n') {
            *to++ = '\n';
            from++;
        } else {
            *to++ = *from;
        }
    struct mcplug_bytes b = {(const unsigned char *)text, (size_t)(to - text)};
    return b;
}

static enum mcplug_stop stop_of(const char *word)
{
    static const char *const words[] = {"", "end", "tools", "length", "refused", "full"};

    for (int i = 1; i < 6; i++)
        if (strcmp(word, words[i]) == 0)
            return (enum mcplug_stop)i;
    return MCPLUG_STOP_END;
}

static void answer_call(const struct mcplug_reply_ops *ops, mcplug_reply *reply,
                        char *words)
{
    char *id = strtok_r(words, " ", &words), *name = strtok_r(NULL, " ", &words);
    struct mcplug_bytes none = {NULL, 0};
    struct mcplug_bytes plain = {(const unsigned char *)words, words ? strlen(words) : 0};

    ops->call(reply, !id || strcmp(id, "-") == 0 ? "" : id, name,
              words && *words ? plain : none);
}

static void answer_usage(const struct mcplug_reply_ops *ops, mcplug_reply *reply,
                         const char *words)
{
    unsigned long long in = 0, out = 0;
    struct mcplug_usage usage = {.struct_size = sizeof usage};

    sscanf(words, "%llu %llu", &in, &out);
    usage.input = in;
    usage.output = out;
    ops->usage(reply, &usage);
}

/* One line; true: that was the end of the answer, or there will be none. */
static bool follow(struct model *m, mcplug_reply *reply, const struct mcplug_prompt *p,
                   char *line, bool *may_retry)
{
    const struct mcplug_reply_ops *ops = m->host->reply;
    char *words = strchr(line, ' ');
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int at = 0;

    if (words)
        *words++ = '\0';
    else
        words = line + strlen(line);
    if (strcmp(line, "text") == 0) {
        ops->text(reply, bytes(words));
    } else if (strcmp(line, "thought") == 0) {
        ops->thought(reply, bytes(words));
    } else if (strcmp(line, "call") == 0) {
        answer_call(ops, reply, words);
    } else if (strcmp(line, "usage") == 0) {
        answer_usage(ops, reply, words);
    } else if (strcmp(line, "dump") == 0) {
        dump(p, words);
    } else if (strcmp(line, "retry") == 0) {
        ops->retry_after(reply, strtoull(words, NULL, 10));
        *may_retry = true;
    } else if (strcmp(line, "fail") == 0) {
        sscanf(words, "%d %d %n", &why.code, &why.peer_status, &at);
        snprintf(why.text, sizeof why.text, "%s", words + at);
        why.flags = *may_retry ? MCPLUG_ERROR_RETRY : 0;
        ops->end(reply, MCPLUG_STOP_END, &why);
        return true;
    } else if (strcmp(line, "stop") == 0) {
        ops->end(reply, stop_of(words), NULL);
        return true;
    }
    return strcmp(line, "hang") == 0;
}

static int ask(void *arg, mcplug_reply *reply, const struct mcplug_prompt *prompt,
               void **out, struct mcplug_error *err)
{
    struct model *m = arg;
    bool is_over = false, may_retry = false;

    if (!*m->at)
        return m->host->diag->fail(err, MCPLUG_EPEER, "the script has no turn %u",
                                   m->requests + 1);
    m->requests++;
    *out = m;
    while (*m->at) {
        char *line = m->at, *end = strchr(line, '\n');
        m->at = end ? end + 1 : line + strlen(line);
        if (end)
            *end = '\0';
        if (strcmp(line, "turn") == 0)
            break;
        is_over = is_over || follow(m, reply, prompt, line, &may_retry);
    }
    if (!is_over)
        m->host->reply->end(reply, MCPLUG_STOP_END, NULL);
    return MCPLUG_OK;
}

static int count(void *arg, mcplug_reply *reply, const struct mcplug_prompt *prompt,
                 void **out, struct mcplug_error *err)
{
    struct model *m = arg;
    (void)prompt;

    if (!m->count)
        return m->host->diag->fail(err, MCPLUG_ENOTSUP, "it cannot count");
    answer_usage(m->host->reply, reply, m->count);
    m->host->reply->end(reply, MCPLUG_STOP_END, NULL);
    *out = m;
    return MCPLUG_OK;
}

static void drop(void *request)
{
    (void)request;
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    (void)self, (void)err;
    *ctx = (void *)host;
    return MCPLUG_OK;
}

static const struct mcplug_option options[] = {
    {"script", "string", "answers", "the file with its answers"},
    {"count", "string", "", "how many tokens it counts; default: it cannot"},
    {"apiKey", "secret", "", "ignored"},
    MCPLUG_MODEL_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_model_ops ops = {
    .struct_size = sizeof ops,
    .open = open_model,
    .close = close_model,
    .ask = ask,
    .drop = drop,
    .count = count,
};

static const struct mcplug_feature features[] = {
    {
        .kind = MCPLUG_MODEL,
        .name = "script",
        .summary = "answers of a file",
        .options = options,
        .ops = &ops,
    },
};

MCPLUG_PLUGIN(script) = {
    MCPLUG_HEAD(4),
    .name = "script",
    .version = "1.0",
    .license = "MIT",
    .summary = "A model that answers what a file says",
    MCPLUG_FEATURES(features),
    .init = init,
};
