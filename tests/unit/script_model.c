#define MCPLUG_BUILTIN
#include "script_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct script player;

static const struct mcplug_host *host;
static mcplug_self *self;

struct request {
    mcplug_reply *reply;
    const struct script_turn *turn;
    mcplug_timer *timer;
    size_t piece;
};

/* ---- what was asked ---- */

static void write_item(FILE *f, const struct mcplug_item *item)
{
    int len = (int)item->text.len;
    const char *text = (const char *)item->text.data;

    switch (item->kind) {
    case MCPLUG_ITEM_TEXT:
        fprintf(f, " '%.*s'", len, text);
        break;
    case MCPLUG_ITEM_TOOL_USE:
        fprintf(f, " use(%s,%s,%.*s)", item->id, item->name, len, text);
        break;
    case MCPLUG_ITEM_TOOL_RESULT:
        fprintf(f, " %s(%s,%s", item->is_error ? "failed" : "ok", item->id, item->name);
        for (uint32_t i = 0; i < item->n_items; i++)
            write_item(f, item->items[i]);
        fputc(')', f);
        break;
    default:
        fprintf(f, " %s[%d]", item->mime, len);
        break;
    }
}

static void write_tools(const struct mcplug_prompt *p)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    for (size_t i = 0; i < p->n_tools; i++)
        fprintf(f, "%s: %s %.*s\n", p->tools[i]->name, p->tools[i]->description,
                (int)p->tools[i]->schema.len, (const char *)p->tools[i]->schema.data);
    fclose(f);
    free(player.tools[player.asked]);
    player.tools[player.asked] = text;
}

static void write_prompt(const struct mcplug_prompt *p)
{
    char *text = NULL;
    size_t len = 0;

    if (player.forgets || player.asked >= sizeof player.prompts / sizeof *player.prompts)
        return;
    FILE *f = open_memstream(&text, &len);
    fprintf(f, "%.*s|", (int)p->system.len, (const char *)p->system.data);
    for (size_t i = 0; i < p->n_tools; i++)
        fprintf(f, "%s%s", i ? " " : "", p->tools[i]->name);
    fprintf(f, "|\n");
    for (size_t i = 0; i < p->n_messages; i++) {
        const struct mcplug_message *m = p->messages[i];
        fputc(m->role == MCPLUG_ROLE_USER ? 'U' : 'A', f);
        for (size_t k = 0; k < m->n_items; k++)
            write_item(f, m->items[k]);
        if (m->raw.len)
            fprintf(f, " raw(%.*s)", (int)m->raw.len, (const char *)m->raw.data);
        fputc('\n', f);
    }
    fclose(f);
    free(player.prompts[player.asked]);
    player.prompts[player.asked] = text;
    write_tools(p);
}

const char *script_prompt(size_t i)
{
    return player.prompts[i] ? player.prompts[i] : "";
}

static struct script_turn *copied; /* by script_begin() */

void script_clear(void)
{
    for (size_t i = 0; i < sizeof player.prompts / sizeof *player.prompts; i++)
        free(player.prompts[i]), free(player.tools[i]);
    memset(&player, 0, sizeof player);
    free(copied);
    copied = NULL;
}

void script_begin(const struct script_turn *turns, size_t n)
{
    unsigned opened = player.opened, closed = player.closed;

    script_clear();
    player.turns = copied = calloc(n, sizeof *turns);
    memcpy(copied, turns, n * sizeof *turns);
    player.n = n;
    player.opened = opened;
    player.closed = closed;
}

/* ---- answers ---- */

static struct mcplug_bytes bytes(const char *text)
{
    return (struct mcplug_bytes){(const unsigned char *)text, text ? strlen(text) : 0};
}

static void say(struct request *r)
{
    const struct script_turn *t = r->turn;
    const struct mcplug_reply_ops *ops = host->reply;
    struct mcplug_usage usage = {
        .struct_size = sizeof usage, .input = t->input, .output = t->output};
    size_t n = 0;

    if (t->thought)
        ops->thought(r->reply, bytes(t->thought));
    if (t->text)
        ops->text(r->reply, bytes(t->text));
    if (t->more)
        for (; n < t->n_more; n++)
            ops->call(r->reply, t->more[n].id, t->more[n].name,
                      bytes(t->more[n].arguments));
    else
        for (; n < 12 && t->calls[n].name; n++)
            ops->call(r->reply, t->calls[n].id, t->calls[n].name,
                      bytes(t->calls[n].arguments));
    if (t->raw)
        ops->raw(r->reply, bytes(t->raw));
    if (t->input || t->output)
        ops->usage(r->reply, &usage);
    if (t->hangs)
        return;
    if (t->code) {
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        why.code = t->code;
        why.peer_status = t->status;
        why.flags = t->flags;
        snprintf(why.text, sizeof why.text, "%s", t->why ? t->why : "a fault");
        if (t->retry_after)
            ops->retry_after(r->reply, t->retry_after - 1);
        ops->end(r->reply, MCPLUG_STOP_END, &why);
    } else {
        ops->end(r->reply,
                 t->stop ? t->stop
                 : n     ? MCPLUG_STOP_TOOLS
                         : MCPLUG_STOP_END,
                 NULL);
    }
}

