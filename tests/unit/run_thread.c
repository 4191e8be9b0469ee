/* Threads: messages, answers in their order, and the same as JSON, there and back. */
#include "quick.h"
#include "suite.h"

#include "base/error.h"
#include "base/mem.h"
#include "run/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mcplug_error err;
static mcplug_thread *thread;

static void set_up(void)
{
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    thread = mcplug_thread_new();
    ck_assert_ptr_nonnull(thread);
}

static void tear_down(void)
{
    mcplug_thread_free(thread);
    thread = NULL;
}

/* The text with " for '; until another was asked for. */
static const char *json(const char *text)
{
    static char copy[65536];

    ck_assert_uint_lt(strlen(text), sizeof copy);
    for (size_t i = 0; i <= strlen(text); i++)
        copy[i] = text[i] == '\'' ? '"' : text[i];
    return copy;
}

static struct mcplug_message message(size_t i)
{
    struct mcplug_message m = {.struct_size = sizeof m};

    ck_assert(mcplug_thread_message(thread, i, &m));
    return m;
}

static const struct mcplug_item *item(size_t i, size_t k)
{
    struct mcplug_message m = message(i);

    ck_assert_uint_lt(k, m.n_items);
    return m.items[k];
}

static void parse(const char *text)
{
    mcplug_thread_free(thread);
    thread = mcplug_thread_parse(text, strlen(text), &err);
    ck_assert_msg(thread != NULL, "%s", err.text);
}

/* A turn that uses three tools. */
#define USE(id, name) "{'type':'tool_use','id':'" id "','name':'" name "','input':{}}"
#define RESULT(id, name, text)                                                           \
    "{'type':'tool_result','toolUseId':'" id "','name':'" name                           \
    "','content':[{'type':'text','text':'" text "'}]}"
#define ASKS                                                                             \
    "{'messages':[\n{'role':'user','content':[{'type':'text','text':'Go'}]},\n"          \
    "{'role':'assistant','content':[" USE("a", "x") "," USE("b", "y") "," USE(           \
        "c", "z") "]}\n]}\n"

/* ---- what is said ---- */

