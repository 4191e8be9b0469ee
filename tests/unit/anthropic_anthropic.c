/* The module `anthropic`: requests of the Messages API, and what its answers mean. What
 * all modules for models share is tested here, too. */
#include "model_kit.h"
#include "suite.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>

static const struct mcplug_plugin *plugin;

static void set_up(void)
{
    unsetenv("ANTHROPIC_API_KEY");
    kit_init(plugin, "anthropic");
}

static void set_up_open(void)
{
    set_up();
    kit_setting("apiKey", "sk-secret");
    ck_assert_msg(kit_open() == MCPLUG_OK, "%s", kit.err.text);
}

static void tear_down(void)
{
    kit_fini();
}

#define START                                                                            \
    "event: message_start\n"                                                             \
    "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":"          \
    "\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":10,"  \
    "\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":300,"                \
    "\"output_tokens\":1}}}\n\n"
#define DATA(json) "data: " json "\n\n"
#define BLOCK(i, json)                                                                   \
    DATA("{\"type\":\"content_block_start\",\"index\":" #i ",\"content_block\":" json "}")
#define DELTA(i, json)                                                                   \
    DATA("{\"type\":\"content_block_delta\",\"index\":" #i ",\"delta\":" json "}")
#define BLOCK_STOP(i) DATA("{\"type\":\"content_block_stop\",\"index\":" #i "}")
#define TEXT(i, s) DELTA(i, "{\"type\":\"text_delta\",\"text\":\"" s "\"}")
#define STOP(reason)                                                                     \
    DATA("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason              \
         "\"},\"usage\":{\"output_tokens\":42}}")                                        \
    DATA("{\"type\":\"message_stop\"}")
#define EMPTY_TEXT "{\"type\":\"text\",\"text\":\"\"}"

/* ---- requests ---- */

START_TEST(a_question_becomes_a_request)
{
    ck_assert_int_eq(kit_ask(HELLO), MCPLUG_OK);
    ck_assert_str_eq(net.url.data, "https://api.anthropic.com/v1/messages");
    ck_assert_str_eq(net.headers.data, "Content-Type: application/json\n"
                                       "Accept: text/event-stream\n"
                                       "anthropic-version: 2026-10-21\n"
                                       "x-api-key: sk-secret\n");
    ck_assert_str_eq(
        net.body.data,
        "{\"model\":\"m-1\",\"max_tokens\":8192,\"stream\":true,"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"hello\",\"cache_control\":{\"type\":\"ephemeral\"}}]}]}");
}
END_TEST

START_TEST(the_last_tool_and_the_last_block_of_the_user_are_marked_for_the_cache)
{
    kit_ask(PROMPT(.system = BYTES("Be \"brief\".\n"), .max_tokens = 7,
                   TOOLS(TOOL("a", "does a", "{\"type\":\"object\"}"),
                         TOOL("b", "does b", "{\"type\":\"object\"}")),
                   MESSAGES(USER(TEXT_ITEM("one"), TEXT_ITEM("two")))));
    ck_assert_str_eq(
        net.body.data,
        "{\"model\":\"m-1\",\"max_tokens\":7,\"stream\":true,"
        "\"system\":\"Be \\\"brief\\\".\\n\",\"tools\":["
        "{\"name\":\"a\",\"description\":\"does a\",\"input_schema\":{\"type\":"
        "\"object\"}},"
        "{\"name\":\"b\",\"description\":\"does b\",\"input_schema\":{\"type\":"
        "\"object\"},\"cache_control\":{\"type\":\"ephemeral\"}}],"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
        "\"one\"},{\"type\":\"text\",\"text\":\"two\",\"cache_control\":{\"type\":"
        "\"ephemeral\"}}]}]}");
}
END_TEST

START_TEST(results_of_tools_are_one_message_with_images_and_documents)
{
    kit_ask(PROMPT(MESSAGES(
        USER(TEXT_ITEM("go")),
        RAW_ASSISTANT("[{\"type\":\"thinking\",\"thinking\":\"\\u0061\",\"signature\":"
                      "\"s+/=\"}, {\"type\":\"tool_use\",\"id\":\"i.1\",\"name\":\"a\","
                      "\"input\":{}}]",
                      USE_ITEM("i.1", "a", "{}")),
        USER(RESULT_ITEM("i.1", "a", TEXT_ITEM("seen"), IMAGE_ITEM("aW1n"),
                         PDF_ITEM("cGRm", "q.pdf"))),
        USER(ITEM(.kind = MCPLUG_ITEM_TOOL_RESULT, .id = "i.2", .is_error = 1)))));
    const char *at = strstr(net.body.data, "\"messages\"");
    ck_assert_str_eq(
        at, "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
            "\"go\"}]},{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
            "\"thinking\":\"\\u0061\",\"signature\":\"s+/=\"}, {\"type\":\"tool_use\","
            "\"id\":\"i.1\",\"name\":\"a\",\"input\":{}}]},{\"role\":\"user\","
            "\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"i.1\",\"content\":["
            "{\"type\":\"text\",\"text\":\"seen\"},{\"type\":\"image\",\"source\":{"
            "\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"aW1n\"}},"
            "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":"
            "\"application/pdf\",\"data\":\"cGRm\"},\"title\":\"q.pdf\"}]},"
            "{\"type\":\"tool_result\",\"tool_use_id\":\"i.2\",\"content\":[{\"type\":"
            "\"text\",\"text\":\"The tool failed.\"}],\"is_error\":true,"
            "\"cache_control\":{\"type\":\"ephemeral\"}}]}]}");
}
END_TEST

START_TEST(what_another_model_said_is_made_from_its_items_with_ids_that_are_accepted)
{
    kit_ask(PROMPT(
        MESSAGES(USER(TEXT_ITEM("go")),
                 ASSISTANT(TEXT_ITEM("I will."), USE_ITEM("call:1", "a", " {\"x\": 1}"),
                           USE_ITEM("c2", "a", "{broken")),
                 USER(RESULT_ITEM("call:1", "a", TEXT_ITEM("1")),
                      RESULT_ITEM("c2", "a", TEXT_ITEM(" "))))));
    const char *at = strstr(net.body.data, "{\"role\":\"assistant\"");
    ck_assert_str_eq(
        at, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I "
            "will.\"},{\"type\":\"tool_use\",\"id\":\"call_3a1\",\"name\":\"a\","
            "\"input\": {\"x\": 1}},{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"a\","
            "\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
            "\"tool_use_id\":\"call_3a1\",\"content\":[{\"type\":\"text\",\"text\":"
            "\"1\"}]},{\"type\":\"tool_result\",\"tool_use_id\":\"c2\",\"content\":[],"
            "\"cache_control\":{\"type\":\"ephemeral\"}}]}]}");
}
END_TEST

START_TEST(messages_without_content_are_left_out)
{
    kit_ask(PROMPT(MESSAGES(USER(TEXT_ITEM("a")), RAW_ASSISTANT("[ ]", TEXT_ITEM("x")),
                            USER(TEXT_ITEM(" \n"), TEXT_ITEM("b")),
                            ASSISTANT(TEXT_ITEM("")), USER(TEXT_ITEM("\t")))));
    ck_assert_str_eq(
        strstr(net.body.data, "\"messages\""),
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}"
        ",{\"type\":\"text\",\"text\":\"b\",\"cache_control\":{\"type\":\"ephemeral\"}}]}"
        "]}");
}
END_TEST

START_TEST(a_raw_turn_that_is_broken_is_made_from_its_items)
{
    kit_ask(PROMPT(MESSAGES(USER(TEXT_ITEM("a")), RAW_ASSISTANT("[{]", TEXT_ITEM("x")),
                            USER(TEXT_ITEM("b")))));
    ck_assert_ptr_nonnull(strstr(net.body.data, "{\"role\":\"assistant\",\"content\":[{"
                                                "\"type\":\"text\",\"text\":\"x\"}]}"));
}
END_TEST

START_TEST(text_that_is_not_utf8_or_has_control_characters_is_sent_as_valid_json)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"\x01\x1f\"\\\n\t", "\"\\u0001\\u001f\\\"\\\\\\n\\u0009\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
         "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"a\xff\x62", "\"a\xef\xbf\xbd\x62\""},
        {"a\xc3", "\"a\xef\xbf\xbd\""},
        {"\xed\xa0\x80x", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\""},
        {"\xc0\xafx", "\"\xef\xbf\xbd\xef\xbf\xbdx\""},
        {"\xf4\x90\x80\x80x", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char want[128];
        snprintf(want, sizeof want, "\"text\":%s,\"cache", cases[i].json);
        kit_ask(PROMPT(MESSAGES(USER(TEXT_ITEM(cases[i].text)))));
        ck_assert_msg(strstr(net.body.data, want) != NULL, "%zu %s", i, net.body.data);
    }
}
END_TEST

