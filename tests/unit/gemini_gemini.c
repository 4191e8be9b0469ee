/* The module `gemini`: requests of the Gemini API, and what its answers mean. What
 * modules for models share is tested with anthropic. */
#include "model_kit.h"
#include "suite.h"

#include <check.h>
#include <dlfcn.h>

static const struct mcplug_plugin *plugin;

static void set_up(void)
{
    unsetenv("GEMINI_API_KEY");
    kit_init(plugin, "gemini");
    kit_setting("apiKey", "sk-secret");
    ck_assert_msg(kit_open() == MCPLUG_OK, "%s", kit.err.text);
}

static void tear_down(void)
{
    kit_fini();
}

#define DATA(json) "data: " json "\r\n\r\n"
#define PARTS(list)                                                                      \
    DATA("{\"candidates\": [{\"content\": {\"parts\": [" list                            \
         "],\"role\": \"model\"},\"index\": 0}],\"modelVersion\": \"m\"}")
#define STOP(reason)                                                                     \
    DATA("{\"candidates\":[{\"content\":{\"role\":\"model\"},\"finishReason\":\"" reason \
         "\",\"finishMessage\":\"it is so\"}],\"usageMetadata\":{\"promptTokenCount\":"  \
         "100,\"cachedContentTokenCount\":60,\"candidatesTokenCount\":7,"                \
         "\"thoughtsTokenCount\":5,\"totalTokenCount\":112}}")
#define TEXT(s) "{\"text\": \"" s "\"}"
#define THOUGHT(s) "{\"text\":\"" s "\",\"thought\":true}"
#define SIGNED_CALL                                                                      \
    "{\"functionCall\":{\"name\":\"read\",\"args\":{\"p\": \"a\"}},"                     \
    "\"thoughtSignature\":\"EqQB+/=\"}"
#define CALL "{\"functionCall\":{\"id\":\"f2\",\"name\":\"now\",\"args\":{}}}"

static const char *contents(void)
{
    return strstr(net.body.data, "\"contents\"");
}

/* ---- requests ---- */

START_TEST(a_question_becomes_a_request)
{
    ck_assert_int_eq(kit_ask(HELLO), MCPLUG_OK);
    ck_assert_str_eq(net.url.data, "https://generativelanguage.googleapis.com/v1beta/"
                                   "models/m-1:streamGenerateContent?alt=sse");
    ck_assert_str_eq(net.headers.data, "Content-Type: application/json\n"
                                       "Accept: text/event-stream\n"
                                       "x-goog-api-key: sk-secret\n");
    ck_assert_str_eq(net.body.data,
                     "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hello\"}]}"
                     "]}");
}
END_TEST

START_TEST(instructions_tools_and_the_length_of_the_answer_are_sent)
{
    kit_ask(PROMPT(.system = BYTES("Be \"brief\"."), .max_tokens = 7,
                   TOOLS(TOOL("a", "does a", "{\"type\":\"object\"}"),
                         TOOL("b", "does b", "{\"$ref\":\"#\"}")),
                   MESSAGES(USER(TEXT_ITEM("one"), TEXT_ITEM("")))));
    ck_assert_str_eq(
        net.body.data,
        "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"one\"}]}],"
        "\"systemInstruction\":{\"parts\":[{\"text\":\"Be \\\"brief\\\".\"}]},"
        "\"tools\":[{\"functionDeclarations\":[{\"name\":\"a\",\"description\":\"does "
        "a\",\"parametersJsonSchema\":{\"type\":\"object\"}},{\"name\":\"b\","
        "\"description\":\"does b\",\"parametersJsonSchema\":{\"$ref\":\"#\"}}]}],"
        "\"generationConfig\":{\"maxOutputTokens\":7}}");
}
END_TEST