START_TEST(what_is_said_without_a_run_in_between_is_one_message)
{
    struct mcplug_item image = {.struct_size = sizeof image,
                                .kind = MCPLUG_ITEM_IMAGE,
                                .mime = "image/png",
                                .text = mp_text("AAAA")};
    struct mcplug_item paper = {.struct_size = sizeof paper,
                                .kind = MCPLUG_ITEM_DOCUMENT,
                                .mime = "application/pdf",
                                .name = "a.pdf",
                                .text = mp_text("AAA=")};

    ck_assert_uint_eq(mcplug_thread_count(thread), 0);
    ck_assert_int_eq(mcplug_thread_say(thread, "one"), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_add(thread, &image, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_add(thread, &paper, &err), MCPLUG_OK);
    ck_assert_uint_eq(mcplug_thread_count(thread), 1);
    ck_assert_uint_eq(message(0).role, MCPLUG_ROLE_USER);
    ck_assert_uint_eq(message(0).n_items, 3);
    ck_assert_str_eq((const char *)item(0, 0)->text.data, "one");
    ck_assert_str_eq(item(0, 1)->mime, "image/png");
    ck_assert_str_eq(item(0, 2)->name, "a.pdf");
    ck_assert_ptr_ne(item(0, 1)->text.data, image.text.data); /* a copy */
    struct mcplug_message none = {.struct_size = sizeof none};
    ck_assert(!mcplug_thread_message(thread, 1, &none));
    ck_assert(!mcplug_thread_message(NULL, 0, &none));
}
END_TEST

static const struct {
    uint32_t kind;
    const char *mime, *text, *words;
} refused[] = {
    {MCPLUG_ITEM_TOOL_USE, NULL, "{}",
     "a user says text, images and documents, nothing of kind 4"},
    {0, NULL, "x", "a user says text, images and documents, nothing of kind 0"},
    {MCPLUG_ITEM_IMAGE, NULL, "AAAA", "\"\" is no type of an image that models take"},
    {MCPLUG_ITEM_IMAGE, "image/svg+xml", "AAAA",
     "\"image/svg+xml\" is no type of an image that models take"},
    {MCPLUG_ITEM_DOCUMENT, "text/html", "AAAA",
     "\"text/html\" is no type of a document that models take"},
    {MCPLUG_ITEM_IMAGE, "image/png", "", "an image or document that is not Base64"},
    {MCPLUG_ITEM_IMAGE, "image/png", "AAA", "an image or document that is not Base64"},
    {MCPLUG_ITEM_IMAGE, "image/png", "A===", "an image or document that is not Base64"},
    {MCPLUG_ITEM_IMAGE, "image/png", "AA-_", "an image or document that is not Base64"},
};

START_TEST(what_models_do_not_take_is_refused_in_words)
{
    struct mcplug_item bad = {.struct_size = sizeof bad,
                              .kind = refused[_i].kind,
                              .mime = refused[_i].mime,
                              .text = mp_text(refused[_i].text)};

    ck_assert_int_eq(mcplug_thread_add(thread, &bad, &err), MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, refused[_i].words);
    ck_assert_uint_eq(mcplug_thread_count(thread), 0);
}
END_TEST

START_TEST(null_is_refused_and_nothing_is_a_thread)
{
    struct mcplug_item lie = {
        .struct_size = sizeof lie, .kind = MCPLUG_ITEM_TEXT, .text = {NULL, 5}};

    ck_assert_int_eq(mcplug_thread_add(thread, NULL, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_thread_add(thread, &lie, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_thread_say(thread, NULL), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_thread_say(NULL, "x"), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_thread_answer(thread, NULL, "x", &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_thread_answer(NULL, "a", "x", &err), MCPLUG_EINVAL);
    ck_assert_uint_eq(mcplug_thread_count(NULL), 0);
    ck_assert_ptr_null(mcplug_thread_json(NULL, NULL));
    ck_assert_ptr_null(mcplug_thread_parse(NULL, 0, &err));
    mcplug_thread_free(NULL);
}
END_TEST

/* ---- answers ---- */

START_TEST(answers_stand_in_the_order_of_the_uses_whenever_they_come)
{
    parse(json(ASKS));
    ck_assert_int_eq(mcplug_thread_say(thread, "by the way"), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_answer(thread, "c", "third", &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_answer(thread, "a", "first", &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_answer(thread, "b", "second", &err), MCPLUG_OK);
    ck_assert_uint_eq(mcplug_thread_count(thread), 3);
    ck_assert_uint_eq(message(2).n_items, 4);
    static const char *const want[] = {"a", "b", "c"}, *const names[] = {"x", "y", "z"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(item(2, i)->kind, MCPLUG_ITEM_TOOL_RESULT);
        ck_assert_str_eq(item(2, i)->id, want[i]);
        ck_assert_str_eq(item(2, i)->name, names[i]);
        ck_assert(!item(2, i)->is_error);
    }
    ck_assert_str_eq((const char *)item(2, 1)->items[0]->text.data, "second");
    ck_assert_uint_eq(item(2, 3)->kind, MCPLUG_ITEM_TEXT);
}
END_TEST

START_TEST(an_answer_that_nothing_waits_for_is_refused)
{
    ck_assert_int_eq(mcplug_thread_answer(thread, "a", "x", &err), MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "no use of a tool waits for this answer");
    parse(json(ASKS));
    ck_assert_int_eq(mcplug_thread_answer(thread, "d", "x", &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_thread_answer(thread, "a", "x", &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_answer(thread, "a", "x", &err), MCPLUG_EINVAL);
    ck_assert_uint_eq(message(2).n_items, 1);
}
END_TEST

START_TEST(what_was_said_is_taken_back_and_nothing_else)
{
    parse(json("{'messages':[{'role':'user','content':[{'type':'text','text':'a'}]},"
               "{'role':'assistant','content':[{'type':'tool_use','id':'u','name':'t',"
               "'input':{}}]},{'role':'user','content':[{'type':'tool_result',"
               "'toolUseId':'u','name':'t','content':[]}]}]}"));
    char *before = strdup(mcplug_thread_json(thread, NULL));
    size_t bytes = thread->bytes;
    ck_assert_int_eq(mcplug_thread_take_back(thread, 0, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_take_back(thread, 1, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_thread_say(thread, "b"), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_say(thread, "c"), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_take_back(thread, 3, &err), MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "3 items were to be taken back, and the user has said 2");
    ck_assert_int_eq(mcplug_thread_take_back(thread, 2, &err), MCPLUG_OK);
    ck_assert_str_eq(mcplug_thread_json(thread, NULL), before);
    ck_assert_uint_eq(thread->bytes, bytes);
    free(before);
    mcplug_thread_free(thread);
    thread = mcplug_thread_new();
    ck_assert_int_eq(mcplug_thread_say(thread, "b"), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_take_back(thread, 1, &err), MCPLUG_OK);
    ck_assert_uint_eq(mcplug_thread_count(thread), 0); /* no empty message */
    ck_assert_int_eq(mcplug_thread_take_back(thread, 1, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_thread_take_back(NULL, 1, &err), MCPLUG_EINVAL);
}
END_TEST

START_TEST(closing_a_turn_answers_what_is_open_and_nothing_else)
{
    parse(json(ASKS));
    ck_assert_int_eq(mcplug_thread_answer(thread, "b", "mine", &err), MCPLUG_OK);
    ck_assert_int_eq(mp_thread_close_turn(thread, "Too late.", &err), MCPLUG_OK);
    ck_assert_uint_eq(message(2).n_items, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct mcplug_item *r = item(2, i);
        ck_assert_int_eq(r->is_error != 0, i != 1);
        ck_assert_str_eq((const char *)r->items[0]->text.data,
                         i == 1 ? "mine" : "Too late.");
    }
    ck_assert_int_eq(mp_thread_close_turn(thread, "Again.", &err), MCPLUG_OK);
    ck_assert_uint_eq(message(2).n_items, 3);
    ck_assert_uint_eq(mcplug_thread_count(thread), 3);
}
END_TEST

/* ---- JSON ---- */

/* Each as it is written; with ' for ". */
static const char *const written[] = {
    "{'messages':[\n]}\n",
    "{'messages':[\n{'role':'user','content':[{'type':'text','text':'a\\u0000\\n\\u0001"
    "\\\\ "
    "\xc3\xa9'}]}\n]}\n",
    ASKS,
    "{'messages':[\n{'role':'user','content':[{'type':'image','data':'AAAA',"
    "'mimeType':'image/gif'},{'type':'document','data':'AA==',"
    "'mimeType':'application/pdf','name':'b.pdf'},{'type':'document','data':'AA==',"
    "'mimeType':'application/pdf'}]},\n"
    "{'role':'assistant','content':[{'type':'text','text':'Hm.'},{'type':'tool_use',"
    "'id':'i','name':'n','input':{ 'deep' : [1.50, {'a':[]}] ,'x':'\\u0041'}}],"
    "'raw':{'type':'script','model':'m1','turn':[ {'thinking':'\\u0042', 'n':1.0} ]}},\n"
    "{'role':'user','content':[{'type':'tool_result','toolUseId':'i','name':'n',"
    "'isError':true,'content':[{'type':'text','text':'no'},{'type':'image',"
    "'data':'AAAA','mimeType':'image/png'}]},{'type':'text','text':'and'}]},\n"
    "{'role':'assistant','content':[{'type':'text','text':'Done.'}],"
    "'raw':{'type':'script','model':'m1'}}\n]}\n",
    "{'messages':[\n{'role':'user','content':[{'type':'text','text':'x'}]},\n"
    "{'role':'assistant','content':[{'type':'tool_use','id':'i','name':'','input':{}}]},"
    "\n{'role':'user','content':[{'type':'tool_result','toolUseId':'i','name':'',"
    "'content':[]}]}\n]}\n",
};

START_TEST(json_is_the_same_there_and_back)
{
    char *text = strdup(json(written[_i]));
    size_t len = 0;

    parse(text);
    ck_assert_str_eq(mcplug_thread_json(thread, &len), text);
    ck_assert_uint_eq(len, strlen(text));
    ck_assert_ptr_eq(mcplug_thread_json(thread, NULL), mcplug_thread_json(thread, NULL));
    free(text);
}
END_TEST

START_TEST(json_is_written_anew_when_the_thread_has_changed)
{
    mcplug_thread_say(thread, "one");
    ck_assert_ptr_nonnull(strstr(mcplug_thread_json(thread, NULL), "one"));
    mcplug_thread_say(thread, "two");
    ck_assert_ptr_nonnull(strstr(mcplug_thread_json(thread, NULL), "two"));
}
END_TEST

START_TEST(raw_turns_are_shown_to_the_model_that_said_them_alone)
{
    static const char *const asked[][2] = {
        {"script", "m1"}, {"script", "m2"}, {"other", "m1"}};
    parse(json(written[3]));
    for (size_t i = 0; i < MP_COUNT(asked); i++) {
        mp_thread_show_raw(thread, asked[i][0], asked[i][1]);
        const struct mcplug_message *m = thread->messages[1];
        if (i == 0)
            ck_assert(mp_bytes_eq(m->raw, "[ {\"thinking\":\"\\u0042\", \"n\":1.0} ]"));
        else
            ck_assert_uint_eq(m->raw.len, 0);
        ck_assert_uint_eq(message(1).raw.len, 0); /* never to the program */
    }
}
END_TEST

START_TEST(what_is_written_otherwise_is_put_in_order)
{
    parse(json(
        "{'messages':[{'role':'user','content':[{'type':'text','text':'1'}]},"
        "{'role':'user','content':[{'type':'text','text':'2'}]},"
        "{'role':'assistant','content':[" USE("a", "x") "," USE(
            "b", "y") "]},"
                      "{'role':'user','content':[{'type':'text','text':'3'},"
                      "{'type':'tool_result','toolUseId':'b','content':[]}]},"
                      "{'role':'assistant','content':[{'type':'text','text':'4'}]}]}"));
    ck_assert_uint_eq(mcplug_thread_count(thread), 4);
    ck_assert_uint_eq(message(0).n_items, 2);
    ck_assert_uint_eq(message(2).n_items, 3);
    ck_assert_str_eq(item(2, 0)->id, "a"); /* nobody had answered */
    ck_assert(item(2, 0)->is_error);
    ck_assert_str_eq((const char *)item(2, 0)->items[0]->text.data,
                     "There was no answer.");
    ck_assert_str_eq(item(2, 1)->id, "b");
    ck_assert_str_eq(item(2, 1)->name, "y"); /* of the use */
    ck_assert_str_eq((const char *)item(2, 2)->text.data, "3");
}
END_TEST

#define SAID(block) "{'messages':[{'role':'user','content':[" block "]}]}"
#define ANSWERED(block)                                                                  \
    "{'messages':[{'role':'user','content':[{'type':'text','text':'x'}]},"               \
    "{'role':'assistant','content':[" block "]}]}"
#define RETURNED(block)                                                                  \
    "{'messages':[{'role':'user','content':[{'type':'text','text':'x'}]},"               \
    "{'role':'assistant','content':[" USE(                                               \
        "a", "n") "]},{'role':'user','content':[" block "]}]}"
#define WITH_RAW(raw)                                                                    \
    "{'messages':[{'role':'user','content':[{'type':'text','text':'x'}]},"               \
    "{'role':'assistant','content':[{'type':'text','text':'y'}],'raw':" raw "}]}"

static const struct {
    const char *json, *words; /* how the error begins; NULL: whatever the scan says */
} hostile[] = {
    {"", NULL},
    {"{", NULL},
    {"{'messages':[]}}", NULL},
    {"[]", "there is no array \"messages\""},
    {"{}", "there is no array \"messages\""},
    {"{'messages':{}}", "there is no array \"messages\""},
    {"{'messages':[7]}", "messages[0]: \"role\" is neither user nor assistant"},
    {"{'messages':[{'role':'system','content':[]}]}",
     "messages[0]: \"role\" is neither user nor assistant"},
    {"{'messages':[{'role':'user'}]}", "messages[0]: \"content\" is no array, or empty"},
    {"{'messages':[{'role':'user','content':[]}]}",
     "messages[0]: \"content\" is no array, or empty"},
    {"{'messages':[{'role':'user','content':'x'}]}",
     "messages[0]: \"content\" is no array, or empty"},
    {"{'messages':[{'role':'assistant','content':[{'type':'text','text':'x'}]}]}",
     "messages[0]: the assistant answers nothing"},
    {"{'messages':[{'role':'user','content':[{'type':'text','text':'x'}]},"
     "{'role':'assistant','content':[{'type':'text','text':'x'}]},"
     "{'role':'assistant','content':[{'type':'text','text':'x'}]}]}",
     "messages[2]: the assistant answers nothing"},
    {SAID("7"), "messages[0].content[0]: its \"type\" is none of text, image, "},
    {SAID("{'type':'audio'}"), "messages[0].content[0]: its \"type\" is none of "},
    {SAID("{'type':'text','text':'a'},{'type':'text'}"),
     "messages[0].content[1]: \"text\" is not a string"},
    {SAID("{'type':'text','text':7}"),
     "messages[0].content[0]: \"text\" is not a string"},
    {SAID("{'type':'image','mimeType':'image/png'}"),
     "messages[0].content[0]: \"data\" is not a string"},
    {SAID("{'type':'image','data':'AAAA'}"),
     "messages[0].content[0]: \"mimeType\" is missing"},
    {SAID("{'type':'image','data':'AAAA','mimeType':7}"),
     "messages[0].content[0]: \"mimeType\" is not a string"},
    {SAID("{'type':'image','data':'AAAA','mimeType':'image/tiff'}"),
     "messages[0].content[0]: \"image/tiff\" is no type of an image"},
    {SAID("{'type':'image','data':'A','mimeType':'image/png'}"),
     "messages[0].content[0]: an image or document that is not Base64"},
    {SAID("{'type':'document','data':'AAAA','mimeType':'application/pdf','name':7}"),
     "messages[0].content[0]: \"name\" is not a string"},
    {SAID(USE("a", "n")), "messages[0].content[0]: it is of a type that this role "},
    {SAID(RESULT("a", "n", "x")),
     "messages[0].content[0]: it is the result of no use before it"},
    {ANSWERED("{'type':'image','data':'AAAA','mimeType':'image/png'}"),
     "messages[1].content[0]: it is of a type that this role does not say"},
    {ANSWERED(RESULT("a", "n", "x")), "messages[1].content[0]: it is of a type that "},
    {ANSWERED("{'type':'tool_use','name':'n','input':{}}"),
     "messages[1].content[0]: \"id\" is missing"},
    {ANSWERED("{'type':'tool_use','id':'','name':'n','input':{}}"),
     "messages[1].content[0]: \"id\" is empty"},
    {ANSWERED("{'type':'tool_use','id':'a','input':{}}"),
     "messages[1].content[0]: \"name\" is missing"},
    {ANSWERED("{'type':'tool_use','id':7,'name':'n','input':{}}"),
     "messages[1].content[0]: \"id\" is not a string"},
    {ANSWERED("{'type':'tool_use','id':'a','name':'n','input':[]}"),
     "messages[1].content[0]: \"input\" is not an object"},
    {ANSWERED("{'type':'tool_use','id':'a','name':'n'}"),
     "messages[1].content[0]: \"input\" is not an object"},
    {ANSWERED(USE("a", "n") "," USE("a", "m")),
     "messages[1].content[1]: another use in this message has the same \"id\""},
    {RETURNED(RESULT("b", "n", "x")),
     "messages[2].content[0]: it is the result of no use before it"},
    {RETURNED(RESULT("a", "n", "x") "," RESULT("a", "n", "x")),
     "messages[2].content[1]: it is the result of no use before it"},
    {RETURNED("{'type':'tool_result','content':[]}"),
     "messages[2].content[0]: \"toolUseId\" is missing"},
    {RETURNED("{'type':'tool_result','toolUseId':'a'}"),
     "messages[2].content[0]: \"content\" of a result is not an array"},
    {RETURNED("{'type':'tool_result','toolUseId':'a','isError':'no','content':[]}"),
     "messages[2].content[0]: \"isError\" is not true or false"},
    {RETURNED("{'type':'tool_result','toolUseId':'a','content':[7]}"),
     "messages[2].content[0]: a result has text, images and documents only"},
    {RETURNED("{'type':'tool_result','toolUseId':'a','content':[{'type':'text'}]}"),
     "messages[2].content[0]: \"text\" is not a string"},
    {RETURNED("{'type':'tool_result','toolUseId':'a','content':[" USE("a", "b") "]}"),
     "messages[2].content[0]: a result has text, images and documents only"},
    {WITH_RAW("7"), "messages[1].raw: \"type\" or \"model\" is not a string"},
    {WITH_RAW("{'type':'t'}"), "messages[1].raw: \"type\" or \"model\" is not a string"},
    {WITH_RAW("{'type':'t','model':7,'turn':[]}"),
     "messages[1].raw: \"type\" or \"model\" is not a string"},
};

START_TEST(hostile_json_is_refused_and_the_place_is_named)
{
    const char *text = json(hostile[_i].json), *words = hostile[_i].words;

    ck_assert_ptr_null(mcplug_thread_parse(text, strlen(text), &err));
    ck_assert_int_eq(err.code, MCPLUG_EPROTO);
    ck_assert_msg(*err.text && (!words || strstr(err.text, words) == err.text), "%s: %s",
                  text, err.text);
    ck_assert_ptr_null(mcplug_thread_parse(text, strlen(text), NULL));
}
END_TEST

/* ---- bounds ---- */

START_TEST(a_message_has_so_many_items_and_not_one_more)
{
    for (size_t i = 0; i < MP_MESSAGE_ITEMS; i++)
        HOLDS(mcplug_thread_say(thread, "x") == MCPLUG_OK, "%zu", i);
    struct mcplug_item more = {
        .struct_size = sizeof more, .kind = MCPLUG_ITEM_TEXT, .text = mp_text("y")};
    ck_assert_int_eq(mcplug_thread_add(thread, &more, &err), MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "a message has at most 8192 items");
    ck_assert_uint_eq(message(0).n_items, MP_MESSAGE_ITEMS);
}
END_TEST

START_TEST(a_thread_has_so_many_messages_and_not_one_more)
{
    for (size_t i = 0; i < MP_THREAD_MESSAGES; i++) {
        enum mcplug_role role = i % 2 ? MCPLUG_ROLE_ASSISTANT : MCPLUG_ROLE_USER;
        HOLDS(mp_thread_put(thread, role,
                            mp_item_new(MCPLUG_ITEM_TEXT, mp_text("x"), NULL, NULL, NULL),
                            &err) == MCPLUG_OK,
              "%zu: %s", i, err.text);
    }
    struct mcplug_item more = {
        .struct_size = sizeof more, .kind = MCPLUG_ITEM_TEXT, .text = mp_text("y")};
    ck_assert_int_eq(mcplug_thread_add(thread, &more, &err), MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "the thread has 100000 messages");
    ck_assert_uint_eq(mcplug_thread_count(thread), MP_THREAD_MESSAGES);
    size_t len = 0;
    const char *text = mcplug_thread_json(thread, &len);
    mcplug_thread *again = mcplug_thread_parse(text, len, &err);
    ck_assert_msg(again != NULL, "%s", err.text);
    ck_assert_uint_eq(mcplug_thread_count(again), MP_THREAD_MESSAGES);
    mcplug_thread_free(again);
}
END_TEST

START_TEST(a_thread_holds_so_many_bytes_and_not_one_more)
{
    size_t piece = (size_t)8 << 20;
    struct mcplug_item long_one = {
        .struct_size = sizeof long_one, .kind = MCPLUG_ITEM_TEXT, .text = {NULL, piece}};
    char *text = malloc(piece);

    if (is_slow()) {
        free(text);
        return;
    }
    memset(text, 'x', piece);
    long_one.text.data = (const unsigned char *)text;
    for (size_t i = 0; i < MP_THREAD_BYTES / piece - 1; i++)
        ck_assert_int_eq(mcplug_thread_add(thread, &long_one, &err), MCPLUG_OK);
    long_one.text.len = MP_THREAD_BYTES - thread->bytes - sizeof long_one + 1;
    ck_assert_int_eq(mcplug_thread_add(thread, &long_one, &err), MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "the thread is full: it holds 256 MiB");
    long_one.text.len--;
    ck_assert_int_eq(mcplug_thread_add(thread, &long_one, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_say(thread, ""), MCPLUG_ETOOBIG);
    ck_assert_uint_eq(thread->bytes, MP_THREAD_BYTES);
    free(text);
}
END_TEST

/* A message that begins with an item that does not fit is not begun. */
START_TEST(what_does_not_fit_leaves_no_message_behind)
{
    mcplug_thread_say(thread, "x");
    size_t bytes = thread->bytes;
    thread->bytes = MP_THREAD_BYTES;
    ck_assert_int_eq(
        mp_thread_put(thread, MCPLUG_ROLE_ASSISTANT,
                      mp_item_new(MCPLUG_ITEM_TEXT, mp_text("y"), NULL, NULL, NULL),
                      &err),
        MCPLUG_ETOOBIG);
    ck_assert_uint_eq(mcplug_thread_count(thread), 1);
    thread->bytes = bytes;
}
END_TEST

START_TEST(what_nests_as_deep_as_it_may_is_read_back)
{
    char deep[MP_THREAD_DEPTH * 2 + 1] = "";

    memset(deep, '[', MP_THREAD_DEPTH - 1);
    memset(deep + MP_THREAD_DEPTH - 1, ']', MP_THREAD_DEPTH - 1);
    deep[(MP_THREAD_DEPTH - 1) * 2] = '\0';
    char text[1024];
    snprintf(text, sizeof text,
             ANSWERED("{'type':'tool_use','id':'a','name':'n','input':{'x':%s}}"), deep);
    parse(json(text));
    snprintf(text, sizeof text, WITH_RAW("{'type':'t','model':'m','turn':[%s]}"), deep);
    parse(json(text));
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_is_said_without_a_run_in_between_is_one_message);
    tcase_add_loop_test(tc, what_models_do_not_take_is_refused_in_words, 0,
                        MP_COUNT(refused));
    tcase_add_test(tc, null_is_refused_and_nothing_is_a_thread);
    tcase_add_test(tc, answers_stand_in_the_order_of_the_uses_whenever_they_come);
    tcase_add_test(tc, an_answer_that_nothing_waits_for_is_refused);
    tcase_add_test(tc, what_was_said_is_taken_back_and_nothing_else);
    tcase_add_test(tc, closing_a_turn_answers_what_is_open_and_nothing_else);
    tcase_add_loop_test(tc, json_is_the_same_there_and_back, 0, MP_COUNT(written));
    tcase_add_test(tc, json_is_written_anew_when_the_thread_has_changed);
    tcase_add_test(tc, raw_turns_are_shown_to_the_model_that_said_them_alone);
    tcase_add_test(tc, what_is_written_otherwise_is_put_in_order);
    tcase_add_loop_test(tc, hostile_json_is_refused_and_the_place_is_named, 0,
                        MP_COUNT(hostile));
    tcase_add_test(tc, a_message_has_so_many_items_and_not_one_more);
    tcase_add_test(tc, a_thread_has_so_many_messages_and_not_one_more);
    tcase_add_test(tc, a_thread_holds_so_many_bytes_and_not_one_more);
    tcase_add_test(tc, what_does_not_fit_leaves_no_message_behind);
    tcase_add_test(tc, what_nests_as_deep_as_it_may_is_read_back);
}

int main(void)
{
    Suite *suite = suite_create("run_thread");
    TCase *tc = tcase_create("run_thread");
    add(tc);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