START_TEST(a_request_of_more_than_64_mib_is_refused)
{
    size_t len = (size_t)64 << 20;
    char *big = malloc(len + 1);
    memset(big, 'x', len);
    big[len] = '\0';
    ck_assert_int_eq(kit_ask(PROMPT(MESSAGES(USER(TEXT_ITEM(big))))), MCPLUG_ETOOBIG);
    ck_assert_str_eq(kit.err.text, "the conversation is longer than 64 MiB");
    big[len - 1024] = '\0';
    ck_assert_int_eq(kit_ask(PROMPT(MESSAGES(USER(TEXT_ITEM(big))))), MCPLUG_OK);
    free(big);
}
END_TEST

START_TEST(tokens_are_counted_without_an_answer)
{
    ck_assert_int_eq(kit_count(HELLO), MCPLUG_OK);
    ck_assert_str_eq(net.url.data, "https://api.anthropic.com/v1/messages/count_tokens");
    ck_assert_ptr_null(strstr(net.body.data, "max_tokens"));
    ck_assert_ptr_null(strstr(net.body.data, "stream"));
    feed_head(200, "application/json");
    feed("{\"input_");
    feed("tokens\": 17}");
    feed_done(0, 0);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_int_eq(told.why.code, 0);
    ck_assert_uint_eq(told.usage.input, 17);
    ck_assert_int_eq(told.n_raws, 0);

    ck_assert_int_eq(kit_count(HELLO), MCPLUG_OK);
    feed_head(200, "application/json");
    feed("{\"input_tokens\":-1}");
    feed_done(0, 0);
    ck_assert_int_eq(told.why.code, MCPLUG_EPROTO);
}
END_TEST

/* ---- settings ---- */

