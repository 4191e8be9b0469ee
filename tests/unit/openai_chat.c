/* Chat Completions: what is sent, what comes back, and what servers other than OpenAI's
 * do differently. */
#include "openai_kit.h"

#define DELTA(delta) "data: {'choices':[{'index':0,'delta':" delta "}]}\n\n"
#define CALLS(calls) DELTA("{'tool_calls':[" calls "]}")
#define FINISH(reason)                                                                   \
    "data: {'choices':[{'index':0,'delta':{},'finish_reason':'" reason "'}]}\n\n"
#define DONE "data: [DONE]\n\n"

static void setup(void)
{
    openai_setup("openai-chat");
    openai_open(NULL, NULL);
}

static void teardown(void)
{
    openai_teardown();
}

/* ---- the request ---- */

START_TEST(a_question_is_one_message)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("say \"hello\""))), .max_tokens = 100,
                .system = BYTES("be short")));
    ck_assert_str_eq(net.url.data, "https://api.openai.com/v1/chat/completions");
    HAS(net.headers.data, "Authorization: Bearer sk-secret-key\n");
    HAS(net.headers.data, "Content-Type: application/json\n");
    IS(net.body.data,
       "{'model':'m-1','stream':true,'stream_options':{'include_usage':true},"
       "'max_completion_tokens':100,'messages':[{'role':'system','content':'be short'},"
       "{'role':'user','content':'say \\'hello\\''}]}");
}
END_TEST

START_TEST(tools_are_functions)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x"))),
                TOOLS(TOOL("read", "Reads.", "{\"type\":\"object\"}"),
                      TOOL("list", "Lists.", "{}"))));
    HAS(net.body.data,
        ",'tools':[{'type':'function','function':{'name':'read','description':'Reads.',"
        "'parameters':{'type':'object'}}},{'type':'function','function':{'name':'list',"
        "'description':'Lists.','parameters':{}}}]}");
}
END_TEST

START_TEST(images_and_documents_are_data_urls)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("see"), IMAGE_ITEM("QUJD"),
                              PDF_ITEM("SlBH", NULL), PDF_ITEM("SlBH", "a\"b.pdf")))));
    HAS(net.body.data,
        "{'role':'user','content':[{'type':'text','text':'see'},"
        "{'type':'image_url','image_url':{'url':'data:image/png;base64,QUJD'}},"
        "{'type':'file','file':{'filename':'document.pdf',"
        "'file_data':'data:application/pdf;base64,SlBH'}},"
        "{'type':'file','file':{'filename':'a\\'b.pdf',"
        "'file_data':'data:application/pdf;base64,SlBH'}}]}]}");
}
END_TEST

START_TEST(base64_that_is_none_cannot_leave_its_string)
{
    asks(PROMPT(MESSAGES(USER(IMAGE_ITEM("QU\",\"x\":\n\"JD")))));
    HAS(net.body.data, "'data:image/png;base64,QUxJD'");
}
END_TEST

START_TEST(a_turn_of_another_model_is_made_from_its_parts)
{
    asks(PROMPT(
        MESSAGES(USER(TEXT_ITEM("x")),
                 ASSISTANT(TEXT_ITEM("one"), TEXT_ITEM("two"),
                           USE_ITEM("c1", "read", "{\"a\":1}"), USE_ITEM("c2", "", "")),
                 USER(RESULT_ITEM("c1", "read", TEXT_ITEM("yes")),
                      RESULT_ITEM("c2", "", TEXT_ITEM("no"))))));
    HAS(net.body.data, "{'role':'assistant','content':'one\\n\\ntwo','tool_calls':["
                       "{'id':'c1','type':'function','function':{'name':'read',"
                       "'arguments':'{\\'a\\':1}'}},"
                       "{'id':'c2','type':'function','function':{'name':'unknown',"
                       "'arguments':'{}'}}]},"
                       "{'role':'tool','tool_call_id':'c1','content':'yes'},"
                       "{'role':'tool','tool_call_id':'c2','content':'no'}]}");
}
END_TEST

START_TEST(a_turn_without_text_has_empty_content_and_never_null)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x")), ASSISTANT(USE_ITEM("c", "read", "{}")),
                         USER(RESULT_ITEM("c", "read", TEXT_ITEM("y"))))));
    HAS(net.body.data, "{'role':'assistant','content':'','tool_calls':[");
    LACKS(net.body.data, "null");
}
END_TEST

START_TEST(a_turn_of_the_same_model_is_sent_as_it_came)
{
    asks(PROMPT(MESSAGES(
        USER(TEXT_ITEM("x")),
        RAW_ASSISTANT("{\"role\": \"assistant\", \"odd\":[1 ]}", TEXT_ITEM("not this")),
        USER(TEXT_ITEM("y")))));
    HAS(net.body.data, "},{'role': 'assistant', 'odd':[1 ]},{'role':'user'");
    LACKS(net.body.data, "not this");
}
END_TEST

