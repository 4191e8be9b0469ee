/* The Responses API: what is sent, what comes back. */
#include "openai_kit.h"

#define EVENT(type, rest) "event: " type "\ndata: {'type':'" type "'," rest "}\n\n"
#define CREATED EVENT("response.created", "'response':{'id':'resp_1','error':null}")
#define TEXT(text)                                                                       \
    EVENT("response.output_text.delta", "'output_index':0,'delta':'" text "'")
#define ITEM_DONE(item) EVENT("response.output_item.done", "'item':" item)
#define MESSAGE_ITEM(text)                                                               \
    "{'id':'msg_1','type':'message','status':'completed','role':'assistant','content':[" \
    "{'type':'output_text','annotations':[],'text':'" text "'}]}"
#define CALL_ITEM(id, name, args)                                                        \
    "{'id':'fc_1','type':'function_call','status':'completed','call_id':'" id            \
    "','name':'" name "','arguments':'" args "'}"
#define COMPLETED                                                                        \
    EVENT("response.completed",                                                          \
          "'response':{'status':'completed','output':[],'usage':{'input_tokens':20,"     \
          "'input_tokens_details':{'cached_tokens':16},'output_tokens':7}}")
#define INCOMPLETE(reason)                                                               \
    EVENT("response.incomplete",                                                         \
          "'response':{'status':'incomplete','incomplete_details':{'reason':'" reason    \
          "'},'output':[]}")

static void setup(void)
{
    openai_setup("openai");
    openai_open(NULL, NULL);
}

static void teardown(void)
{
    openai_teardown();
}

/* ---- the request ---- */

START_TEST(nothing_is_stored_and_reasoning_comes_encrypted)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("say \"hello\""))), .max_tokens = 100,
                .system = BYTES("be short")));
    ck_assert_str_eq(net.url.data, "https://api.openai.com/v1/responses");
    HAS(net.headers.data, "Authorization: Bearer sk-secret-key\n");
    IS(net.body.data, "{'model':'m-1','stream':true,'store':false,"
                      "'include':['reasoning.encrypted_content'],'max_output_tokens':100,"
                      "'instructions':'be short','input':[{'role':'user','content':["
                      "{'type':'input_text','text':'say \\'hello\\''}]}]}");
}
END_TEST

START_TEST(models_that_do_not_reason_are_not_asked_for_it)
{
    openai_open("reasoning", "false");
    asks(HELLO);
    LACKS(net.body.data, "include");
}
END_TEST

START_TEST(effort_and_summary_are_sent_if_they_are_set)
{
    kit_close();
    kit_setting("summary", "auto");
    kit_setting("effort", "high");
    kit_setting("apiKey", "k");
    ck_assert_int_eq(kit_open(), MCPLUG_OK);
    asks(HELLO);
    HAS(net.body.data, ",'reasoning':{'effort':'high','summary':'auto'},");
}
END_TEST

START_TEST(tools_are_functions_that_are_not_strict)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x"))),
                TOOLS(TOOL("read", "Reads.", "{\"type\":\"object\"}"))));
    HAS(net.body.data,
        ",'tools':[{'type':'function','name':'read','description':'Reads.',"
        "'parameters':{'type':'object'},'strict':false}]}");
}
END_TEST

START_TEST(images_and_documents_are_data_urls)
{
    asks(PROMPT(MESSAGES(USER(IMAGE_ITEM("QUJD"), PDF_ITEM("SlBH", "a.pdf")))));
    HAS(net.body.data, "{'role':'user','content':[{'type':'input_image','detail':'auto',"
                       "'image_url':'data:image/"
                       "png;base64,QUJD'},{'type':'input_file','filename':'a.pdf',"
                       "'file_data':'data:application/pdf;base64,SlBH'}]}");
}
END_TEST