START_TEST(the_key_of_the_environment_is_for_the_api_and_this_machine_alone)
{
    setenv("ANTHROPIC_API_KEY", "sk-env", 1);
    static const struct {
        const char *url, *sent;
    } cases[] = {
        {"https://api.anthropic.com", "x-api-key: sk-env"},
        {"http://127.0.0.1:8080", "x-api-key: sk-env"},
        {"https://gateway.example", NULL},
        {"https://api.anthropic.com.example", NULL},
        {"http://api.anthropic.com", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_setting("url", cases[i].url);
        ck_assert_msg(kit_open() == MCPLUG_OK, "%s", kit.err.text);
        kit_ask(HELLO);
        ck_assert_int_eq(strstr(net.headers.data, "sk-env") != NULL,
                         cases[i].sent != NULL);
        kit_close();
    }
    unsetenv("ANTHROPIC_API_KEY");
}
END_TEST

START_TEST(a_missing_key_is_reported_before_a_request)
{
    ck_assert_int_eq(kit_open(), MCPLUG_EAUTH);
    ck_assert_str_eq(kit.err.text, "there is no API key: set apiKey, or the environment "
                                   "variable ANTHROPIC_API_KEY");
    kit_close();
    kit.settings = mp_props_new();
    mp_props_put(kit.settings, "headers", "Authorization", "Bearer x");
    ck_assert_int_eq(kit_open(), MCPLUG_OK);
    kit_ask(HELLO);
    ck_assert_ptr_null(strstr(net.headers.data, "x-api-key"));
}
END_TEST

START_TEST(a_key_with_control_characters_is_refused_and_not_shown)
{
    kit_setting("apiKey", "sk-1\nHost: x");
    ck_assert_int_eq(kit_open(), MCPLUG_ECONFIG);
    ck_assert_ptr_null(strstr(kit.err.text, "sk-1"));
}
END_TEST

START_TEST(the_base_of_the_url_may_have_slashes_a_path_and_the_version)
{
    static const struct {
        const char *url, *to;
    } cases[] = {
        {"http://127.0.0.1:1/", "http://127.0.0.1:1/v1/messages"},
        {"http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/messages"},
        {"http://127.0.0.1:1/v1//", "http://127.0.0.1:1/v1/messages"},
        {"http://127.0.0.1:1/proxy", "http://127.0.0.1:1/proxy/v1/messages"},
        {"http://127.0.0.1:1/xv1", "http://127.0.0.1:1/xv1/v1/messages"},
        {"http://v1", "http://v1/v1/messages"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_setting("url", cases[i].url);
        kit_open();
        kit_ask(HELLO);
        ck_assert_str_eq(net.url.data, cases[i].to);
        kit_close();
    }
    kit_setting("url", "https://api.anthropic.com/v1?x=1");
    ck_assert_int_eq(kit_open(), MCPLUG_ECONFIG);
}
END_TEST

START_TEST(version_and_length_of_answers_are_settings)
{
    kit_setting("apiKey", "k");
    kit_setting("version", "2023-06-01");
    kit_setting("maxTokens", "99");
    kit_open();
    kit_ask(HELLO);
    ck_assert_ptr_nonnull(strstr(net.headers.data, "anthropic-version: 2023-06-01\n"));
    ck_assert_ptr_nonnull(strstr(net.body.data, "\"max_tokens\":99,"));
}
END_TEST

/* ---- answers ---- */

START_TEST(a_text_is_told_piece_by_piece_and_sent_back_as_it_came)
{
    kit_ask(HELLO);
    feed_head(200, "text/event-stream");
    feed(START BLOCK(0, EMPTY_TEXT) TEXT(0, "He"));
    ck_assert_str_eq(told.text.data, "He");
    feed(DATA("{\"type\": \"ping\"}") TEXT(0, "llo \\\"\\u00e9\\\"\\n"));
    ck_assert_str_eq(told.text.data, "Hello \"\xc3\xa9\"\n");
    ck_assert_int_eq(told.n_ends, 0);
    ck_assert_uint_eq(told.usage.input, 330);
    feed(BLOCK_STOP(0) STOP("end_turn"));
    feed_done(0, 0);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_int_eq(told.why.code, 0);
    ck_assert_int_eq(told.stop, MCPLUG_STOP_END);
    ck_assert_str_eq(told.raw.data,
                     "[{\"type\":\"text\",\"text\":\"Hello \\\"\\u00e9\\\"\\n\"}]");
    ck_assert_uint_eq(told.usage.input, 330);
    ck_assert_uint_eq(told.usage.input_cached, 300);
    ck_assert_uint_eq(told.usage.input_to_cache, 20);
    ck_assert_uint_eq(told.usage.output, 42);
}
END_TEST

#define THINKS                                                                           \
    START BLOCK(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")       \
        DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"Hm\\ud83d\"}")             \
            DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"\\ude00.\"}")          \
                DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"EqQ\"}")         \
                    DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"B+/=\"}")    \
                        BLOCK_STOP(0) BLOCK(1, EMPTY_TEXT) TEXT(1, "I look.")            \
                            BLOCK_STOP(1)
#define CALLS                                                                            \
    BLOCK(2, "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"read\",\"input\":{}," \
             "\"caller\":{\"type\":\"direct\"}}")                                        \
    DELTA(2, "{\"type\":\"input_json_delta\",\"partial_json\":\"\"}")                    \
    DELTA(2, "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"p\\\": \\\"a\"}")   \
    DELTA(2, "{\"type\":\"input_json_delta\",\"partial_json\":\"\\u00e9\\\\n\\\"}\"}")   \
    BLOCK_STOP(2)                                                                        \
    BLOCK(3, "{\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"now\",\"input\":{}}") \
    BLOCK_STOP(3)