START_TEST(images_of_results_follow_behind_all_results)
{
    asks(PROMPT(
        MESSAGES(USER(TEXT_ITEM("x")),
                 ASSISTANT(USE_ITEM("c1", "shot", "{}"), USE_ITEM("c2", "read", "{}")),
                 USER(RESULT_ITEM("c1", "shot", TEXT_ITEM("here"), IMAGE_ITEM("QUJD")),
                      RESULT_ITEM("c2", "read", TEXT_ITEM("a"), TEXT_ITEM("b")),
                      TEXT_ITEM("go on")))));
    HAS(net.body.data,
        "{'role':'tool','tool_call_id':'c1','content':'here\\nThe tool returned files, "
        "which follow.'},"
        "{'role':'tool','tool_call_id':'c2','content':'a\\nb'},"
        "{'role':'user','content':[{'type':'text','text':'Returned by the tool shot "
        "(call "
        "c1):'},{'type':'image_url','image_url':{'url':'data:image/png;base64,QUJD'}},"
        "{'type':'text','text':'go on'}]}]}");
}
END_TEST

START_TEST(the_words_of_a_failure_are_sent_as_they_are)
{
    const struct mcplug_item *plain =
        ITEM(.kind = MCPLUG_ITEM_TOOL_RESULT, .id = "c1", .is_error = 1,
             ITEM_LIST(TEXT_ITEM("no such file")));
    const struct mcplug_item *marked =
        ITEM(.kind = MCPLUG_ITEM_TOOL_RESULT, .id = "c2", .is_error = 1,
             ITEM_LIST(TEXT_ITEM("error: none")));
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x")),
                         ASSISTANT(USE_ITEM("c1", "a", "{}"), USE_ITEM("c2", "a", "{}")),
                         USER(plain, marked))));
    HAS(net.body.data, "'content':'no such file'}");
    HAS(net.body.data, "'content':'error: none'}");
}
END_TEST

START_TEST(messages_of_the_user_that_follow_each_other_become_one)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("a")), USER(TEXT_ITEM("b")))));
    HAS(net.body.data, "'messages':[{'role':'user','content':["
                       "{'type':'text','text':'a'},{'type':'text','text':'b'}]}]}");
}
END_TEST

START_TEST(other_servers_get_max_tokens_or_what_the_setting_says)
{
    openai_open("url", "http://localhost:8080/v1/");
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x"))), .max_tokens = 7));
    ck_assert_str_eq(net.url.data, "http://localhost:8080/v1/chat/completions");
    HAS(net.body.data, ",'max_tokens':7,");
    openai_open("maxTokensName", "max_new");
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x"))), .max_tokens = 7));
    HAS(net.body.data, ",'max_new':7,");
    openai_open("maxTokens", "9");
    asks(HELLO);
    HAS(net.body.data, ",'max_completion_tokens':9,");
}
END_TEST

START_TEST(without_a_limit_none_is_sent)
{
    asks(HELLO);
    LACKS(net.body.data, "max_");
}
END_TEST

START_TEST(a_url_is_the_base_that_vendors_name_or_a_host)
{
    static const char *const urls[][2] = {
        {"http://localhost:11434", "http://localhost:11434/v1/chat/completions"},
        {"http://localhost:11434/", "http://localhost:11434/v1/chat/completions"},
        {"https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"},
        {"https://g.example/v1beta/openai/",
         "https://g.example/v1beta/openai/chat/completions"},
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        openai_open("url", urls[i][0]);
        asks(HELLO);
        ck_assert_str_eq(net.url.data, urls[i][1]);
    }
}
END_TEST

START_TEST(usage_need_not_be_asked_for)
{
    openai_open("streamUsage", "false");
    asks(HELLO);
    LACKS(net.body.data, "stream_options");
}
END_TEST

START_TEST(effort_is_sent_if_it_is_set)
{
    openai_open("effort", "low");
    asks(HELLO);
    HAS(net.body.data, ",'reasoning_effort':'low',");
}
END_TEST

START_TEST(openai_needs_a_key_and_others_do_not)
{
    kit_close();
    ck_assert_int_eq(kit_open(), MCPLUG_EAUTH);
    HAS(kit.err.text, "OPENAI_API_KEY");
    kit_setting("url", "https://llm.example/v1");
    ck_assert_int_eq(kit_open(), MCPLUG_OK);
    asks(HELLO);
    LACKS(net.headers.data, "Authorization");
}
END_TEST