START_TEST(results_are_texts_or_lists_with_images)
{
    const struct mcplug_item *failed = ITEM(.kind = MCPLUG_ITEM_TOOL_RESULT, .id = "c3",
                                            .is_error = 1, ITEM_LIST(IMAGE_ITEM("QUJD")));
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x")),
                         ASSISTANT(USE_ITEM("c1", "a", "{}"), USE_ITEM("c2", "b", "{}"),
                                   USE_ITEM("c3", "b", "{}")),
                         USER(RESULT_ITEM("c1", "a", TEXT_ITEM("one"), TEXT_ITEM("two")),
                              RESULT_ITEM("c2", "b", TEXT_ITEM("see"), IMAGE_ITEM("QUJD"),
                                          PDF_ITEM("SlBH", "p")),
                              failed, TEXT_ITEM("go"), TEXT_ITEM("on")))));
    HAS(net.body.data,
        "{'type':'function_call_output','call_id':'c1','output':'one\\ntwo'},"
        "{'type':'function_call_output','call_id':'c2','output':["
        "{'type':'input_text','text':'see'},{'type':'input_image','detail':'auto',"
        "'image_url':'data:image/png;base64,QUJD'},{'type':'input_file','filename':'p',"
        "'file_data':'data:application/pdf;base64,SlBH'}]},"
        "{'type':'function_call_output','call_id':'c3','output':["
        "{'type':'input_image','detail':'auto',"
        "'image_url':'data:image/png;base64,QUJD'}]},"
        "{'role':'user','content':[{'type':'input_text','text':'go'},"
        "{'type':'input_text','text':'on'}]}]");
}
END_TEST

START_TEST(a_turn_of_another_model_is_made_from_its_parts)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x")),
                         ASSISTANT(TEXT_ITEM("hm"), USE_ITEM("c1", "a.b", "{\"x\":1}"),
                                   USE_ITEM("c2", "b", "{oops")),
                         USER(RESULT_ITEM("c1", "a", TEXT_ITEM("y")),
                              RESULT_ITEM("c2", "b", TEXT_ITEM("z"))))));
    HAS(net.body.data,
        "{'role':'assistant','content':'hm'},"
        "{'type':'function_call','call_id':'c1','name':'a_b','arguments':'{\\'x\\':1}'},"
        "{'type':'function_call','call_id':'c2','name':'b','arguments':'{}'},"
        "{'type':'function_call_output','call_id':'c1',");
}
END_TEST

START_TEST(a_turn_of_the_same_model_is_sent_as_it_came)
{
    asks(PROMPT(MESSAGES(USER(TEXT_ITEM("x")),
                         RAW_ASSISTANT(" [ {\"a\": 1} , {\"b\":[ ]}]", TEXT_ITEM("no")),
                         RAW_ASSISTANT("[]", TEXT_ITEM("no")), USER(TEXT_ITEM("y")))));
    HAS(net.body.data, "]},{'a': 1},{'b':[ ]},{'role':'user'");
    LACKS(net.body.data, "'no'");
}
END_TEST

START_TEST(counting_asks_for_input_tokens_alone)
{
    const struct mcplug_prompt *prompt =
        PROMPT(MESSAGES(USER(TEXT_ITEM("x"))), .max_tokens = 9, .system = BYTES("s"),
               TOOLS(TOOL("read", "Reads.", "{}")));
    ck_assert_int_eq(kit_count(prompt), MCPLUG_OK);
    ck_assert_str_eq(net.url.data, "https://api.openai.com/v1/responses/input_tokens");
    HAS(net.body.data, "{'model':'m-1','instructions':'s','input':[");
    HAS(net.body.data, "'tools':[");
    LACKS(net.body.data, "stream");
    LACKS(net.body.data, "max_output_tokens");
    feed_head(200, "application/json");
    feed(quoted("{'object':'response.input_tokens','input_tokens':123}"));
    feed_done(0, 0);
    ends_with(MCPLUG_STOP_END);
    ck_assert_uint_eq(told.usage.input, 123);
}
END_TEST

START_TEST(a_count_that_is_none_fails)
{
    static const char *const answers[] = {"{'input_tokens':-1}", "{}", "[]",
                                          "{'output':[]}"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        const struct mcplug_prompt *prompt = HELLO;
        ck_assert_int_eq(kit_count(prompt), MCPLUG_OK);
        feed_head(200, "application/json");
        feed(quoted(answers[i]));
        feed_done(0, 0);
        fails_with(MCPLUG_EPROTO, 0, "responses");
    }
}
END_TEST

/* ---- the answer ---- */

START_TEST(text_comes_in_pieces_and_items_are_kept_as_they_came)
{
    hears(CREATED EVENT("response.output_item.added", "'item':{'type':'message'}")
              TEXT("Gr\\u00fc") TEXT("\\u00df \\ud83d") TEXT("\\ude00")
                  EVENT("response.output_text.done", "'text':'x'")
                      ITEM_DONE(MESSAGE_ITEM("Gr\\u00fc\\u00df")) COMPLETED);
    ends_with(MCPLUG_STOP_END);
    ck_assert_str_eq(told.text.data, "Gr\u00fc\u00df \U0001f600");
    IS(told.raw.data,
       "[{'id':'msg_1','type':'message','status':'completed','role':'assistant',"
       "'content':[{'type':'output_text','annotations':[],"
       "'text':'Gr\\u00fc\\u00df'}]}]");
    ck_assert_uint_eq(told.usage.input, 20);
    ck_assert_uint_eq(told.usage.input_cached, 16);
    ck_assert_uint_eq(told.usage.output, 7);
}
END_TEST