START_TEST(thoughts_and_calls_are_told_and_the_turn_is_kept_with_its_signature)
{
    kit_stream(THINKS CALLS STOP("tool_use"));
    ck_assert_str_eq(told.thought.data, "Hm\xf0\x9f\x98\x80.");
    ck_assert_str_eq(told.text.data, "I look.");
    ck_assert_str_eq(told.calls.data, "toolu_1 read {\"p\": \"a\xc3\xa9\\n\"}\n"
                                      "toolu_2 now {}\n");
    ck_assert_str_eq(told.order.data, "htcr");
    ck_assert_int_eq(told.stop, MCPLUG_STOP_TOOLS);
    ck_assert_str_eq(
        told.raw.data,
        "[{\"type\":\"thinking\",\"thinking\":\"Hm\\ud83d\\ude00.\",\"signature\":"
        "\"EqQB+/=\"},{\"type\":\"text\",\"text\":\"I look.\"},{\"type\":\"tool_use\","
        "\"id\":\"toolu_1\",\"name\":\"read\",\"caller\":{\"type\":\"direct\"},"
        "\"input\":{\"p\": \"a\xc3\xa9\\n\"}},{\"type\":\"tool_use\",\"id\":\"toolu_2\","
        "\"name\":\"now\",\"input\":{}}]");
}
END_TEST

START_TEST(a_stream_may_be_cut_anywhere)
{
    kit_every_cut(THINKS CALLS STOP("tool_use"));
}
END_TEST

START_TEST(what_is_not_known_is_skipped_and_kept_in_the_turn)
{
    kit_stream(START "event: future\n" DATA("{\"type\":\"future\",\"x\":[1]}")
                   DATA("[1,2]") DATA("\"text\"") DATA("7")
                       BLOCK(0, "{\"type\":\"redacted_thinking\",\"data\":\"abc=\"}")
                           DELTA(0, "{\"type\":\"future_delta\",\"x\":1}") BLOCK_STOP(0)
                               BLOCK(1, "{\"type\":\"novel\",\"n\":{\"a\":[1,{}]}}")
                                   BLOCK_STOP(1) STOP("future_reason"));
    ck_assert_int_eq(told.why.code, 0);
    ck_assert_int_eq(told.stop, MCPLUG_STOP_END);
    ck_assert_str_eq(told.raw.data, "[{\"type\":\"redacted_thinking\",\"data\":\"abc=\"},"
                                    "{\"type\":\"novel\",\"n\":{\"a\":[1,{}]}}]");
    ck_assert_str_eq(told.text.data, "");
}
END_TEST

START_TEST(citations_stay_with_their_text)
{
    kit_stream(START BLOCK(0, "{\"type\":\"text\",\"text\":\"\",\"citations\":[]}") TEXT(
        0, "x") DELTA(0, "{\"type\":\"citations_delta\",\"citation\":{\"a\":1}}")
                   DELTA(0, "{\"type\":\"citations_delta\",\"citation\":{\"b\":2}}")
                       BLOCK_STOP(0) STOP("end_turn"));
    ck_assert_str_eq(told.raw.data, "[{\"type\":\"text\",\"text\":\"x\",\"citations\":["
                                    "{\"a\":1},{\"b\":2}]}]");
}
END_TEST

START_TEST(each_reason_to_stop_is_told_apart)
{
    static const struct {
        const char *stream;
        enum mcplug_stop stop;
    } cases[] = {
        {STOP("end_turn"), MCPLUG_STOP_END},
        {STOP("stop_sequence"), MCPLUG_STOP_END},
        {STOP("max_tokens"), MCPLUG_STOP_LENGTH},
        {STOP("pause_turn"), MCPLUG_STOP_PAUSED},
        {STOP("refusal"), MCPLUG_STOP_REFUSED},
        {STOP("model_context_window_exceeded"), MCPLUG_STOP_FULL},
        {CALLS STOP("tool_use"), MCPLUG_STOP_TOOLS},
        {CALLS STOP("end_turn"), MCPLUG_STOP_TOOLS},
        {CALLS STOP("max_tokens"), MCPLUG_STOP_LENGTH},
        {CALLS DATA("{\"type\":\"message_stop\"}"), MCPLUG_STOP_TOOLS},
        {STOP("tool_use"), MCPLUG_STOP_END},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_stream(cases[i].stream);
        ck_assert_int_eq(told.why.code, 0);
        ck_assert_msg(told.stop == cases[i].stop, "%zu: %d", i, (int)told.stop);
    }
}
END_TEST

START_TEST(arguments_that_are_not_json_are_told_as_they_are_and_sent_back_empty)
{
    kit_stream(
        BLOCK(0, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"a\",\"input\":{}}")
            DELTA(0, "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"p\"}")
                BLOCK_STOP(0) STOP("max_tokens"));
    ck_assert_str_eq(told.calls.data, "t a {\"p\n");
    ck_assert_str_eq(told.raw.data, "[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"a\","
                                    "\"input\":{}}]");
}
END_TEST

START_TEST(blocks_without_an_end_and_arguments_in_the_start_are_accepted)
{
    kit_stream(BLOCK(0, "{\"type\":\"text\",\"text\":\"Hi\"}")
                   BLOCK(1, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"a\","
                            "\"input\":{\"x\":1}}") STOP("tool_use"));
    ck_assert_str_eq(told.text.data, "Hi");
    ck_assert_str_eq(told.calls.data, "t a {\"x\":1}\n");
    ck_assert_str_eq(told.raw.data,
                     "[{\"type\":\"text\",\"text\":\"Hi\"},{\"type\":\"tool_use\",\"id\":"
                     "\"t\",\"name\":\"a\",\"input\":{\"x\":1}}]");
}
END_TEST