START_TEST(the_key_of_the_environment_is_for_openai_alone)
{
    kit_close();
    setenv("OPENAI_API_KEY", "sk-environment", 1);
    ck_assert_int_eq(kit_open(), MCPLUG_OK);
    asks(HELLO);
    HAS(net.headers.data, "Authorization: Bearer sk-environment\n");
    kit_close();
    kit_setting("url", "https://llm.example/v1");
    ck_assert_int_eq(kit_open(), MCPLUG_OK);
    asks(HELLO);
    LACKS(net.headers.data, "sk-environment");
    unsetenv("OPENAI_API_KEY");
}
END_TEST

/* ---- the answer ---- */

START_TEST(text_comes_in_pieces_and_the_turn_is_kept)
{
    hears(DELTA("{'role':'assistant','content':''}") DELTA("{'content':'Gr\\u00fc'}")
              DELTA("{'content':'\\u00df \\ud83d'}") DELTA("{'content':'\\ude00'}")
                  FINISH("stop") "data: {'choices':[],'usage':{'prompt_tokens':12,"
                                 "'completion_tokens':5,'prompt_tokens_details':"
                                 "{'cached_tokens':8}}}\n\n" DONE);
    ends_with(MCPLUG_STOP_END);
    ck_assert_str_eq(told.text.data, "Gr\u00fc\u00df \U0001f600");
    IS(told.raw.data, "{'role':'assistant','content':"
                      "'Gr\\u00fc\\u00df \\ud83d\\ude00'}");
    ck_assert_uint_eq(told.usage.input, 12);
    ck_assert_uint_eq(told.usage.input_cached, 8);
    ck_assert_uint_eq(told.usage.output, 5);
}
END_TEST

START_TEST(calls_come_in_pieces_and_end_in_tools)
{
    hears(CALLS("{'index':0,'id':'c1','type':'function','function':{'name':'read',"
                "'arguments':''}}") CALLS("{'index':0,'function':{'arguments':'{\\'a'}}")
              CALLS("{'index':1,'id':'c2','type':'function','function':{'name':'list',"
                    "'arguments':'{}'}}")
                  CALLS("{'index':0,'function':{'arguments':'\\': 1 }'}}")
                      FINISH("tool_calls") DONE);
    ends_with(MCPLUG_STOP_TOOLS);
    IS(told.calls.data, "c1 read {'a': 1 }\nc2 list {}\n");
    IS(told.raw.data,
       "{'role':'assistant','content':'','tool_calls':["
       "{'id':'c1','type':'function','function':{'name':'read',"
       "'arguments':'{\\'a\\': 1 }'}},"
       "{'id':'c2','type':'function','function':{'name':'list','arguments':'{}'}}]}");
}
END_TEST

START_TEST(a_turn_that_was_told_can_be_sent_back)
{
    hears(DELTA("{'content':'look: \\\\ \\'x\\''}")
              CALLS("{'index':0,'id':'c1','function':{'name':'read','arguments':'{}'}}")
                  FINISH("tool_calls") DONE);
    char *raw = strdup(told.raw.data);
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x")), RAW_ASSISTANT(raw, TEXT_ITEM("-")),
                         USER(RESULT_ITEM("c1", "read", TEXT_ITEM("y"))))));
    ck_assert_ptr_nonnull(strstr(net.body.data, raw));
    free(raw);
}
END_TEST

START_TEST(blanks_between_pieces_of_arguments_are_kept)
{
    hears(CALLS(
        "{'index':0,'id':'c','function':{'name':'say','arguments':'{\\'t\\':\\'a'}}")
              CALLS("{'index':0,'function':{'arguments':' '}}")
                  CALLS("{'index':0,'function':{'arguments':'b\\'}'}}")
                      FINISH("tool_calls") DONE);
    IS(told.calls.data, "c say {'t':'a b'}\n");
}
END_TEST

START_TEST(a_length_that_is_reached_is_told)
{
    hears(DELTA("{'content':'and so'}") FINISH("length") DONE);
    ends_with(MCPLUG_STOP_LENGTH);
}
END_TEST

START_TEST(a_call_that_was_cut_is_dropped_with_its_place_in_the_turn)
{
    hears(CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':'{}'}}")
              CALLS("{'index':1,'id':'c2','function':{'name':'b','arguments':'{\\'x'}}")
                  FINISH("length") DONE);
    ends_with(MCPLUG_STOP_LENGTH);
    IS(told.calls.data, "c1 a {}\n");
    LACKS(told.raw.data, "c2");
}
END_TEST

START_TEST(calls_that_are_complete_count_though_the_length_was_reached)
{
    hears(CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':'{}'}}")
              FINISH("length") DONE);
    ends_with(MCPLUG_STOP_TOOLS);
}
END_TEST