START_TEST(calls_are_told_in_order_and_end_in_tools)
{
    hears(CREATED EVENT("response.function_call_arguments.delta", "'delta':'{}'")
              ITEM_DONE(CALL_ITEM("c1", "read", "{\\'a\\':1}"))
                  ITEM_DONE(CALL_ITEM("c2", "list", "")) COMPLETED);
    ends_with(MCPLUG_STOP_TOOLS);
    IS(told.calls.data, "c1 read {'a':1}\nc2 list \n");
    IS(told.raw.data,
       "[{'id':'fc_1','type':'function_call','status':'completed','call_id':'c1',"
       "'name':'read','arguments':'{\\'a\\':1}'},"
       "{'id':'fc_1','type':'function_call','status':'completed','call_id':'c2',"
       "'name':'list','arguments':''}]");
}
END_TEST

START_TEST(reasoning_goes_back_encrypted_and_its_summary_is_thought)
{
    hears(EVENT("response.reasoning_summary_text.delta", "'delta':'I wo'")
              EVENT("response.reasoning_summary_text.delta", "'delta':'nder'")
                  EVENT("response.reasoning_summary_text.done", "'text':'I wonder'")
                      ITEM_DONE("{'id':'rs_1','type':'reasoning','summary':[],"
                                "'encrypted_content':'gAAA'}")
                          ITEM_DONE(CALL_ITEM("c1", "a", "{}")) COMPLETED);
    ends_with(MCPLUG_STOP_TOOLS);
    ck_assert_str_eq(told.thought.data, "I wonder\n\n");
    HAS(told.raw.data,
        "[{'id':'rs_1','type':'reasoning','summary':[],'encrypted_content':'gAAA'},");
}
END_TEST

START_TEST(a_turn_with_reasoning_that_cannot_go_back_is_not_kept)
{
    hears(ITEM_DONE("{'id':'rs_1','type':'reasoning','summary':[],"
                    "'encrypted_content':null}") ITEM_DONE(CALL_ITEM("c1", "a", "{}"))
              COMPLETED);
    ends_with(MCPLUG_STOP_TOOLS);
    ck_assert_int_eq(told.n_raws, 0);
    hears(ITEM_DONE("{'id':'rs_1','type':'reasoning','summary':[],'encrypted_content':'',"
                    "'content':[{'type':'reasoning_text','text':'hm'}]}")
              ITEM_DONE(MESSAGE_ITEM("x")) COMPLETED);
    ck_assert_int_eq(told.n_raws, 1);
}
END_TEST

START_TEST(messages_of_one_turn_are_apart)
{
    hears(TEXT("I look.") ITEM_DONE(MESSAGE_ITEM("I look.")) TEXT("Done") TEXT(".")
              ITEM_DONE(MESSAGE_ITEM("Done.")) COMPLETED);
    ck_assert_str_eq(told.text.data, "I look.\n\nDone.");
}
END_TEST

START_TEST(text_without_pieces_is_taken_from_the_item)
{
    hears(ITEM_DONE(MESSAGE_ITEM("whole")) COMPLETED);
    ck_assert_str_eq(told.text.data, "whole");
    ends_with(MCPLUG_STOP_END);
}
END_TEST

START_TEST(items_may_come_with_the_end_alone)
{
    hears(EVENT(
        "response.completed",
        "'response':{'status':'completed','output':[" MESSAGE_ITEM("x") "," CALL_ITEM(
            "c1", "a", "{}") "," CALL_ITEM("c2", "a", "{}") "]}"));
    ends_with(MCPLUG_STOP_TOOLS);
    ck_assert_str_eq(told.text.data, "x");
    ck_assert_str_eq(told.calls.data, "c1 a {}\nc2 a {}\n");
    HAS(told.raw.data, "[{'id':'msg_1','type':'message',");
}
END_TEST

START_TEST(a_call_without_an_id_gets_one_that_goes_back)
{
    hears(ITEM_DONE("{'type':'function_call','name':'a b','arguments':{'x':1}}")
              COMPLETED);
    IS(told.calls.data, "call_1_0 a b {'x':1}\n");
    IS(told.raw.data, "[{'type':'function_call','call_id':'call_1_0','name':'a_b',"
                      "'arguments':'{\\'x\\':1}'}]");
}
END_TEST