START_TEST(the_name_of_the_model_is_part_of_the_address)
{
    static const struct {
        const char *model, *path;
    } cases[] = {
        {"models/gemini-3-pro", "/v1beta/models/gemini-3-pro:"},
        {"tunedModels/mine", "/v1beta/tunedModels/mine:"},
        {"a b?c#d:e", "/v1beta/models/a%20b%3Fc%23d%3Ae:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_ask(PROMPT_FOR(cases[i].model, MESSAGES(USER(TEXT_ITEM("x")))));
        ck_assert_msg(strstr(net.url.data, cases[i].path) != NULL, "%s", net.url.data);
    }
}
END_TEST

START_TEST(a_name_that_is_too_long_for_an_address_is_no_request)
{
    char name[9000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(kit_ask(PROMPT_FOR(name, MESSAGES(USER(TEXT_ITEM("x"))))),
                     MCPLUG_ETOOBIG);
    ck_assert_str_eq(kit.err.text, "the URL is longer than 8192 bytes");
    ck_assert_int_eq(net.n_starts, 0);
}
END_TEST

START_TEST(results_have_the_id_and_name_of_the_call_that_is_at_their_place)
{
    kit_ask(PROMPT(MESSAGES(
        USER(TEXT_ITEM("go")),
        RAW_ASSISTANT("{\"role\":\"model\",\"parts\":[" THOUGHT(
                          "\\u0061") ", " SIGNED_CALL "," CALL "]}",
                      USE_ITEM("made-up", "read", "{}"), USE_ITEM("f2", "now", "{}")),
        USER(RESULT_ITEM("made-up", "read", TEXT_ITEM("one"), IMAGE_ITEM("aW1n"),
                         TEXT_ITEM("two"), PDF_ITEM("cGRm", "q.pdf")),
             ITEM(.kind = MCPLUG_ITEM_TOOL_RESULT, .id = "f2", .name = "now",
                  .is_error = 1, ITEM_LIST(TEXT_ITEM("no clock"))),
             TEXT_ITEM("and?")))));
    ck_assert_str_eq(
        contents(),
        "\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"go\"}]},"
        "{\"role\":\"model\",\"parts\":[" THOUGHT(
            "\\u0061") ", " SIGNED_CALL "," CALL
                       "]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":"
                       "\"read\","
                       "\"response\":{\"output\":\"one\\ntwo\"},\"parts\":[{"
                       "\"inlineData\":{"
                       "\"mimeType\":\"image/"
                       "png\",\"data\":\"aW1n\"}},{\"inlineData\":{\"mimeType\":"
                       "\"application/"
                       "pdf\",\"data\":\"cGRm\"}}]}},{\"functionResponse\":{\"id\":"
                       "\"f2\","
                       "\"name\":\"now\",\"response\":{\"error\":\"no "
                       "clock\"}}},{\"text\":\"and?\"}]}"
                       "]}");
}
END_TEST

START_TEST(older_models_get_images_of_results_in_a_content_behind_all_results)
{
    kit_ask(PROMPT_FOR(
        "gemini-2.5-pro",
        MESSAGES(USER(TEXT_ITEM("go")),
                 RAW_ASSISTANT("{\"role\":\"model\",\"parts\":[" SIGNED_CALL "," CALL
                               "]}",
                               TEXT_ITEM("")),
                 USER(RESULT_ITEM("1", "read", IMAGE_ITEM("aW1n")),
                      RESULT_ITEM("2", "now", TEXT_ITEM("12:00")), TEXT_ITEM("and?")))));
    ck_assert_str_eq(
        strstr(contents(), "{\"functionResponse\""),
        "{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"\"}}},"
        "{\"functionResponse\":{\"id\":\"f2\",\"name\":\"now\",\"response\":{\"output\":"
        "\"12:00\"}}}]},{\"role\":\"user\",\"parts\":[{\"inlineData\":{\"mimeType\":"
        "\"image/png\",\"data\":\"aW1n\"}},{\"text\":\"and?\"}]}]}");
}
END_TEST

START_TEST(what_another_model_said_is_made_from_its_items)
{
    kit_ask(
        PROMPT(MESSAGES(USER(TEXT_ITEM("go")),
                        ASSISTANT(TEXT_ITEM("I will."), USE_ITEM("c1", "a", "{\"x\": 1}"),
                                  USE_ITEM("c2", "b", "{broken")),
                        USER(RESULT_ITEM("c1", "a", TEXT_ITEM("1")),
                             RESULT_ITEM("c2", "b", TEXT_ITEM("2"))),
                        RAW_ASSISTANT("{\"role\":\"model\"}", TEXT_ITEM("done")),
                        USER(TEXT_ITEM("ok")))));
    ck_assert_str_eq(
        contents(),
        "\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"go\"}]},{\"role\":"
        "\"model\",\"parts\":[{\"text\":\"I will.\"},{\"functionCall\":{\"name\":\"a\","
        "\"args\":{\"x\": 1}},\"thoughtSignature\":\"skip_thought_signature_validator\"},"
        "{\"functionCall\":{\"name\":\"b\",\"args\":{}}}]},{\"role\":\"user\",\"parts\":["
        "{\"functionResponse\":{\"name\":\"a\",\"response\":{\"output\":\"1\"}}},"
        "{\"functionResponse\":{\"name\":\"b\",\"response\":{\"output\":\"2\"}}}]},"
        "{\"role\":\"model\",\"parts\":[{\"text\":\"done\"}]},{\"role\":\"user\","
        "\"parts\":[{\"text\":\"ok\"}]}]}");
}
END_TEST

START_TEST(turns_without_parts_are_left_out_and_messages_of_one_role_are_one)
{
    kit_ask(PROMPT(
        MESSAGES(USER(TEXT_ITEM("a")),
                 RAW_ASSISTANT("{\"role\":\"model\",\"parts\":[]}", TEXT_ITEM("x")),
                 USER(TEXT_ITEM("b"), IMAGE_ITEM("aQ==")))));
    ck_assert_str_eq(contents(),
                     "\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"},"
                     "{\"text\":\"b\"},{\"inlineData\":{\"mimeType\":\"image/png\","
                     "\"data\":\"aQ==\"}}]}]}");
}
END_TEST

START_TEST(images_that_the_api_refuses_are_replaced_by_a_note)
{
    const struct mcplug_item *gif =
        ITEM(.kind = MCPLUG_ITEM_IMAGE, .text = BYTES("R0lG"), .mime = "image/gif");
    kit_ask(
        PROMPT(MESSAGES(USER(TEXT_ITEM("a"), gif), ASSISTANT(USE_ITEM("1", "n", "{}")),
                        USER(RESULT_ITEM("1", "n", TEXT_ITEM("seen"), gif)))));
    ck_assert_ptr_null(strstr(net.body.data, "R0lG"));
    ck_assert_ptr_nonnull(strstr(net.body.data, "{\"text\":\"[An image/gif is left out: "
                                                "the API does not accept it.]\"}"));
    ck_assert_ptr_nonnull(strstr(net.body.data, "{\"output\":\"seen\\n[An image/gif "));
}
END_TEST

START_TEST(tokens_are_counted_without_an_answer)
{
    ck_assert_int_eq(kit_count(PROMPT(.max_tokens = 5, .system = BYTES("s"),
                                      MESSAGES(USER(TEXT_ITEM("x"))))),
                     MCPLUG_OK);
    ck_assert_ptr_nonnull(strstr(net.url.data, "/v1beta/models/m-1:countTokens"));
    ck_assert_str_eq(
        net.body.data,
        "{\"generateContentRequest\":{\"model\":\"models/m-1\",\"contents\":[{\"role\":"
        "\"user\",\"parts\":[{\"text\":\"x\"}]}],\"systemInstruction\":{\"parts\":["
        "{\"text\":\"s\"}]}}}");
    feed_head(200, "application/json");
    feed("{\"totalTokens\": 31,\n\"promptTokensDetails\": []}\n");
    feed_done(0, 0);
    ck_assert_int_eq(told.why.code, 0);
    ck_assert_uint_eq(told.usage.input, 31);
    kit_count(HELLO);
    feed_head(200, "application/json");
    feed("{}");
    feed_done(0, 0);
    ck_assert_int_eq(told.why.code, MCPLUG_EPROTO);
}
END_TEST

/* ---- answers ---- */

START_TEST(pieces_of_a_text_are_told_as_they_come_and_become_one_part)
{
    kit_ask(HELLO);
    feed_head(200, "text/event-stream");
    feed(PARTS(TEXT("He")));
    ck_assert_str_eq(told.text.data, "He");
    feed(PARTS(TEXT("llo\\n\\u00e9")) PARTS(TEXT("")) PARTS(TEXT("!")) STOP("STOP"));
    ck_assert_int_eq(told.n_ends, 0);
    feed_done(0, 0);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_int_eq(told.why.code, 0);
    ck_assert_int_eq(told.stop, MCPLUG_STOP_END);
    ck_assert_str_eq(told.text.data, "Hello\n\xc3\xa9!");
    ck_assert_str_eq(told.raw.data, "{\"role\":\"model\",\"parts\":[{\"text\":"
                                    "\"Hello\\n\\u00e9!\"}]}");
    ck_assert_uint_eq(told.usage.input, 100);
    ck_assert_uint_eq(told.usage.input_cached, 60);
    ck_assert_uint_eq(told.usage.output, 12);
}
END_TEST

#define MIXED                                                                            \
    PARTS(THOUGHT("Hm"))                                                                 \
    PARTS(THOUGHT("."))                                                                  \
    PARTS(TEXT("I ") "," TEXT("look."))                                                  \
    PARTS(SIGNED_CALL "," CALL)                                                          \
    PARTS("{\"text\":\"\",\"thoughtSignature\":\"last=\"}") STOP("STOP")

START_TEST(thoughts_and_calls_are_told_and_signatures_are_kept_where_they_were)
{
    kit_stream(MIXED);
    ck_assert_str_eq(told.thought.data, "Hm.");
    ck_assert_str_eq(told.text.data, "I look.");
    ck_assert_str_eq(told.calls.data, "- read {\"p\": \"a\"}\nf2 now {}\n");
    ck_assert_str_eq(told.order.data, "htcr");
    ck_assert_int_eq(told.stop, MCPLUG_STOP_TOOLS);
    ck_assert_str_eq(told.raw.data,
                     "{\"role\":\"model\",\"parts\":[{\"text\":\"Hm.\",\"thought\":true},"
                     "{\"text\":\"I look.\"}," SIGNED_CALL "," CALL
                     ",{\"text\":\"\",\"thoughtSignature\":\"last=\"}]}");
}
END_TEST

START_TEST(a_stream_may_be_cut_anywhere)
{
    kit_every_cut(MIXED);
}
END_TEST

START_TEST(a_text_with_a_signature_stays_apart)
{
    kit_stream(PARTS(TEXT("a")) PARTS("{\"text\":\"b\",\"thoughtSignature\":\"s\"}")
                   PARTS(TEXT("c")) STOP("STOP"));
    ck_assert_str_eq(told.text.data, "abc");
    ck_assert_str_eq(told.raw.data,
                     "{\"role\":\"model\",\"parts\":[{\"text\":\"a\"},{\"text\":\"b\","
                     "\"thoughtSignature\":\"s\"},{\"text\":\"c\"}]}");
}
END_TEST

START_TEST(parts_that_are_not_known_are_kept_and_other_candidates_ignored)
{
    kit_stream(
        PARTS("{\"executableCode\":{\"code\":\"1\"}}, 7, {\"novel\":[{}]}")
            DATA("{\"candidates\":[{},{\"content\":{\"parts\":[" TEXT("no") "]}}]}")
                DATA("{\"novel\":1}") DATA("[]") DATA("{\"candidates\":7}") STOP("STOP"));
    ck_assert_int_eq(told.why.code, 0);
    ck_assert_str_eq(told.text.data, "");
    ck_assert_str_eq(told.raw.data, "{\"role\":\"model\",\"parts\":[{\"executableCode\":{"
                                    "\"code\":\"1\"}},{\"novel\":[{}]}]}");
}
END_TEST

START_TEST(arguments_that_are_missing_are_empty_ones_and_a_name_must_be_there)
{
    kit_stream(PARTS("{\"functionCall\":{\"name\":\"now\"}}") STOP("STOP"));
    ck_assert_str_eq(told.calls.data, "- now {}\n");
    kit_stream(PARTS("{\"functionCall\":{\"args\":{}}}") STOP("STOP"));
    ck_assert_int_eq(told.why.code, MCPLUG_EPROTO);
}
END_TEST

START_TEST(each_reason_to_stop_is_told_apart)
{
    static const struct {
        const char *stream;
        enum mcplug_stop stop;
    } cases[] = {
        {STOP("STOP"), MCPLUG_STOP_END},
        {STOP("OTHER"), MCPLUG_STOP_END},
        {STOP("MAX_TOKENS"), MCPLUG_STOP_LENGTH},
        {STOP("SAFETY"), MCPLUG_STOP_REFUSED},
        {STOP("RECITATION"), MCPLUG_STOP_REFUSED},
        {STOP("PROHIBITED_CONTENT"), MCPLUG_STOP_REFUSED},
        {DATA("{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}"), MCPLUG_STOP_REFUSED},
        {PARTS(CALL) STOP("STOP"), MCPLUG_STOP_TOOLS},
        {PARTS(CALL) STOP("MAX_TOKENS"), MCPLUG_STOP_LENGTH},
        {STOP("STOP") "data: [DONE]\n\n", MCPLUG_STOP_END},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_stream(cases[i].stream);
        ck_assert_int_eq(told.n_ends, 1);
        ck_assert_msg(told.why.code == 0, "%zu: %s", i, told.why.text);
        ck_assert_msg(told.stop == cases[i].stop, "%zu: %d", i, (int)told.stop);
    }
}
END_TEST

START_TEST(calls_that_the_model_got_wrong_fail_the_turn_and_are_worth_a_retry)
{
    static const char *const cases[] = {
        STOP("MALFORMED_FUNCTION_CALL"),
        PARTS(CALL) STOP("MALFORMED_FUNCTION_CALL"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_stream(cases[i]);
        ck_assert_int_eq(told.why.code, MCPLUG_EPEER);
        ck_assert_str_eq(told.why.text, "Gemini: MALFORMED_FUNCTION_CALL: it is so");
        ck_assert_uint_ne(told.why.flags & MCPLUG_ERROR_RETRY, 0);
        ck_assert_int_eq(told.n_raws, 0);
    }
    kit_stream(STOP("UNEXPECTED_TOOL_CALL"));
    ck_assert_int_eq(told.why.code, MCPLUG_EPEER);
}
END_TEST

START_TEST(an_answer_that_is_one_document_or_a_list_is_read_as_a_stream_is)
{
    const char *one = "{\"candidates\":[{\"content\":{\"parts\":[" TEXT(
        "Hi") "," CALL "]},\"finishReason\":\"STOP\"}]}";
    kit_answer("application/json", one, 5);
    ck_assert_str_eq(told.text.data, "Hi");
    ck_assert_str_eq(told.calls.data, "f2 now {}\n");
    ck_assert_int_eq(told.stop, MCPLUG_STOP_TOOLS);
    kit_answer("application/json",
               "[{\"candidates\":[{\"content\":{\"parts\":[" TEXT(
                   "H") "]}}]},\n"
                        "{\"candidates\":[{\"content\":{\"parts\":[" TEXT(
                            "i") "]},\"finishReason\":\"STOP\"}]}]\n",
               5);
    ck_assert_str_eq(told.text.data, "Hi");
    ck_assert_int_eq(told.stop, MCPLUG_STOP_END);
    kit_answer("application/json", "[]", 0);
    ck_assert_int_eq(told.why.code, MCPLUG_ECLOSED);
}
END_TEST

START_TEST(a_stream_without_a_reason_to_stop_broke_off)
{
    kit_stream(PARTS(TEXT("He")));
    ck_assert_int_eq(told.why.code, MCPLUG_ECLOSED);
    kit_stream(PARTS(TEXT("He")) STOP("FINISH_REASON_UNSPECIFIED"));
    ck_assert_int_eq(told.why.code, MCPLUG_ECLOSED);
    kit_stream("");
    ck_assert_int_eq(told.why.code, MCPLUG_ECLOSED);
}
END_TEST

START_TEST(more_than_4096_parts_end_the_request_but_pieces_of_text_do_not)
{
    for (int n = 4096; n <= 4097; n++) {
        kit_ask(HELLO);
        feed_head(200, "text/event-stream");
        for (int i = 0; i < n; i++)
            feed(PARTS("{\"novel\":1}"));
        ck_assert_int_eq(told.n_ends, n - 4096);
    }
    ck_assert_int_eq(told.why.code, MCPLUG_ETOOBIG);
    kit_ask(HELLO);
    feed_head(200, "text/event-stream");
    for (int i = 0; i < 5000; i++)
        feed(PARTS(TEXT("x")));
    ck_assert_int_eq(told.n_ends, 0);
}
END_TEST

/* ---- errors ---- */

#define ERROR(code, message, details)                                                    \
    "{\"error\": {\"code\": " #code ",\"message\": \"" message                           \
    "\",\"status\": \"S\",\"details\": [" details "]}}"

START_TEST(errors_of_the_api_have_its_words_and_say_what_they_are_worth)
{
    static const struct {
        int status;
        const char *body;
        int code, retry;
        int64_t after;
        const char *text;
    } cases[] = {
        {400, ERROR(400, "bad tool", ""), MCPLUG_EPEER, 0, -1, "Gemini: bad tool"},
        {400, ERROR(400, "API key not valid.", "{\"reason\":\"API_KEY_INVALID\"}"),
         MCPLUG_EAUTH, 0, -1, "Gemini: API key not valid."},
        {400,
         ERROR(400,
               "The input token count (9) exceeds the maximum number of tokens allowed "
               "(8).",
               ""),
         MCPLUG_ETOOBIG, 0, -1,
         "Gemini: The input token count (9) exceeds the maximum number of tokens allowed "
         "(8)."},
        {403, ERROR(403, "no", ""), MCPLUG_EAUTH, 0, -1, "Gemini: no"},
        {429, ERROR(429, "quota", "{}, {\"@type\":\"t\",\"retryDelay\":\"37s\"}"),
         MCPLUG_EOVERLOADED, 1, 37000, "Gemini: quota"},
        {429, ERROR(429, "quota", "{\"retryDelay\":\"1.5s\"}"), MCPLUG_EOVERLOADED, 1,
         2000, "Gemini: quota"},
        {429, ERROR(429, "quota", "{\"retryDelay\":\"soon\"},{\"retryDelay\":7}"),
         MCPLUG_EOVERLOADED, 1, -1, "Gemini: quota"},
        {503, "[" ERROR(503, "overloaded", "") "]", MCPLUG_EOVERLOADED, 1, -1,
         "Gemini: overloaded"},
        {500, "[]", MCPLUG_EPEER, 1, -1, "Gemini: HTTP 500 Internal Server Error"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_ask(HELLO);
        feed_head(cases[i].status, "application/json");
        feed(cases[i].body);
        feed_done(0, 0);
        ck_assert_msg(told.why.code == cases[i].code, "%zu: %d", i, told.why.code);
        ck_assert_str_eq(told.why.text, cases[i].text);
        ck_assert_int_eq(told.why.peer_status, cases[i].status);
        ck_assert_int_eq((told.why.flags & MCPLUG_ERROR_RETRY) != 0, cases[i].retry);
        ck_assert_int_eq(told.has_retry_after, cases[i].after >= 0);
        if (cases[i].after >= 0)
            ck_assert_int_eq((int64_t)told.retry_after, cases[i].after);
    }
}
END_TEST

START_TEST(headers_count_more_than_the_document_on_when_to_ask_again)
{
    kit_ask(HELLO);
    feed_head_with(429, "application/json", 3000, NULL, NULL);
    feed(ERROR(429, "quota", "{\"retryDelay\":\"37s\"}"));
    feed_done(0, 0);
    ck_assert_uint_eq(told.retry_after, 3000);
}
END_TEST

START_TEST(errors_in_the_stream_count_as_those_of_http)
{
    kit_stream(PARTS(TEXT("He")) DATA(ERROR(503, "overloaded", "")));
    ck_assert_int_eq(told.why.code, MCPLUG_EOVERLOADED);
    ck_assert_int_eq(told.why.peer_status, 503);
    kit_stream(DATA(ERROR(7, "odd", "")));
    ck_assert_int_eq(told.why.code, MCPLUG_EPEER);
    ck_assert_int_eq(told.why.peer_status, 500);
}
END_TEST

/* ---- memory ---- */

static void whole_life(void)
{
    kit_setting("apiKey", "sk-secret");
    kit_forget();
    if (kit_open() != MCPLUG_OK) {
        ck_assert_int_eq(kit.err.code, MCPLUG_ENOMEM);
        return;
    }
    const struct mcplug_prompt *prompt = PROMPT(
        MESSAGES(USER(TEXT_ITEM("x")), ASSISTANT(USE_ITEM("1", "n", "{}")),
                 USER(RESULT_ITEM("1", "n", TEXT_ITEM("seen"), IMAGE_ITEM("aQ==")))));
    if (kit_ask(prompt) != MCPLUG_OK) {
        ck_assert_int_eq(kit.err.code, MCPLUG_ENOMEM);
        return;
    }
    ck_assert_ptr_nonnull(strstr(net.body.data, "{\"output\":\"seen\"}"));
    feed_head(200, "text/event-stream");
    feed(MIXED);
    feed_done(0, 0);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_msg(told.why.code == 0 || told.why.code == MCPLUG_ENOMEM, "%s",
                  told.why.text);
    if (told.why.code == 0)
        ck_assert_int_eq(told.stop, MCPLUG_STOP_TOOLS);
}

START_TEST(memory_may_fail_anywhere)
{
    kit_close();
    kit_torture(whole_life);
}
END_TEST

int main(void)
{
    char path[4096];
    const char *build = getenv("MCPLUG_BUILD");
    snprintf(path, sizeof path, "%s/plugins/.libs/gemini.so", build ? build : ".");
    void *so = dlopen(path, RTLD_NOW);
    plugin = so != NULL ? dlsym(so, MCPLUG_SYMBOL) : NULL;
    if (plugin == NULL) {
        printf("%s: %s\n", path, dlerror());
        return 1;
    }
    Suite *s = suite_create("gemini_gemini");
    TCase *requests = tcase_create("requests"), *answers = tcase_create("answers");
    tcase_set_timeout(answers, 120);
    tcase_add_checked_fixture(requests, set_up, tear_down);
    tcase_add_test(requests, a_question_becomes_a_request);
    tcase_add_test(requests, instructions_tools_and_the_length_of_the_answer_are_sent);
    tcase_add_test(requests, the_name_of_the_model_is_part_of_the_address);
    tcase_add_test(requests, a_name_that_is_too_long_for_an_address_is_no_request);
    tcase_add_test(requests,
                   results_have_the_id_and_name_of_the_call_that_is_at_their_place);
    tcase_add_test(requests,
                   older_models_get_images_of_results_in_a_content_behind_all_results);
    tcase_add_test(requests, what_another_model_said_is_made_from_its_items);
    tcase_add_test(requests,
                   turns_without_parts_are_left_out_and_messages_of_one_role_are_one);
    tcase_add_test(requests, images_that_the_api_refuses_are_replaced_by_a_note);
    tcase_add_test(requests, tokens_are_counted_without_an_answer);
    tcase_add_checked_fixture(answers, set_up, tear_down);
    tcase_add_test(answers, pieces_of_a_text_are_told_as_they_come_and_become_one_part);
    tcase_add_test(answers,
                   thoughts_and_calls_are_told_and_signatures_are_kept_where_they_were);
    tcase_add_test(answers, a_stream_may_be_cut_anywhere);
    tcase_add_test(answers, a_text_with_a_signature_stays_apart);
    tcase_add_test(answers,
                   parts_that_are_not_known_are_kept_and_other_candidates_ignored);
    tcase_add_test(answers,
                   arguments_that_are_missing_are_empty_ones_and_a_name_must_be_there);
    tcase_add_test(answers, each_reason_to_stop_is_told_apart);
    tcase_add_test(answers,
                   calls_that_the_model_got_wrong_fail_the_turn_and_are_worth_a_retry);
    tcase_add_test(answers,
                   an_answer_that_is_one_document_or_a_list_is_read_as_a_stream_is);
    tcase_add_test(answers, a_stream_without_a_reason_to_stop_broke_off);
    tcase_add_test(answers,
                   more_than_4096_parts_end_the_request_but_pieces_of_text_do_not);
    tcase_add_test(answers, errors_of_the_api_have_its_words_and_say_what_they_are_worth);
    tcase_add_test(answers, headers_count_more_than_the_document_on_when_to_ask_again);
    tcase_add_test(answers, errors_in_the_stream_count_as_those_of_http);
    tcase_add_test(answers, memory_may_fail_anywhere);
    suite_add_tcase(s, requests);
    suite_add_tcase(s, answers);
    return run_to_end(s);
}