START_TEST(texts_without_a_visible_character_are_not_sent_back)
{
    kit_stream(BLOCK(0, EMPTY_TEXT) TEXT(0, " \\n\\t") BLOCK_STOP(0) BLOCK(1, EMPTY_TEXT)
                   BLOCK_STOP(1) STOP("end_turn"));
    ck_assert_str_eq(told.text.data, " \n\t");
    ck_assert_str_eq(told.raw.data, "[]");
}
END_TEST

START_TEST(an_answer_that_is_one_document_is_read_as_a_stream_is)
{
    kit_answer("application/json",
               "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}, "
               "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"a\",\"input\":{\"x\":[1]}}"
               "],\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":5,"
               "\"output_tokens\":6}}",
               9);
    ck_assert_int_eq(told.why.code, 0);
    ck_assert_str_eq(told.text.data, "Hi");
    ck_assert_str_eq(told.calls.data, "t a {\"x\":[1]}\n");
    ck_assert_int_eq(told.stop, MCPLUG_STOP_TOOLS);
    ck_assert_uint_eq(told.usage.input, 5);
    ck_assert_uint_eq(told.usage.output, 6);
    kit_answer("application/json", "{\"object\":\"chat.completion\"}", 0);
    ck_assert_int_eq(told.why.code, MCPLUG_EPROTO);
    kit_answer("application/json", "{\"type\":", 0);
    ck_assert_int_eq(told.why.code, MCPLUG_EPROTO);
    kit_answer("text/html", "<html>", 0);
    ck_assert_int_eq(told.why.code, MCPLUG_EPROTO);
}
END_TEST

/* ---- how streams end ---- */

START_TEST(a_stream_that_ends_too_early_is_an_error_worth_a_retry)
{
    kit_stream(START BLOCK(0, EMPTY_TEXT) TEXT(0, "He"));
    ck_assert_int_eq(told.why.code, MCPLUG_ECLOSED);
    ck_assert_str_eq(told.why.text, "the answer broke off");
    ck_assert_uint_eq(told.why.flags & MCPLUG_ERROR_RETRY, MCPLUG_ERROR_RETRY);
    ck_assert_str_eq(told.text.data, "He");
    kit_stream("");
    ck_assert_int_eq(told.why.code, MCPLUG_ECLOSED);
}
END_TEST