START_TEST(a_filter_and_a_refusal_are_refused)
{
    hears(DELTA("{'content':'x'}") FINISH("content_filter") DONE);
    ends_with(MCPLUG_STOP_REFUSED);
    hears(DELTA("{'refusal':'I will not'}") FINISH("stop") DONE);
    ends_with(MCPLUG_STOP_REFUSED);
    ck_assert_str_eq(told.text.data, "I will not");
}
END_TEST

START_TEST(arguments_that_are_no_json_are_told_and_not_sent_back)
{
    hears(CALLS("{'index':0,'id':'c1','function':{'name':'a b','arguments':'{oops'}}")
              FINISH("tool_calls") DONE);
    ends_with(MCPLUG_STOP_TOOLS);
    ck_assert_str_eq(told.calls.data, "c1 a b {oops\n");
    HAS(told.raw.data, "{'name':'a_b','arguments':'{}'}");
}
END_TEST

/* ---- what other servers do ---- */

START_TEST(quirk_an_index_may_be_missing)
{
    hears(CALLS("{'id':'c1','function':{'name':'a','arguments':'{\\'x\\''}}")
              CALLS("{'function':{'arguments':':1}'}}")
                  CALLS("{'id':'c2','function':{'name':'a','arguments':''}}")
                      CALLS("{'id':'c2','function':{'arguments':'{}'}}")
                          FINISH("tool_calls") DONE);
    IS(told.calls.data, "c1 a {'x':1}\nc2 a {}\n");
}
END_TEST

START_TEST(quirk_index_and_id_may_be_missing)
{
    hears(CALLS("{'function':{'name':'a','arguments':'{}'}},"
                "{'function':{'name':'a','arguments':'{\\'x\\':2}'}},"
                "{'function':{'name':'b','arguments':''}}") FINISH("tool_calls") DONE);
    IS(told.calls.data, "call_1_0 a {}\ncall_1_1 a {'x':2}\ncall_1_2 b \n");
    HAS(told.raw.data, "'id':'call_1_1'");
    HAS(told.raw.data, "{'name':'b','arguments':'{}'}");
}
END_TEST

START_TEST(quirk_an_id_may_be_missing_empty_null_or_the_same_for_all)
{
    hears(CALLS("{'index':0,'function':{'name':'a','arguments':'{}'}}")
              CALLS("{'index':1,'id':'','function':{'name':'b','arguments':'{}'}}") CALLS(
                  "{'index':2,'id':null,'function':{'name':'c','arguments':'{}'}}")
                  CALLS("{'index':3,'id':'z','function':{'name':'d','arguments':'{}'}},"
                        "{'index':4,'id':'z','function':{'name':'e','arguments':'{}'}}")
                      FINISH("tool_calls") DONE);
    ck_assert_str_eq(told.calls.data, "call_1_0 a {}\ncall_1_1 b {}\ncall_1_2 c {}\n"
                                      "z d {}\ncall_1_4 e {}\n");
    HAS(told.raw.data, "'id':'call_1_4'");
}
END_TEST

START_TEST(quirk_ids_that_are_made_up_differ_from_turn_to_turn)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x")), ASSISTANT(USE_ITEM("call_1_0", "a", "{}")),
                         USER(RESULT_ITEM("call_1_0", "a", TEXT_ITEM("y"))))));
    feed_head(200, "text/event-stream");
    feed(quoted(CALLS("{'function':{'name':'a','arguments':'{}'}}") DONE));
    feed_done(0, 0);
    ck_assert_str_eq(told.calls.data, "call_3_0 a {}\n");
}
END_TEST