START_TEST(the_end_says_why)
{
    hears(TEXT("and") ITEM_DONE(MESSAGE_ITEM("and")) INCOMPLETE("max_output_tokens"));
    ends_with(MCPLUG_STOP_LENGTH);
    hears(TEXT("and") ITEM_DONE(MESSAGE_ITEM("and")) INCOMPLETE("content_filter"));
    ends_with(MCPLUG_STOP_REFUSED);
    hears(EVENT("response.refusal.delta", "'delta':'No.'") COMPLETED);
    ends_with(MCPLUG_STOP_REFUSED);
    ck_assert_str_eq(told.text.data, "No.");
    hears(ITEM_DONE("{'type':'message','content':[{'type':'refusal','refusal':'No.'}]}")
              COMPLETED);
    ends_with(MCPLUG_STOP_REFUSED);
    ck_assert_str_eq(told.text.data, "No.");
}
END_TEST

START_TEST(a_call_that_was_cut_is_dropped_with_its_place_in_the_turn)
{
    hears(ITEM_DONE(CALL_ITEM("c1", "a", "{}")) ITEM_DONE(
        "{'type':'function_call','status':'incomplete','call_id':'c2',"
        "'name':'b','arguments':'{\\'x'}") INCOMPLETE("max_output_tokens"));
    ends_with(MCPLUG_STOP_LENGTH);
    ck_assert_str_eq(told.calls.data, "c1 a {}\n");
    LACKS(told.raw.data, "c2");
}
END_TEST

START_TEST(an_answer_may_come_whole)
{
    kit_answer("application/json",
               quoted("{'object':'response','status':'completed','error':null,'output':"
                      "[" MESSAGE_ITEM("x") "],'usage':{'input_tokens':1,"
                                            "'output_tokens':2}}"),
               4);
    ends_with(MCPLUG_STOP_END);
    ck_assert_str_eq(told.text.data, "x");
    ck_assert_uint_eq(told.usage.output, 2);
    kit_answer("application/json", quoted("{'object':'list'}"), 4);
    fails_with(MCPLUG_EPROTO, 0, "responses");
}
END_TEST

START_TEST(without_its_end_the_answer_broke_off)
{
    hears(TEXT("x") ITEM_DONE(MESSAGE_ITEM("x")));
    fails_with(MCPLUG_ECLOSED, 0, "broke off");
    hears(TEXT("x") "data: [DONE]\n\n");
    fails_with(MCPLUG_ECLOSED, 0, "broke off");
}
END_TEST

START_TEST(events_of_other_shapes_are_skipped)
{
    hears("data: 1\n\ndata: {}\n\ndata: {'type':5,'delta':'x'}\n\n" EVENT(
        "response.new", "'x':1") EVENT("response.output_text.delta", "'delta':{}")
              ITEM_DONE("[]") ITEM_DONE("null") TEXT("x") ITEM_DONE("{'type':'odd'}")
                  COMPLETED "data: [DONE]\n\n");
    ends_with(MCPLUG_STOP_END);
    ck_assert_str_eq(told.text.data, "x");
    IS(told.raw.data, "[{'type':'odd'}]");
}
END_TEST

START_TEST(errors_within_the_stream_are_told)
{
    hears(EVENT("response.failed", "'response':{'status':'failed','error':{'code':"
                                   "'rate_limit_exceeded','message':'too fast'}}"));
    fails_with(MCPLUG_EOVERLOADED, 429, "OpenAI: too fast");
    ck_assert(RETRIES);
    hears(EVENT("error", "'code':'server_error','message':'it broke','param':null"));
    fails_with(MCPLUG_EPEER, 500, "it broke");
    ck_assert(RETRIES);
    hears(EVENT("error",
                "'error':{'code':'context_length_exceeded','message':'too long'}"));
    fails_with(MCPLUG_ETOOBIG, 400, "too long");
    hears(EVENT("error", "'code':'insufficient_quota','message':'pay'"));
    fails_with(MCPLUG_EPEER, 402, "pay");
    ck_assert(!RETRIES);
}
END_TEST

START_TEST(a_model_that_does_not_reason_names_the_setting)
{
    asks(HELLO);
    feed_head(400, "application/json");
    feed(quoted(
        "{'error':{'message':'Encrypted content is not supported with this model.',"
        "'type':'invalid_request_error','param':'include','code':null}}"));
    feed_done(0, 0);
    fails_with(MCPLUG_EPEER, 400,
               "not supported with this model. (for models that do not");
    HAS(told.why.text, "set 'reasoning' to false");
}
END_TEST