START_TEST(a_stream_without_message_stop_is_complete_when_the_reason_was_there)
{
    kit_stream(BLOCK(0, EMPTY_TEXT) TEXT(0, "He") DATA(
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}"));
    ck_assert_int_eq(told.why.code, 0);
    ck_assert_int_eq(told.stop, MCPLUG_STOP_LENGTH);
}
END_TEST

START_TEST(a_complete_answer_does_not_wait_for_a_connection_that_stays_open)
{
    kit_ask(HELLO);
    feed_head(200, "text/event-stream");
    feed(BLOCK(0, EMPTY_TEXT) TEXT(0, "He") STOP("end_turn"));
    ck_assert_int_eq(told.n_ends, 0);
    feed(TEXT(0, "more") DATA("nonsense"));
    kit_pass(1000);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_int_eq(told.why.code, 0);
    ck_assert_str_eq(told.text.data, "He");
    ck_assert(!net.is_running);
}
END_TEST

START_TEST(a_connection_that_breaks_behind_a_complete_answer_does_no_harm)
{
    kit_ask(HELLO);
    feed_head(200, "text/event-stream");
    feed(BLOCK(0, EMPTY_TEXT) TEXT(0, "He") STOP("end_turn"));
    feed_done(MCPLUG_ECLOSED, ECONNRESET);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_int_eq(told.why.code, 0);
}
END_TEST

START_TEST(silence_of_five_minutes_ends_a_request)
{
    kit_ask(HELLO);
    kit_pass(299999);
    ck_assert_int_eq(told.n_ends, 0);
    feed_head(200, "text/event-stream");
    kit_pass(299999);
    feed(DATA("{\"type\":\"ping\"}"));
    kit_pass(299999);
    ck_assert_int_eq(told.n_ends, 0);
    kit_pass(1);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_int_eq(told.why.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(told.why.text, "Anthropic: no answer for 300 s");
    ck_assert_uint_ne(told.why.flags & MCPLUG_ERROR_RETRY, 0);
    ck_assert(!net.is_running);
}
END_TEST

START_TEST(lost_connections_are_worth_a_retry_and_forbidden_ones_are_not)
{
    static const struct {
        int code, os_error, retry;
    } cases[] = {
        {MCPLUG_ECLOSED, ECONNRESET, 1},
        {MCPLUG_ETIMEDOUT, ETIMEDOUT, 1},
        {MCPLUG_EREFUSED, ECONNREFUSED, 1},
        {MCPLUG_EREFUSED, 0, 0}, /* TLS, policy */
        {MCPLUG_EPROTO, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_ask(HELLO);
        feed_done(cases[i].code, cases[i].os_error);
        ck_assert_int_eq(told.why.code, cases[i].code);
        ck_assert_int_eq((told.why.flags & MCPLUG_ERROR_RETRY) != 0, cases[i].retry);
    }
}
END_TEST

START_TEST(a_request_can_be_dropped_at_any_time)
{
    kit_ask(HELLO);
    kit_drop();
    kit_ask(HELLO);
    feed_head(200, "text/event-stream");
    feed(THINKS);
    kit_drop();
    kit_ask(HELLO);
    feed_head(200, "text/event-stream");
    feed(STOP("end_turn"));
    kit_drop();
    ck_assert_int_eq(told.n_ends, 0);
    net.fails = MCPLUG_EINVAL;
    ck_assert_int_eq(kit_ask(HELLO), MCPLUG_EINVAL);
}
END_TEST

/* ---- errors ---- */

#define ERROR(type, message)                                                             \
    "{\"type\":\"error\",\"error\":{\"type\":\"" type "\",\"message\":\"" message        \
    "\"},\"request_id\":\"req_1\"}"

START_TEST(errors_of_the_api_have_its_words_and_say_what_they_are_worth)
{
    static const struct {
        int status;
        const char *body;
        int code, retry;
        const char *text;
    } cases[] = {
        {400, ERROR("invalid_request_error", "tools.0: bad"), MCPLUG_EPEER, 0,
         "Anthropic: tools.0: bad"},
        {400, ERROR("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum"),
         MCPLUG_ETOOBIG, 0, "Anthropic: prompt is too long: 3 tokens > 2 maximum"},
        {400,
         ERROR("invalid_request_error",
               "input length and `max_tokens` exceed context limit: 1 + 2 > 2"),
         MCPLUG_ETOOBIG, 0,
         "Anthropic: input length and `max_tokens` exceed context limit: 1 + 2 > 2"},
        {401, ERROR("authentication_error", "invalid x-api-key sk-secret"), MCPLUG_EAUTH,
         0, "Anthropic: invalid x-api-key ***"},
        {401, ERROR("x", "\\u0000sk-secretsk-secret is sk-secre"), MCPLUG_EAUTH, 0,
         "Anthropic: ****** is sk-secre"},
        {400, "{\"detail\": \"no such route\"}", MCPLUG_EPEER, 0,
         "Anthropic: {\"detail\": \"no such route\"}"},
        {403, ERROR("permission_error", "no"), MCPLUG_EAUTH, 0, "Anthropic: no"},
        {404, ERROR("not_found_error", "model: m-1"), MCPLUG_EPEER, 0,
         "Anthropic: model: m-1"},
        {413, "<html>", MCPLUG_ETOOBIG, 0, "Anthropic: <html>"},
        {429, ERROR("rate_limit_error", "slow\\ndown"), MCPLUG_EOVERLOADED, 1,
         "Anthropic: slow down"},
        {500, ERROR("api_error", "oops"), MCPLUG_EPEER, 1, "Anthropic: oops"},
        {502, "", MCPLUG_EPEER, 1, "Anthropic: HTTP 502 Bad Gateway"},
        {503, "{}", MCPLUG_EOVERLOADED, 1, "Anthropic: HTTP 503 Service Unavailable"},
        {529, ERROR("overloaded_error", "Overloaded"), MCPLUG_EOVERLOADED, 1,
         "Anthropic: Overloaded"},
        {408, "{\"error\":\"late\"}", MCPLUG_EPEER, 1, "Anthropic: late"},
        {409, "[]", MCPLUG_EPEER, 1, "Anthropic: HTTP 409 Conflict"},
        {302, "", MCPLUG_EPEER, 0, "Anthropic: HTTP 302 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_ask(HELLO);
        feed_head(cases[i].status, "application/json");
        feed(cases[i].body);
        ck_assert_int_eq(told.n_ends, 0);
        feed_done(i % 2 == 0 ? 0 : MCPLUG_ECLOSED, 0);
        ck_assert_msg(told.why.code == cases[i].code, "%zu: %d", i, told.why.code);
        ck_assert_str_eq(told.why.text, cases[i].text);
        ck_assert_int_eq(told.why.peer_status, cases[i].status);
        ck_assert_msg(((told.why.flags & MCPLUG_ERROR_RETRY) != 0) == cases[i].retry,
                      "%zu", i);
        ck_assert(!told.has_retry_after);
    }
}
END_TEST

START_TEST(when_to_ask_again_is_told_as_the_api_says)
{
    static const struct {
        int64_t seconds_ms;
        const char *name, *value;
        int64_t told_ms;
        int retry;
    } cases[] = {
        {3000, NULL, NULL, 3000, 1},
        {3000, "retry-after-ms", "250", 250, 1},
        {3000, "retry-after-ms", "12.5", 12, 1},
        {3000, "retry-after-ms", "soon", 3000, 1},
        {3000, "retry-after-ms", "-1", 3000, 1},
        {-1, "retry-after-ms", "123456789", -1, 1},
        {-1, "x-should-retry", "false", -1, 0},
        {-1, "x-should-retry", "true", -1, 1},
        {-1, "x-should-retry", "maybe", -1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_ask(HELLO);
        feed_head_with(429, "application/json", cases[i].seconds_ms, cases[i].name,
                       cases[i].value);
        feed_done(0, 0);
        ck_assert_int_eq(told.has_retry_after, cases[i].told_ms >= 0);
        if (cases[i].told_ms >= 0)
            ck_assert_uint_eq(told.retry_after, (uint64_t)cases[i].told_ms);
        ck_assert_int_eq((told.why.flags & MCPLUG_ERROR_RETRY) != 0, cases[i].retry);
    }
    kit_ask(HELLO);
    feed_head_with(400, "application/json", -1, "x-should-retry", "true");
    feed_done(0, 0);
    ck_assert_uint_ne(told.why.flags & MCPLUG_ERROR_RETRY, 0);
}
END_TEST

START_TEST(errors_in_the_stream_count_as_those_of_http)
{
    static const struct {
        const char *body;
        int code, status, retry;
    } cases[] = {
        {ERROR("overloaded_error", "Overloaded"), MCPLUG_EOVERLOADED, 529, 1},
        {ERROR("rate_limit_error", "slow"), MCPLUG_EOVERLOADED, 429, 1},
        {ERROR("authentication_error", "key"), MCPLUG_EAUTH, 401, 0},
        {ERROR("invalid_request_error", "prompt is too long"), MCPLUG_ETOOBIG, 400, 0},
        {ERROR("novel_error", "what"), MCPLUG_EPEER, 500, 1},
        {"{\"type\":\"error\"}", MCPLUG_EPEER, 500, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_ask(HELLO);
        feed_head(200, "text/event-stream");
        feed(START "event: error\ndata: ");
        feed(cases[i].body);
        feed("\n\n");
        ck_assert_int_eq(told.n_ends, 1);
        ck_assert_int_eq(told.why.code, cases[i].code);
        ck_assert_int_eq(told.why.peer_status, cases[i].status);
        ck_assert_int_eq((told.why.flags & MCPLUG_ERROR_RETRY) != 0, cases[i].retry);
        ck_assert(!net.is_running);
    }
}
END_TEST

START_TEST(an_event_that_is_not_json_ends_the_request)
{
    kit_stream(START DATA("{\"type\":\"content_block_start\""));
    ck_assert_int_eq(told.why.code, MCPLUG_EPROTO);
    kit_stream(BLOCK(0, "{\"type\":\"tool_use\",\"id\":\"t\",\"input\":{}}")
                   BLOCK_STOP(0));
    ck_assert_int_eq(told.why.code, MCPLUG_EPROTO);
}
END_TEST

START_TEST(the_words_of_an_error_are_cut_between_characters)
{
    char body[2048] = "{\"error\":{\"message\":\"x";
    for (int i = 0; i < 600; i++)
        strcat(body, "\xc3\xa9");
    strcat(body, "\"}}");
    kit_ask(HELLO);
    feed_head(400, "application/json");
    feed(body);
    feed_done(0, 0);
    size_t n = strlen(told.why.text);
    ck_assert_uint_le(n, 400 + strlen("Anthropic: "));
    ck_assert_uint_ge(n, 400);
    ck_assert_str_eq(told.why.text + n - 2, "\xc3\xa9");
}
END_TEST

/* ---- limits ---- */

static void feed_many(char c, size_t n)
{
    char piece[65536];
    memset(piece, c, sizeof piece);
    for (; n > 0; n -= n < sizeof piece ? n : sizeof piece)
        feed_bytes(piece, n < sizeof piece ? n : sizeof piece);
}

START_TEST(an_event_of_more_than_16_mib_ends_the_request)
{
    for (int over = 0; over < 2; over++) {
        kit_ask(HELLO);
        feed_head(200, "text/event-stream");
        feed("data: \"");
        feed_many('x', ((size_t)16 << 20) - 2 + (size_t)over);
        feed("\"\n\n");
        ck_assert_int_eq(told.why.code, over ? MCPLUG_ETOOBIG : 0);
    }
    ck_assert_str_eq(told.why.text, "an event of the answer is longer than 16 MiB");
}
END_TEST

START_TEST(an_answer_of_more_than_32_mib_ends_the_request)
{
    kit_ask(HELLO);
    feed_head(200, "text/event-stream");
    feed(BLOCK(0, EMPTY_TEXT));
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(told.n_ends, 0);
        feed("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
             "\"text_delta\",\"text\":\"");
        feed_many('x', (size_t)8 << 20);
        feed("\"}}\n\n");
    }
    ck_assert_int_eq(told.why.code, MCPLUG_ETOOBIG);
    ck_assert_str_eq(told.why.text, "the answer is longer than 32 MiB");

    kit_ask(HELLO);
    feed_head(200, "application/json");
    feed_many(' ', ((size_t)32 << 20) + 1);
    ck_assert_int_eq(told.why.code, MCPLUG_ETOOBIG);
}
END_TEST

START_TEST(an_answer_of_more_than_4096_parts_ends_the_request)
{
    for (int n = 4096; n <= 4097; n++) {
        kit_ask(HELLO);
        feed_head(200, "text/event-stream");
        for (int i = 0; i < n; i++)
            feed(BLOCK(0, "{\"type\":\"text\",\"text\":\"x\"}") BLOCK_STOP(0));
        ck_assert_int_eq(told.n_ends, n - 4096);
    }
    ck_assert_int_eq(told.why.code, MCPLUG_ETOOBIG);
    ck_assert_str_eq(told.why.text, "the answer has more than 4096 parts");
}
END_TEST

START_TEST(of_an_error_no_more_than_64_kib_are_read)
{
    kit_ask(HELLO);
    feed_head(500, "text/plain");
    feed_many('x', 65536);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert(!net.is_running);
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
    if (kit_ask(PROMPT(TOOLS(TOOL("a", "b", "{}")), MESSAGES(USER(TEXT_ITEM("x"))))) !=
        MCPLUG_OK) {
        ck_assert_int_eq(kit.err.code, MCPLUG_ENOMEM);
        return;
    }
    feed_head(200, "text/event-stream");
    feed(THINKS);
    feed(CALLS STOP("tool_use"));
    feed_done(0, 0);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_msg(told.why.code == 0 || told.why.code == MCPLUG_ENOMEM, "%s",
                  told.why.text);
    if (told.why.code == 0)
        ck_assert_int_eq(told.stop, MCPLUG_STOP_TOOLS);
}

static void refused_life(void)
{
    kit_setting("apiKey", "sk-secret");
    kit_forget();
    if (kit_open() != MCPLUG_OK || kit_ask(HELLO) != MCPLUG_OK)
        return;
    feed_head(429, "application/json");
    feed(ERROR("rate_limit_error", "slow"));
    feed_done(0, 0);
    ck_assert_int_eq(told.n_ends, 1);
    ck_assert_int_eq(told.why.code, MCPLUG_EOVERLOADED);
}

START_TEST(memory_may_fail_anywhere)
{
    kit_torture(whole_life);
    kit_torture(refused_life);
}
END_TEST

int main(void)
{
    char path[4096];
    const char *build = getenv("MCPLUG_BUILD");
    snprintf(path, sizeof path, "%s/plugins/.libs/anthropic.so", build ? build : ".");
    void *so = dlopen(path, RTLD_NOW);
    plugin = so != NULL ? dlsym(so, MCPLUG_SYMBOL) : NULL;
    if (plugin == NULL) {
        printf("%s: %s\n", path, dlerror());
        return 1;
    }
    Suite *s = suite_create("anthropic_anthropic");
    TCase *requests = tcase_create("requests"), *settings = tcase_create("settings");
    TCase *answers = tcase_create("answers"), *ends = tcase_create("ends");
    tcase_set_timeout(answers, 120);
    tcase_set_timeout(ends, 120);
    tcase_add_checked_fixture(requests, set_up_open, tear_down);
    tcase_add_test(requests, a_question_becomes_a_request);
    tcase_add_test(requests,
                   the_last_tool_and_the_last_block_of_the_user_are_marked_for_the_cache);
    tcase_add_test(requests, results_of_tools_are_one_message_with_images_and_documents);
    tcase_add_test(
        requests,
        what_another_model_said_is_made_from_its_items_with_ids_that_are_accepted);
    tcase_add_test(requests, messages_without_content_are_left_out);
    tcase_add_test(requests, a_raw_turn_that_is_broken_is_made_from_its_items);
    tcase_add_test(requests,
                   text_that_is_not_utf8_or_has_control_characters_is_sent_as_valid_json);
    tcase_add_test(requests, a_request_of_more_than_64_mib_is_refused);
    tcase_add_test(requests, tokens_are_counted_without_an_answer);
    tcase_add_checked_fixture(settings, set_up, tear_down);
    tcase_add_test(settings,
                   the_key_of_the_environment_is_for_the_api_and_this_machine_alone);
    tcase_add_test(settings, a_missing_key_is_reported_before_a_request);
    tcase_add_test(settings, a_key_with_control_characters_is_refused_and_not_shown);
    tcase_add_test(settings, the_base_of_the_url_may_have_slashes_a_path_and_the_version);
    tcase_add_test(settings, version_and_length_of_answers_are_settings);
    tcase_add_test(settings, memory_may_fail_anywhere);
    tcase_add_checked_fixture(answers, set_up_open, tear_down);
    tcase_add_test(answers, a_text_is_told_piece_by_piece_and_sent_back_as_it_came);
    tcase_add_test(answers,
                   thoughts_and_calls_are_told_and_the_turn_is_kept_with_its_signature);
    tcase_add_test(answers, a_stream_may_be_cut_anywhere);
    tcase_add_test(answers, what_is_not_known_is_skipped_and_kept_in_the_turn);
    tcase_add_test(answers, citations_stay_with_their_text);
    tcase_add_test(answers, each_reason_to_stop_is_told_apart);
    tcase_add_test(answers,
                   arguments_that_are_not_json_are_told_as_they_are_and_sent_back_empty);
    tcase_add_test(answers,
                   blocks_without_an_end_and_arguments_in_the_start_are_accepted);
    tcase_add_test(answers, texts_without_a_visible_character_are_not_sent_back);
    tcase_add_test(answers, an_answer_that_is_one_document_is_read_as_a_stream_is);
    tcase_add_checked_fixture(ends, set_up_open, tear_down);
    tcase_add_test(ends, a_stream_that_ends_too_early_is_an_error_worth_a_retry);
    tcase_add_test(ends,
                   a_stream_without_message_stop_is_complete_when_the_reason_was_there);
    tcase_add_test(ends,
                   a_complete_answer_does_not_wait_for_a_connection_that_stays_open);
    tcase_add_test(ends, a_connection_that_breaks_behind_a_complete_answer_does_no_harm);
    tcase_add_test(ends, silence_of_five_minutes_ends_a_request);
    tcase_add_test(ends, lost_connections_are_worth_a_retry_and_forbidden_ones_are_not);
    tcase_add_test(ends, a_request_can_be_dropped_at_any_time);
    tcase_add_test(ends, errors_of_the_api_have_its_words_and_say_what_they_are_worth);
    tcase_add_test(ends, when_to_ask_again_is_told_as_the_api_says);
    tcase_add_test(ends, errors_in_the_stream_count_as_those_of_http);
    tcase_add_test(ends, an_event_that_is_not_json_ends_the_request);
    tcase_add_test(ends, the_words_of_an_error_are_cut_between_characters);
    tcase_add_test(ends, an_event_of_more_than_16_mib_ends_the_request);
    tcase_add_test(ends, an_answer_of_more_than_32_mib_ends_the_request);
    tcase_add_test(ends, an_answer_of_more_than_4096_parts_ends_the_request);
    tcase_add_test(ends, of_an_error_no_more_than_64_kib_are_read);
    suite_add_tcase(s, requests);
    suite_add_tcase(s, settings);
    suite_add_tcase(s, answers);
    suite_add_tcase(s, ends);
    return run_to_end(s);
}