START_TEST(quirk_all_calls_may_have_the_index_0)
{
    hears(CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':'{'}}")
              CALLS("{'index':0,'function':{'arguments':'}'}}")
                  CALLS("{'index':0,'id':'c2','function':{'name':'a','arguments':'{'}}")
                      CALLS("{'index':0,'function':{'arguments':'}'}}")
                          FINISH("tool_calls") DONE);
    ck_assert_str_eq(told.calls.data, "c1 a {}\nc2 a {}\n");
    hears(CALLS("{'index':0,'function':{'name':'a','arguments':'{}'}},"
                "{'index':0,'function':{'name':'a','arguments':'{}'}}")
              FINISH("tool_calls") DONE);
    ck_assert_str_eq(told.calls.data, "call_1_0 a {}\ncall_1_1 a {}\n");
}
END_TEST

START_TEST(quirk_the_name_may_be_repeated_in_each_piece)
{
    hears(
        CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':'{\\'x\\''}}")
            CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':':{}'}}")
                CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':'}'}}")
                    CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':''}}")
                        FINISH("tool_calls") DONE);
    IS(told.calls.data, "c1 a {'x':{}}\n");
    hears(CALLS("{'function':{'name':'a','arguments':'{\\'x\\''}}")
              CALLS("{'function':{'name':'a','arguments':':1}'}}") FINISH("stop") DONE);
    IS(told.calls.data, "call_1_0 a {'x':1}\n");
}
END_TEST

START_TEST(quirk_calls_count_whatever_the_finish_reason_is)
{
    hears(CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':'{}'}}")
              FINISH("stop") DONE);
    ends_with(MCPLUG_STOP_TOOLS);
    hears(CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':'{}'}}")
              FINISH("eos_token") DONE);
    ends_with(MCPLUG_STOP_TOOLS);
}
END_TEST

START_TEST(quirk_arguments_may_be_an_object)
{
    hears(CALLS("{'index':0,'id':'c1','function':{'name':'a','arguments':"
                "{'x':{'y':[1]}}}}") FINISH("tool_calls") DONE);
    IS(told.calls.data, "c1 a {'x':{'y':[1]}}\n");
    HAS(told.raw.data, "'arguments':'{\\'x\\':{\\'y\\':[1]}}'");
}
END_TEST

START_TEST(quirk_arguments_may_be_missing_or_null)
{
    hears(CALLS("{'index':0,'id':'c1','function':{'name':'a'}},"
                "{'index':1,'id':'c2','function':{'name':'b','arguments':null}}")
              FINISH("tool_calls") DONE);
    ck_assert_str_eq(told.calls.data, "c1 a \nc2 b \n");
    ends_with(MCPLUG_STOP_TOOLS);
}
END_TEST

START_TEST(quirk_content_may_be_null_and_is_never_sent_back_so)
{
    hears(DELTA("{'role':'assistant','content':null,'tool_calls':null}")
              DELTA("{'content':null,'tool_calls':[{'index':0,'id':'c1','function':"
                    "{'name':'a','arguments':'{}'}}]}") FINISH("tool_calls") DONE);
    ends_with(MCPLUG_STOP_TOOLS);
    ck_assert_str_eq(told.text.data, "");
    HAS(told.raw.data, "'content':''");
    LACKS(told.raw.data, "null");
}
END_TEST

START_TEST(quirk_content_may_be_a_list_of_parts)
{
    hears(DELTA("{'content':[{'type':'thinking','thinking':[{'type':'text',"
                "'text':'hm'}]}]}") DELTA("{'content':[{'type':'text','text':'yes'}]}")
              FINISH("stop") DONE);
    ends_with(MCPLUG_STOP_END);
    ck_assert_str_eq(told.text.data, "yes");
    ck_assert_str_eq(told.thought.data, "hm");
}
END_TEST

START_TEST(quirk_done_may_be_missing)
{
    hears(DELTA("{'content':'x'}") FINISH("stop"));
    ends_with(MCPLUG_STOP_END);
    ck_assert_str_eq(told.text.data, "x");
}
END_TEST

START_TEST(quirk_a_finish_reason_may_be_missing)
{
    hears(DELTA("{'content':'x'}") DONE);
    ends_with(MCPLUG_STOP_END);
}
END_TEST

START_TEST(without_done_and_finish_reason_the_answer_broke_off)
{
    hears(DELTA("{'content':'x'}"));
    fails_with(MCPLUG_ECLOSED, 0, "broke off");
    hears("");
    fails_with(MCPLUG_ECLOSED, 0, "broke off");
}
END_TEST

START_TEST(done_ends_the_answer_though_the_stream_stays_open)
{
    asks(HELLO);
    feed_head(200, "text/event-stream");
    feed(quoted(DELTA("{'content':'x'}") FINISH("stop") DONE));
    kit_pass(2000);
    ends_with(MCPLUG_STOP_END);
}
END_TEST

START_TEST(quirk_usage_may_be_missing_null_or_in_the_last_piece)
{
    hears(DELTA("{'content':'x'}") "data: {'choices':[],'usage':null}\n\n" FINISH("stop")
              DONE);
    ends_with(MCPLUG_STOP_END);
    ck_assert_uint_eq(told.usage.input, 0);
    hears(
        DELTA("{'content':'x'}") "data: {'choices':[{'delta':{},'finish_reason':'stop'}],"
                                 "'usage':{'prompt_tokens':3,'completion_tokens':4,"
                                 "'prompt_cache_hit_tokens':2}}\n\n" DONE);
    ck_assert_uint_eq(told.usage.input, 3);
    ck_assert_uint_eq(told.usage.input_cached, 2);
    ck_assert_uint_eq(told.usage.output, 4);
}
END_TEST

START_TEST(quirk_reasoning_content_is_thought_and_goes_back)
{
    hears(DELTA("{'reasoning_content':'let '}") DELTA("{'reasoning_content':'me see'}")
              DELTA("{'content':'42'}") FINISH("stop") DONE);
    ck_assert_str_eq(told.thought.data, "let me see");
    ck_assert_str_eq(told.text.data, "42");
    HAS(told.raw.data, "'content':'42','reasoning_content':'let me see'}");
}
END_TEST

START_TEST(quirk_reasoning_may_have_two_names_and_is_told_once)
{
    hears(DELTA("{'reasoning':'hm','reasoning_content':'hm'}") FINISH("stop") DONE);
    ck_assert_str_eq(told.thought.data, "hm");
    hears(DELTA("{'reasoning':'hm','reasoning_details':[{'text':'h'}]}")
              DELTA("{'reasoning_details':[{'text':'m'}]}") FINISH("stop") DONE);
    ck_assert_str_eq(told.thought.data, "hm");
    HAS(told.raw.data,
        "'reasoning':'hm','reasoning_details':[{'text':'h'},{'text':'m'}]");
}
END_TEST

START_TEST(reasoning_does_not_go_back_if_the_setting_says_so)
{
    openai_open("returnReasoning", "false");
    hears(DELTA("{'reasoning_content':'hm','reasoning_details':[{}]}")
              DELTA("{'content':'42'}") FINISH("stop") DONE);
    IS(told.raw.data, "{'role':'assistant','content':'42'}");
}
END_TEST

START_TEST(quirk_extra_content_of_a_call_goes_back)
{
    hears(CALLS("{'index':0,'id':'c1','extra_content':{'google':{'thought_signature':"
                "'abc'}},'function':{'name':'a','arguments':'{}'}}") FINISH("stop") DONE);
    HAS(told.raw.data, "'arguments':'{}'},'extra_content':{'google':{'thought_signature':"
                       "'abc'}}}]");
}
END_TEST

START_TEST(quirk_an_error_may_come_as_a_piece)
{
    hears(DELTA("{'content':'x'}") "data: {'error':{'message':'it crashed','type':"
                                   "'server_error','code':null}}\n\n" DONE);
    fails_with(MCPLUG_EPEER, 500, "model server: it crashed");
    ck_assert(RETRIES);
    hears("data: {'error':'no model'}\n\n");
    fails_with(MCPLUG_EPEER, 400, "no model");
    ck_assert(!RETRIES);
    hears("data: {'object':'error','message':'bad','code':429}\n\n");
    fails_with(MCPLUG_EOVERLOADED, 429, "bad");
    hears("data: {'error':{'code':400,'type':'exceed_context_size_error','message':"
          "'the request is larger than the context'}}\n\n");
    fails_with(MCPLUG_ETOOBIG, 400, "larger than the context");
}
END_TEST

START_TEST(quirk_the_answer_may_come_whole)
{
    kit_answer(
        "application/json",
        quoted("{'choices':[{'index':0,'message':{'role':'assistant','content':'x',"
               "'reasoning_content':'hm','tool_calls':[{'id':'c1','type':'function',"
               "'function':{'name':'a','arguments':'{}'}},{'id':'c2','type':"
               "'function','function':{'name':'a','arguments':'{}'}}]},"
               "'finish_reason':'tool_calls'}],'usage':{'prompt_tokens':3,"
               "'completion_tokens':4}}"),
        10);
    ends_with(MCPLUG_STOP_TOOLS);
    ck_assert_str_eq(told.text.data, "x");
    ck_assert_str_eq(told.thought.data, "hm");
    ck_assert_str_eq(told.calls.data, "c1 a {}\nc2 a {}\n");
    ck_assert_uint_eq(told.usage.output, 4);
    HAS(told.raw.data, "'content':'x'");
}
END_TEST

START_TEST(quirk_an_error_may_come_whole_with_status_200)
{
    kit_answer("application/json", quoted("{'error':{'message':'no','code':503}}"), 3);
    fails_with(MCPLUG_EOVERLOADED, 503, "no");
    kit_answer("application/json", "[1]", 1);
    fails_with(MCPLUG_EPROTO, 0, "no chat completion");
}
END_TEST

START_TEST(quirk_only_the_first_choice_counts)
{
    hears("data: {'choices':[{'index':1,'delta':{'content':'b'}},{'index':0,'delta':"
          "{'content':'a'}}]}\n\n" FINISH("stop") DONE);
    ck_assert_str_eq(told.text.data, "a");
}
END_TEST

START_TEST(quirk_comments_and_events_of_other_shapes_are_skipped)
{
    hears(": OPENROUTER PROCESSING\n\nevent: ping\ndata: {}\n\ndata: []\n\ndata: 1\n\n"
          "data: {'choices':{}}\n\ndata: {'choices':[1,{}]}\n\n" CALLS("1,[],{},null")
              DELTA("{'content':'a'}") FINISH("stop") DONE);
    ends_with(MCPLUG_STOP_END);
    ck_assert_str_eq(told.text.data, "a");
    ck_assert_str_eq(told.calls.data, "");
}
END_TEST

/* ---- errors ---- */

static void answers(int status, const char *body)
{
    asks(HELLO);
    feed_head(status, "application/json");
    feed(quoted(body));
    feed_done(0, 0);
}

START_TEST(errors_are_told_in_the_words_of_the_server)
{
    answers(401, "{'error':{'message':'Incorrect API key provided: sk-secret-key.',"
                 "'type':'invalid_request_error','code':'invalid_api_key'}}");
    fails_with(MCPLUG_EAUTH, 401, "model server: Incorrect API key provided");
    answers(400, "{'error':{'message':'bad key','code':'invalid_api_key'}}");
    fails_with(MCPLUG_EAUTH, 400, "bad key");
    answers(400, "{'error':{'message':'This model has a maximum of 10 tokens','type':"
                 "'invalid_request_error','code':'context_length_exceeded'}}");
    fails_with(MCPLUG_ETOOBIG, 400, "maximum of 10 tokens");
    answers(429, "{'error':{'message':'slow down','type':'requests'}}");
    fails_with(MCPLUG_EOVERLOADED, 429, "slow down");
    ck_assert(RETRIES);
    answers(404, "{'error':'model \\'x\\' not found'}");
    fails_with(MCPLUG_EPEER, 404, "model \"x\" not found");
    answers(422, "{'detail':'bad body'}");
    fails_with(MCPLUG_EPEER, 422, "bad body");
    answers(503, "{'error':{'code':503,'message':'Loading model','type':"
                 "'unavailable_error'}}");
    fails_with(MCPLUG_EOVERLOADED, 503, "Loading model");
    ck_assert(RETRIES);
}
END_TEST

/* ---- bounds ---- */

static void begin(void)
{
    asks(HELLO);
    feed_head(200, "text/event-stream");
}

START_TEST(one_call_too_many_fails)
{
    char piece[200];
    for (int limit = 4096; limit <= 4097; limit++) {
        begin();
        for (int i = 0; i < limit; i++) {
            snprintf(piece, sizeof piece,
                     CALLS("{'index':%d,'function':{'name':'a','arguments':'{}'}}"), i);
            feed(quoted(piece));
        }
        feed(quoted(DONE));
        feed_done(0, 0);
        if (limit == 4096)
            ends_with(MCPLUG_STOP_TOOLS);
        else
            fails_with(MCPLUG_ETOOBIG, 0, "4096 calls");
    }
}
END_TEST

START_TEST(one_byte_too_many_fails)
{
    enum { PIECE = 4 << 20 };
    char *piece = malloc(PIECE + 200), *at;
    for (int is_call = 0; is_call < 2; is_call++) {
        begin();
        for (int i = 0; i < 9; i++) {
            at = stpcpy(piece,
                        quoted(is_call ? "data: {'choices':[{'delta':{'tool_calls':"
                                         "[{'index':0,'function':{'name':'a',"
                                         "'arguments':'"
                                       : "data: {'choices':[{'delta':{'content':'"));
            memset(at, 'x', PIECE);
            strcpy(at + PIECE, quoted(is_call ? "'}}]}}]}\n\n" : "'}}]}\n\n"));
            feed(piece);
        }
        fails_with(MCPLUG_ETOOBIG, 0, "32 MiB");
    }
    free(piece);
}
END_TEST

/* ---- memory ---- */

static void a_whole_conversation(void)
{
    kit_setting("apiKey", "sk-secret-key");
    if (kit_open() != MCPLUG_OK)
        return;
    /* outlives the request, which a prompt in the condition would not */
    const struct mcplug_prompt *prompt = PROMPT(MESSAGES(
        USER(TEXT_ITEM("x")), ASSISTANT(TEXT_ITEM("a"), USE_ITEM("c", "t", "{}")),
        USER(RESULT_ITEM("c", "t", TEXT_ITEM("r"), IMAGE_ITEM("QUJD")))));
    if (kit_ask(prompt) != MCPLUG_OK)
        return;
    feed_head(200, "text/event-stream");
    feed(quoted(DELTA("{'reasoning_content':'hm','reasoning_details':[{}],"
                      "'extra_content':{}}") DELTA("{'content':'x'}")
                    CALLS("{'index':0,'function':{'name':'a','arguments':'{}'},"
                          "'extra_content':{'x':1}}") FINISH("stop") DONE));
    feed_done(0, 0);
}

START_TEST(every_failed_allocation_ends_the_request_once)
{
    kit_close();
    kit_torture(a_whole_conversation);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("openai_chat");
    TCase *request = tcase_create("request"), *answer = tcase_create("answer");
    TCase *quirks = tcase_create("quirks"), *bounds = tcase_create("bounds");
    TCase *all[] = {request, answer, quirks, bounds};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        tcase_add_checked_fixture(all[i], setup, teardown);
        tcase_set_timeout(all[i], 120);
        suite_add_tcase(suite, all[i]);
    }
    tcase_add_test(request, a_question_is_one_message);
    tcase_add_test(request, tools_are_functions);
    tcase_add_test(request, images_and_documents_are_data_urls);
    tcase_add_test(request, base64_that_is_none_cannot_leave_its_string);
    tcase_add_test(request, a_turn_of_another_model_is_made_from_its_parts);
    tcase_add_test(request, a_turn_without_text_has_empty_content_and_never_null);
    tcase_add_test(request, a_turn_of_the_same_model_is_sent_as_it_came);
    tcase_add_test(request, images_of_results_follow_behind_all_results);
    tcase_add_test(request, the_words_of_a_failure_are_sent_as_they_are);
    tcase_add_test(request, messages_of_the_user_that_follow_each_other_become_one);
    tcase_add_test(request, other_servers_get_max_tokens_or_what_the_setting_says);
    tcase_add_test(request, without_a_limit_none_is_sent);
    tcase_add_test(request, a_url_is_the_base_that_vendors_name_or_a_host);
    tcase_add_test(request, usage_need_not_be_asked_for);
    tcase_add_test(request, effort_is_sent_if_it_is_set);
    tcase_add_test(request, openai_needs_a_key_and_others_do_not);
    tcase_add_test(request, the_key_of_the_environment_is_for_openai_alone);
    tcase_add_test(answer, text_comes_in_pieces_and_the_turn_is_kept);
    tcase_add_test(answer, calls_come_in_pieces_and_end_in_tools);
    tcase_add_test(answer, a_turn_that_was_told_can_be_sent_back);
    tcase_add_test(answer, blanks_between_pieces_of_arguments_are_kept);
    tcase_add_test(answer, a_length_that_is_reached_is_told);
    tcase_add_test(answer, a_call_that_was_cut_is_dropped_with_its_place_in_the_turn);
    tcase_add_test(answer, calls_that_are_complete_count_though_the_length_was_reached);
    tcase_add_test(answer, a_filter_and_a_refusal_are_refused);
    tcase_add_test(answer, arguments_that_are_no_json_are_told_and_not_sent_back);
    tcase_add_test(quirks, quirk_an_index_may_be_missing);
    tcase_add_test(quirks, quirk_index_and_id_may_be_missing);
    tcase_add_test(quirks, quirk_an_id_may_be_missing_empty_null_or_the_same_for_all);
    tcase_add_test(quirks, quirk_ids_that_are_made_up_differ_from_turn_to_turn);
    tcase_add_test(quirks, quirk_all_calls_may_have_the_index_0);
    tcase_add_test(quirks, quirk_the_name_may_be_repeated_in_each_piece);
    tcase_add_test(quirks, quirk_calls_count_whatever_the_finish_reason_is);
    tcase_add_test(quirks, quirk_arguments_may_be_an_object);
    tcase_add_test(quirks, quirk_arguments_may_be_missing_or_null);
    tcase_add_test(quirks, quirk_content_may_be_null_and_is_never_sent_back_so);
    tcase_add_test(quirks, quirk_content_may_be_a_list_of_parts);
    tcase_add_test(quirks, quirk_done_may_be_missing);
    tcase_add_test(quirks, quirk_a_finish_reason_may_be_missing);
    tcase_add_test(quirks, without_done_and_finish_reason_the_answer_broke_off);
    tcase_add_test(quirks, done_ends_the_answer_though_the_stream_stays_open);
    tcase_add_test(quirks, quirk_usage_may_be_missing_null_or_in_the_last_piece);
    tcase_add_test(quirks, quirk_reasoning_content_is_thought_and_goes_back);
    tcase_add_test(quirks, quirk_reasoning_may_have_two_names_and_is_told_once);
    tcase_add_test(quirks, reasoning_does_not_go_back_if_the_setting_says_so);
    tcase_add_test(quirks, quirk_extra_content_of_a_call_goes_back);
    tcase_add_test(quirks, quirk_an_error_may_come_as_a_piece);
    tcase_add_test(quirks, quirk_the_answer_may_come_whole);
    tcase_add_test(quirks, quirk_an_error_may_come_whole_with_status_200);
    tcase_add_test(quirks, quirk_only_the_first_choice_counts);
    tcase_add_test(quirks, quirk_comments_and_events_of_other_shapes_are_skipped);
    tcase_add_test(answer, errors_are_told_in_the_words_of_the_server);
    tcase_add_test(bounds, one_call_too_many_fails);
    tcase_add_test(bounds, one_byte_too_many_fails);
    tcase_add_test(bounds, every_failed_allocation_ends_the_request_once);
    return run_to_end(suite);
}