/* ---- bounds ---- */

START_TEST(one_item_too_many_fails)
{
    for (int limit = 4096; limit <= 4097; limit++) {
        asks(HELLO);
        feed_head(200, "text/event-stream");
        for (int i = 0; i < limit; i++)
            feed(quoted(ITEM_DONE(CALL_ITEM("c", "a", "{}"))));
        feed(quoted(COMPLETED));
        feed_done(0, 0);
        if (limit == 4096)
            ends_with(MCPLUG_STOP_TOOLS);
        else
            fails_with(MCPLUG_ETOOBIG, 0, "4096 parts");
    }
}
END_TEST

START_TEST(one_byte_too_many_fails)
{
    enum { PIECE = 4 << 20 };
    static const char before[] = "data: {'type':'response.output_item.done','item':"
                                 "{'type':'reasoning','encrypted_content':'";
    char *piece = malloc(PIECE + 200);
    asks(HELLO);
    feed_head(200, "text/event-stream");
    for (int i = 0; i < 9; i++) {
        char *at = stpcpy(piece, quoted(before));
        memset(at, 'x', PIECE);
        strcpy(at + PIECE, quoted("'}}\n\n"));
        feed(piece);
    }
    free(piece);
    fails_with(MCPLUG_ETOOBIG, 0, "32 MiB");
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
        USER(RESULT_ITEM("c", "t", TEXT_ITEM("r")))));
    if (kit_ask(prompt) != MCPLUG_OK)
        return;
    feed_head(200, "text/event-stream");
    feed(quoted(TEXT("x") ITEM_DONE(MESSAGE_ITEM("x")) ITEM_DONE(
        "{'type':'function_call','name':'a','arguments':{}}") COMPLETED));
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
    Suite *suite = suite_create("openai_responses");
    TCase *request = tcase_create("request"), *answer = tcase_create("answer");
    TCase *bounds = tcase_create("bounds");
    TCase *all[] = {request, answer, bounds};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        tcase_add_checked_fixture(all[i], setup, teardown);
        tcase_set_timeout(all[i], 120);
        suite_add_tcase(suite, all[i]);
    }
    tcase_add_test(request, nothing_is_stored_and_reasoning_comes_encrypted);
    tcase_add_test(request, models_that_do_not_reason_are_not_asked_for_it);
    tcase_add_test(request, effort_and_summary_are_sent_if_they_are_set);
    tcase_add_test(request, tools_are_functions_that_are_not_strict);
    tcase_add_test(request, images_and_documents_are_data_urls);
    tcase_add_test(request, results_are_texts_or_lists_with_images);
    tcase_add_test(request, a_turn_of_another_model_is_made_from_its_parts);
    tcase_add_test(request, a_turn_of_the_same_model_is_sent_as_it_came);
    tcase_add_test(request, counting_asks_for_input_tokens_alone);
    tcase_add_test(request, a_count_that_is_none_fails);
    tcase_add_test(answer, text_comes_in_pieces_and_items_are_kept_as_they_came);
    tcase_add_test(answer, calls_are_told_in_order_and_end_in_tools);
    tcase_add_test(answer, reasoning_goes_back_encrypted_and_its_summary_is_thought);
    tcase_add_test(answer, a_turn_with_reasoning_that_cannot_go_back_is_not_kept);
    tcase_add_test(answer, messages_of_one_turn_are_apart);
    tcase_add_test(answer, text_without_pieces_is_taken_from_the_item);
    tcase_add_test(answer, items_may_come_with_the_end_alone);
    tcase_add_test(answer, a_call_without_an_id_gets_one_that_goes_back);
    tcase_add_test(answer, the_end_says_why);
    tcase_add_test(answer, a_call_that_was_cut_is_dropped_with_its_place_in_the_turn);
    tcase_add_test(answer, an_answer_may_come_whole);
    tcase_add_test(answer, without_its_end_the_answer_broke_off);
    tcase_add_test(answer, events_of_other_shapes_are_skipped);
    tcase_add_test(answer, errors_within_the_stream_are_told);
    tcase_add_test(answer, a_model_that_does_not_reason_names_the_setting);
    tcase_add_test(bounds, one_item_too_many_fails);
    tcase_add_test(bounds, one_byte_too_many_fails);
    tcase_add_test(bounds, every_failed_allocation_ends_the_request_once);
    return run_to_end(suite);
}