static void on_timer(void *arg)
{
    struct request *r = arg;
    const char *piece = r->turn->pieces ? r->turn->pieces[r->piece] : NULL;

    r->timer = NULL;
    if (!piece) {
        say(r);
        return;
    }
    r->piece++;
    if (*piece == '\1')
        host->reply->thought(r->reply, bytes(piece + 1));
    else
        host->reply->text(r->reply, bytes(piece));
    r->timer = host->loop->timer_start(self, 0, on_timer, r);
}

static int request(mcplug_reply *reply, const struct script_turn *t, void **out,
                   struct mcplug_error *err)
{
    struct request *r = calloc(1, sizeof *r);

    r->reply = reply;
    r->turn = t;
    if (t->at_once)
        say(r);
    else if (!t->refuses)
        r->timer = host->loop->timer_start(self, 0, on_timer, r);
    if (t->refuses || (!t->at_once && !r->timer)) {
        free(r);
        return host->diag->fail(err, t->refuses ? t->code : MCPLUG_ENOMEM, "%s",
                                t->refuses && t->why ? t->why : "it cannot be asked");
    }
    *out = r;
    return MCPLUG_OK;
}

static int model_ask(void *m, mcplug_reply *reply, const struct mcplug_prompt *p,
                     void **out, struct mcplug_error *err)
{
    size_t i = player.asked < player.n ? player.asked : player.n - 1;
    (void)m;

    write_prompt(p);
    player.asked++;
    return request(reply, &player.turns[i], out, err);
}

static int model_count(void *m, mcplug_reply *reply, const struct mcplug_prompt *p,
                       void **out, struct mcplug_error *err)
{
    (void)m;
    player.counted++;
    player.counted_bytes = p->n_messages == 1 && p->messages[0]->n_items == 1
                               ? p->messages[0]->items[0]->text.len
                               : 0;
    return request(reply, &player.count, out, err);
}

static void model_drop(void *request)
{
    struct request *r = request;

    player.dropped++;
    if (r->timer)
        host->loop->timer_stop(r->timer);
    free(r);
}

/* ---- the module ---- */

static int model_open(void *ctx, const mcplug_props *settings, void **out,
                      struct mcplug_error *err)
{
    (void)ctx, (void)settings, (void)err;
    player.opened++;
    *out = &player;
    return MCPLUG_OK;
}

static void model_close(void *m)
{
    (void)m;
    player.closed++;
}

static int start(const struct mcplug_host *h, mcplug_self *s, void **ctx,
                 struct mcplug_error *err)
{
    (void)err;
    host = h;
    self = s;
    *ctx = &player;
    return MCPLUG_OK;
}

static void stop(void *ctx)
{
    (void)ctx;
}

static const struct mcplug_model_ops ops = {.struct_size = sizeof ops,
                                            .open = model_open,
                                            .close = model_close,
                                            .ask = model_ask,
                                            .drop = model_drop};
static const struct mcplug_model_ops counting_ops = {.struct_size = sizeof counting_ops,
                                                     .open = model_open,
                                                     .close = model_close,
                                                     .ask = model_ask,
                                                     .drop = model_drop,
                                                     .count = model_count};
static const struct mcplug_option options[] = {MCPLUG_MODEL_OPTIONS,
                                               {NULL, NULL, NULL, NULL}};
static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_MODEL,
     .name = "script",
     .summary = "A script",
     .options = options,
     .ops = &ops},
    {.kind = MCPLUG_MODEL,
     .name = "other",
     .summary = "Another",
     .options = options,
     .ops = &ops},
    {.kind = MCPLUG_MODEL,
     .name = "openai", /* by whose rules tools are repaired */
     .summary = "A third one",
     .options = options,
     .ops = &ops},
    {.kind = MCPLUG_MODEL,
     .name = "counts",
     .summary = "One that counts",
     .options = options,
     .ops = &counting_ops},
};
MCPLUG_PLUGIN(script) = {MCPLUG_HEAD(4),
                         .name = "script",
                         .version = "1",
                         .license = "MIT",
                         .summary = "A model of a test",
                         .origin = "tests",
                         MCPLUG_FEATURES(features),
                         .init = start,
                         .fini = stop};
