#include "openai.h"

#include "../common/url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

void openai_comma(struct text *t)
{
    if (t->len > 0 && strchr("[{", t->data[t->len - 1]) == NULL)
        text_adds(t, ",");
}

void openai_member(struct text *t, const char *name)
{
    openai_comma(t);
    text_adds(t, "\"");
    text_adds(t, name);
    text_adds(t, "\":");
}

int openai_is_own(const struct model *m)
{
    struct url here, own;
    return url_parse(m->url, &here) == NULL && url_parse(OPENAI_URL, &own) == NULL &&
           url_same_origin(&here, &own);
}

void openai_begin(struct model_request *rq, const char *path)
{
    const struct model *m = rq->model;
    struct url url;
    int is_host = url_parse(m->url, &url) == NULL && m->url[url.target] == '\0';
    if (m->bearer != NULL)
        model_header(rq, "Authorization", m->bearer);
    text_adds(&rq->path, is_host ? "/v1" : "");
    text_adds(&rq->path, path);
    text_adds(&rq->body, "{\"model\":");
    text_add_strings(&rq->body, rq->prompt->model);
}

/* What media types and Base64 are made of: nothing that JSON has to escape. */
static int is_plain(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c != '\0' && strchr("+/=.-_", c) != NULL);
}

static void add_plain(struct text *t, struct mcplug_bytes b)
{
    for (size_t i = 0, from = 0; i <= b.len; i++) {
        if (i < b.len && is_plain(b.data[i]))
            continue;
        if (i > from)
            text_add(t, b.data + from, i - from);
        from = i + 1;
    }
}

void openai_data_url(struct text *t, const struct mcplug_item *item)
{
    const char *mime = item->mime;
    if (mime == NULL)
        mime = item->kind == MCPLUG_ITEM_IMAGE ? "image/png" : "application/pdf";
    text_adds(t, "\"data:");
    add_plain(t, (struct mcplug_bytes){(const unsigned char *)mime, strlen(mime)});
    text_adds(t, ";base64,");
    add_plain(t, item->text);
    text_adds(t, "\"");
}

void openai_file_name(struct text *t, const struct mcplug_item *item)
{
    int has_name = item->name != NULL && item->name[0] != '\0';
    text_add_strings(t, has_name ? item->name : "document.pdf");
}

void openai_tool_name(struct text *t, const char *name)
{
    char fit[65];
    size_t n = 0;
    for (; name != NULL && name[n] != '\0' && n < sizeof fit - 1; n++) {
        unsigned char c = (unsigned char)name[n];
        fit[n] = (char)(is_plain(c) && strchr("+/=.", c) == NULL ? c : '_');
    }
    fit[n] = '\0';
    text_add_strings(t, n > 0 ? fit : "unknown");
}

void openai_arguments(struct text *t, const struct mcplug_json *json,
                      struct mcplug_bytes arguments)
{
    if (json_is_object(json_trim(arguments)) && json->valid(arguments))
        text_add_string(t, arguments);
    else
        text_adds(t, "\"{}\"");
}

void openai_result_text(struct text *t, const struct mcplug_mem *mem,
                        const struct mcplug_item *result, const char *last)
{
    struct text all;
    size_t n = 0;
    text_init(&all, mem, t->max);
    for (size_t i = 0; i < result->n_items; i++) {
        if (result->items[i]->kind != MCPLUG_ITEM_TEXT)
            continue;
        text_adds(&all, n++ > 0 ? "\n" : "");
        text_add_bytes(&all, result->items[i]->text);
    }
    if (last != NULL) {
        text_adds(&all, n > 0 ? "\n" : "");
        text_adds(&all, last);
    }
    text_add_string(t, text_bytes(&all));
    if (all.failed != 0 && t->failed == 0)
        t->failed = all.failed;
    text_clear(&all);
}

int openai_has_files(const struct mcplug_item *result)
{
    for (size_t i = 0; i < result->n_items; i++)
        if (result->items[i]->kind != MCPLUG_ITEM_TEXT)
            return 1;
    return 0;
}

void openai_make_id(const struct model_request *rq, size_t n, char *out, size_t size)
{
    snprintf(out, size, "call_%zu_%zu", rq->prompt->n_messages, n);
}

/* ---- errors ---- */

/* The object that has the words: servers put them into `error`, or not. */
static struct mcplug_bytes error_of(const struct model_request *rq,
                                    struct mcplug_bytes json)
{
    const struct mcplug_json *reader = rq->model->json;
    struct mcplug_bytes error = reader->get(json, "error");
    if (error.len == 0)
        error = reader->get(reader->get(json, "response"), "error");
    return json_is_object(error) || json_is_string(error) ? error : json;
}

void openai_error(struct model_request *rq, struct mcplug_bytes json,
                  struct model_problem *problem)
{
    static const char *const members[] = {"message", "detail", "msg", NULL};
    const struct mcplug_json *reader = rq->model->json;
    struct mcplug_bytes error = error_of(rq, json), words = error;
    for (size_t i = 0; !json_is_string(words) && members[i] != NULL; i++)
        words = reader->get(error, members[i]);
    text_half half = 0;
    text_add_unescaped(&problem->words, words, &half);
    text_add_half(&problem->words, &half);
    problem->is_too_long =
        json_is(reader->get(error, "code"), "context_length_exceeded") ||
        json_is(reader->get(error, "type"), "exceed_context_size_error");
    problem->is_key = json_is(reader->get(error, "code"), "invalid_api_key");
    if (json_is(reader->get(error, "param"), "include"))
        text_adds(&problem->words,
                  " (for models that do not reason, set \"reasoning\" to "
                  "false)");
}

int openai_error_status(const struct model_request *rq, struct mcplug_bytes json)
{
    static const struct {
        const char *word;
        int status;
    } known[] = {
        {"invalid_api_key", 401},
        {"rate_limit_exceeded", 429},
        {"rate_limit_error", 429},
        {"insufficient_quota", 402},
        {"server_error", 500},
        {"internal_error", 500},
        {"overloaded_error", 503},
        {"server_is_overloaded", 503},
        {"slow_down", 503},
        {"unavailable_error", 503},
        {"authentication_error", 401},
        {"context_length_exceeded", 400},
    };
    const struct mcplug_json *reader = rq->model->json;
    struct mcplug_bytes error = error_of(rq, json);
    struct mcplug_bytes code = reader->get(error, "code"),
                        type = reader->get(error, "type");
    int64_t number = 0;
    if (reader->integer(code, &number) && number >= 400 && number < 600)
        return (int)number;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (json_is(code, known[i].word) || json_is(type, known[i].word))
            return known[i].status;
    return 400;
}
