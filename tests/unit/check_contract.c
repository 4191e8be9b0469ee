/* The kit: it must find what each unruly module does, and nothing in the others. */
#include "helpers/check/kit.h"
#include "plugin/props.h"

#include "plugin_modules.h"

static char findings[32][512]; /* "ok .." or "FAILED .." */
static size_t n_findings;

/* A leak checker, when there is one, asks this in the end: the kit leaves alone what
 * hangs on a module that would not end. */
static bool leaks;
MCPLUG_VISIBLE int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return leaks;
}

static void on_finding(void *arg, bool passed, const char *line)
{
    (void)arg;
    ck_assert_uint_lt(n_findings, MP_COUNT(findings));
    snprintf(findings[n_findings++], sizeof findings[0], "%s %.480s",
             passed ? "ok" : "FAILED", line);
}

static const char *const *behind; /* the words behind --; NULL: none */

static int check(const char *module, const mcplug_props *settings)
{
    const struct mp_kit_report report = {.finding = on_finding};
    const char *file = place(module, "x.so");
    n_findings = 0;
    return mp_plugin_contract(file, settings, behind, &report, &err);
}

static bool found(const char *finding)
{
    for (size_t i = 0; i < n_findings; i++)
        if (strcmp(findings[i], finding) == 0)
            return true;
    for (size_t i = 0; i < n_findings; i++)
        printf("%s\n", findings[i]);
    return false;
}

#define T "transport \"unruly\": "

static const struct {
    const char *module;
    int failed;
    const char *finding;
} unruly[] = {
    {"not", 0, "ok " T "everything in order and counted"},
    {"opens_twice", 1, "FAILED " T "opened() more than once"},
    {"never_opens", 1, "FAILED " T "neither opened() nor closed() within 5 s of open()"},
    {"feeds_before_opened", 1, "FAILED " T "feed() before opened()"},
    {"feeds_after_closed", 1, "FAILED " T "feed() after closed()"},
    {"closes_twice", 1, "FAILED " T "closed() more than once"},
    {"never_closes", 1, "FAILED " T "closed() did not come within 5 s of close()"},
    {"keeps_frame", 1, "FAILED " T "send() takes the frame, but it was never dropped"},
    {"drops_frame_twice", 1, "FAILED " T "the frame was dropped more than once"},
    {"written_unknown", 1, "FAILED " T "written() for a serial that was never sent"},
    {"written_unqueued", 1, "FAILED " T "written() for a frame that was not queued"},
    {"never_written", 1, "FAILED " T "written() did not follow MCPLUG_QUEUED within 5 s"},
    {"unknown_exchange", 1, "FAILED " T "feed() for an exchange that was never begun"},
    {"other_thread", 1, "FAILED " T "called remark() on another thread"},
    {"calls_after_failure", 2, "FAILED " T "calls followed an open() that failed"},
    {"cannot_connect", 1, "FAILED " T "could not connect: go away"},
    {"remarks_and_fails", 1,
     "FAILED " T "could not connect: go away; the last remark was: x"},
    {"ends_by_itself", 0,
     "ok warning: " T "the connection ended by itself: the peer left"},
    {"exchange_fails", 0, "ok warning: " T "the exchange failed: the peer left"},
    {"logs_warning", 0, "ok warning: it logged: the moon is full"},
    {"send_fails", 0, "ok warning: " T "send() failed: one at a time"},
    {"send_fails_silently", 1, "FAILED " T "send() failed: no reason given"},
    {"no_license", 1, "FAILED the descriptor has no license"},
    {"bad_fallback", 1,
     "FAILED \"unruly\": the fallback \"soon\" of the option \"wait\" is not of its type "
     "\"duration\""},
    {"list_fallback", 1,
     "FAILED \"unruly\": the option \"tags\" is a list and cannot have a fallback"},
    {"upper_accepts", 1,
     "FAILED transport \"unruly\": accepts \"Unruly\", which is not a URL scheme in "
     "lower "
     "case"},
    {"exports", 0,
     "ok warning: exports 1 symbols besides mcplug_plugin_1, "
     "such as \"helpful_little_function\"; hide them with -fvisibility=hidden"},
    {"needs_settings", 0, "ok " T "needs: url, token"},
    {"timer_left", 1, "ok warning: 1 timers or watches are running without any instance"},
    {"timer_left", 1, "FAILED 1 timers or watches still run after fini()"},
    {"timer_after_fini", 1, "FAILED 1 timers or watches still run after fini()"},
    {"leaks_memory", 1,
     "FAILED 1 blocks of host->mem with 100 bytes were not freed by the end of fini()"},
    {"leaks_resized", 1,
     "FAILED 1 blocks of host->mem with 200 bytes were not freed by the end of fini()"},
    {"leaks_buffer", 1,
     "FAILED 1 blocks of host->mem with 1 bytes were not freed by the end of fini()"},
    {"leaks_in_init", 1,
     "FAILED 2 blocks of host->mem with 20 bytes were not freed by the end of fini()"},
    {"closes_stdin", 1, "FAILED closed descriptor 0, which was not its own"},
    {"prints", 1,
     "FAILED " T "send() wrote to stdout, which belongs to the program: hello from "
     "unruly"},
    {"writes_stdout", 1,
     "FAILED " T "send() wrote to stdout, which belongs to the program: raw"},
    {"signal_handler", 1,
     "FAILED " T "send() changed the handler of signal 13 (Broken pipe)"},
    {"blocks_signal", 1, "FAILED " T "send() blocked signal 10 (User defined signal 1)"},
    {"umask", 1, "FAILED " T "send() changed the umask from 0022 to 0027"},
    {"sets_environment", 1, "FAILED " T "send() set the environment variable UNRULY"},
    {"unsets_environment", 1,
     "FAILED " T "send() removed the environment variable MCPLUG_UNRULY_TEST"},
    {"strange_result", 1, "FAILED " T "send() returned the unknown code 7"},
    {"ends_without_cap", 1,
     "FAILED " T "exchange_end() without MCPLUG_CAN_EXCHANGE in its caps"},
    {"endless_send", 1, "FAILED " T "send() did not return within 10 s"},
    {"endless_timer", 1,
     "FAILED " T "a callback of its timers or watches did not return within 10 s"},
    {"endless_fini", 1, "FAILED fini() did not return within 10 s"},
    {"match_beyond", 1,
     "FAILED converter \"unruly\": match() says 101 for text/x-unruly"},
};

START_TEST(what_an_unruly_module_does_is_found_and_nothing_else)
{
    char module[64];
    leaks = true;
    snprintf(module, sizeof module, "unruly_%s.so", unruly[_i].module);
    umask(022);
    setenv("MCPLUG_UNRULY_TEST", "1", 1);
    int failed = check(module, NULL);
    ck_assert_msg(found(unruly[_i].finding), "not found: %s", unruly[_i].finding);
    ck_assert_int_eq(failed, unruly[_i].failed);
}
END_TEST

/* ---- asked once: probes of a real server, vaults, locators ---- */

#define S "the server \"mcplug-example-server\""

static const struct {
    const char *module;
    const char *word; /* behind --; NULL: none, ".": a server */
    int failed;
    const char *finding;
} asked[] = {
    {"probe_good", NULL, 0,
     "ok probe \"asked\": not started, because it needs a server; pass -- SERVER"},
    {"probe_good", ".", 0, "ok probe \"asked\": says that " S " is alive"},
    {"probe_silent", ".", 1, "FAILED probe \"asked\": no verdict within 3 s"},
    {"probe_twice", ".", 1, "FAILED probe \"asked\": verdict() more than once"},
    {"probe_no_reason", ".", 1,
     "FAILED probe \"asked\": verdict() for a reason without a text"},
    {"vault_good", NULL, 0,
     "ok vault \"asked\": not called, because it may prompt the user; pass -- SECRET"},
    {"vault_good", "TOKEN", 0, "ok vault \"asked\": returned a secret of 6 bytes"},
    {"vault_good", "?", 0, "ok vault \"asked\": returned no secret: there is no \"?\""},
    {"vault_nothing", "TOKEN", 1, "FAILED vault \"asked\": get() returned no secret"},
    {"vault_no_reason", "TOKEN", 1,
     "FAILED vault \"asked\": get() failed without a reason"},
    {"vault_strange", "TOKEN", 1,
     "FAILED vault \"asked\": get() returned the unknown code 7"},
    {"locator_good", NULL, 0,
     "ok locator \"asked\": not called: pass settings, or -- SERVER"},
    {"locator_good", "x", 0,
     "ok locator \"asked\": found a server by the transport \"stdio\""},
    {"locator_silent", "x", 1, "FAILED locator \"asked\": named no transport"},
    {"locator_itself", "x", 1, "FAILED locator \"asked\": names itself as the transport"},
    {"locator_nonsense", "x", 1,
     "FAILED locator \"asked\": returned an invalid answer (EINVAL)"},
    {"locator_greets_badly", "x", 1,
     "FAILED locator \"asked\": the parameters of its notification are not a JSON "
     "object"},
    {"locator_hangs", "x", 1,
     "FAILED locator \"asked\": locate() did not return within "
     "10 s"},
};

START_TEST(what_is_asked_on_request_and_answers_wrongly_is_named)
{
    char module[64], server[4096];
    const char *words[] = {asked[_i].word, NULL};

    leaks = true;
    snprintf(module, sizeof module, "asked_%s.so", asked[_i].module);
    snprintf(server, sizeof server, "%s/examples/mcplug-example-server",
             getenv("MCPLUG_BUILD") ? getenv("MCPLUG_BUILD") : ".");
    if (words[0] && strcmp(words[0], ".") == 0) {
        char path[sizeof server];
        const char *build = getenv("MCPLUG_BUILD") ? getenv("MCPLUG_BUILD") : ".";
        snprintf(path, sizeof path, "%s/plugins/.libs", build);
        setenv("MCPLUG_PLUGIN_PATH", path, 1); /* the transport, of ours */
        snprintf(path, sizeof path, "%s/helpers", build);
        setenv("MCPLUG_HELPER_PATH", path, 1);
        words[0] = server;
    }
    behind = words[0] ? words : NULL;
    int failed = check(module, NULL);
    ck_assert_msg(found(asked[_i].finding), "not found: %s", asked[_i].finding);
    ck_assert_int_eq(failed, asked[_i].failed);
}
END_TEST

START_TEST(a_server_that_cannot_be_had_is_told)
{
    const char *words[] = {"/nonexistent/server", NULL};

    behind = words;
    ck_assert_int_eq(check("asked_probe_good.so", NULL), 1);
    ck_assert(found(
        "ok probe \"asked\": not started, because it needs a server; pass -- SERVER"));
}
END_TEST

START_TEST(a_locator_is_asked_with_its_settings)
{
    mcplug_props *settings = mp_props_new();

    mp_props_set(settings, "program", "x");
    ck_assert_int_eq(check("asked_locator_good.so", settings), 0);
    ck_assert(found("ok locator \"asked\": found a server by the transport \"stdio\""));
    mp_props_set(settings, "progam", "x");
    ck_assert_int_eq(check("asked_locator_good.so", settings), 1);
    ck_assert(found("FAILED locator \"asked\": unknown setting \"progam\"; did you mean "
                    "\"program\"?"));
    mp_props_free(settings);
}
END_TEST

/* ---- models ---- */

#define M "model \"models\": "

static const struct {
    const char *module;
    int failed;
    const char *finding;
} models[] = {
    {"good", 0, "ok " M "everything in order and counted, and an answer came"},
    {"good_counts", 0, "ok " M "everything in order and counted, and an answer came"},
    {"good_cannot_count", 0, "ok " M "count() failed: this one cannot"},
    {"ends_twice", 1, "FAILED " M "end() more than once"},
    {"says_after_end", 1, "FAILED " M "text() after end()"},
    {"says_after_drop", 2, "FAILED " M "text() after drop()"},
    {"never_ends", 1, "FAILED " M "no end() within 10 s of ask()"},
    {"nameless_call", 1, "FAILED " M "call() without the name of a tool"},
    {"not_utf8", 1, "FAILED " M "text() that is not UTF-8"},
    {"raw_not_json", 1, "FAILED " M "raw() of what is not JSON"},
    {"raw_twice", 1, "FAILED " M "raw() more than once"},
    {"usage_unsized", 1,
     "FAILED " M "usage() without its struct, or a struct_size of it"},
    {"no_usage", 0, "ok warning: " M "usage() was not called"},
    {"says_nothing", 0, "ok " M "everything in order and counted, and an answer came"},
    {"other_thread", 1, "FAILED " M "called text() on another thread"},
    {"no_code", 1, "FAILED " M "end() for a reason without an error code"},
    {"no_reason", 1, "FAILED " M "end() for a reason without a text"},
    {"fails", 0, "ok warning: " M "ask() ended with an error: go away"},
    {"strange_stop", 1, "FAILED " M "end() with an unknown mcplug_stop"},
    {"ask_fails", 2, "FAILED " M "ask() failed: not today"},
    {"ends_after_failure", 4, "FAILED " M "end() followed ask(), which failed"},
    {"open_fails", 1, "FAILED " M "open() failed: closed"},
    {"no_options", 7,
     "FAILED " M "the option \"contextTokens\", an int, is missing; declare "
     "MCPLUG_MODEL_OPTIONS"},
    {"keeps_request", 1,
     "FAILED 2 blocks of host->mem with 48 bytes were not freed by the end of fini()"},
    {"counts_nothing", 1, "FAILED " M "count() ended without usage()"},
    {"web_ends_well", 6, "FAILED " M "HTTP 401: end() says that all went well"},
    {"web_wrong_code", 1,
     "FAILED " M "HTTP 401: end() has the error \"EPEER\", not \"EAUTH\""},
    {"web_elsewhere", 0, "ok warning: " M "nothing arrived at the URL that it was given"},
    {"web_forgets_retry", 0,
     "ok warning: " M "HTTP 429: the core is not told that it may ask again, or when: "
     "MCPLUG_ERROR_RETRY, retry_after()"},
};

START_TEST(a_model_that_breaks_a_rule_is_found_and_no_other)
{
    char module[64];

    snprintf(module, sizeof module, "models_%s.so", models[_i].module);
    int failed = check(module, NULL);
    ck_assert_msg(found(models[_i].finding), "not found: %s", models[_i].finding);
    ck_assert_int_eq(failed, models[_i].failed);
}
END_TEST

START_TEST(our_own_models_keep_the_contract_whatever_an_endpoint_does)
{
    static const char *const files[] = {"anthropic", "openai", "gemini"};
    const struct mp_kit_report report = {.finding = on_finding};
    const char *build = getenv("MCPLUG_BUILD");
    char path[4096];

    snprintf(path, sizeof path, "%s/plugins/.libs/%s.so", build ? build : ".", files[_i]);
    if (access(path, R_OK) != 0) {
        printf("skipped what needs: %s\n", files[_i]);
        return;
    }
    n_findings = 0;
    int failed = mp_plugin_contract(path, NULL, NULL, &report, &err);
    for (size_t i = 0; i < n_findings; i++)
        ck_assert_msg(!strstr(findings[i], "warning") && !strstr(findings[i], "FAILED"),
                      "%s", findings[i]);
    ck_assert_int_eq(failed, 0);
}
END_TEST

/* ---- converters, which get a file ---- */

#define C "converter \"converts\": "
#define FINE                                                                             \
    "ok " C "in order on two threads, cancelled, within limits and with parts of the "   \
    "file"

static const struct {
    const char *module;
    int failed;
    const char *finding;
} converts[] = {
    {"well", 0, "ok " C "text/plain to text/plain: 12 bytes of text/plain"},
    {"well", 0, FINE},
    {"to_file", 0, "ok " C "text/plain to text/plain: 12 bytes of text/plain"},
    {"to_file", 0, FINE},
    {"refuses", 0, "ok " C "text/plain to text/plain: refused: it is only text"},
    {"likes_nothing", 0,
     "ok warning: " C "not called: match() likes no type that text/plain could become"},
    {"no_type", 1, "FAILED " C "gave no mime type"},
    {"type_of_input", 1, "FAILED " C "out->mime is not static text"},
    {"odd_type", 1,
     "FAILED " C "gave \"text/plain; charset=utf-8\", which is not a mime type in lower "
     "case"},
    {"other_type", 1, "FAILED " C "was asked for text/plain and gave text/html"},
    {"nothing", 1, "FAILED " C "convert() returned neither a body nor a file"},
    {"both", 1, "FAILED " C "gave both a body and a file"},
    {"short_file", 1, "FAILED " C "gave a file that is shorter than out->size"},
    {"pipe", 1, "FAILED " C "gave a descriptor that is not a file"},
    {"no_cloexec", 1, "FAILED " C "gave a file that is not close-on-exec"},
    {"input_file", 1, "FAILED " C "gave back the file that it was given"},
    {"latin", 1, "FAILED " C "gave text/plain that is not UTF-8"},
    {"no_png", 1, "FAILED " C "gave image/png that is none"},
    {"beyond_limit", 1, "FAILED " C "gave more bytes than max_bytes allows"},
    {"limit_zero", 1, "FAILED " C "convert() fails without limits: it is too long"},
    {"no_reason", 1, "FAILED " C "convert() failed without a reason"},
    {"strange", 1, "FAILED " C "convert() returned the unknown code 7"},
    {"fails_with_body", 1, "FAILED " C "convert() failed, but gave a result"},
    {"changes_body", 1, "FAILED " C "convert() changed the body that it was given"},
    {"changes_file", 1, "FAILED " C "convert() changed the file that it was given"},
    {"closes_file", 1, "FAILED " C "convert() closed the file that it was given"},
    {"keeps_body", 1,
     "FAILED " C "convert() kept a reference to the body that it was given"},
    {"drops_body", 1, "FAILED " C "convert() dropped the body that it was given"},
    {"leaks_body", 1,
     "FAILED 9 blocks of host->mem with 78 bytes were not freed by the end of fini()"},
    {"counts_calls", 1, "FAILED " C "on two threads at once the result is another"},
    {"hangs", 1, "FAILED " C "convert() did not return within 10 s"},
    {"bad_fact", 1,
     "FAILED " C "the name \"Pages\" of a fact is not 1 to 32 of a-z, 0-9 and -"},
    {"long_fact", 1,
     "FAILED " C "the value of the fact \"pages\" is not UTF-8 of less than 256 bytes"},
    {"many_facts", 1, "FAILED " C "convert() said more than 16 facts"},
    {"most_facts", 0, FINE},
    {"fact_elsewhere", 1,
     "FAILED " C "fact() was called on another thread than convert()"},
};

static const char *write_file(const char *name, const char *text, size_t len)
{
    const char *path = own(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
    close(fd);
    return path;
}

static int check_with(const char *module, const char *file, const mcplug_props *settings)
{
    const char *words[] = {file, NULL};
    behind = words;
    int failed = check(module, settings);
    behind = NULL;
    return failed;
}

START_TEST(a_converter_that_breaks_a_rule_is_found_and_no_other)
{
    char module[64];
    const char *file = write_file("x.txt", "Hello world\n", 12);

    leaks = true;
    snprintf(module, sizeof module, "converts_%s.so", converts[_i].module);
    int failed = check_with(module, file, NULL);
    ck_assert_msg(found(converts[_i].finding), "not found: %s", converts[_i].finding);
    ck_assert_int_eq(failed, converts[_i].failed);
}
END_TEST

/* Each of these says a number that differs. */
static const struct {
    const char *module, *begins;
} converts_elsewhere[] = {
    {"never_polls", "FAILED " C "took "},
    {"leaks_file", "FAILED descriptor "},
};

START_TEST(a_converter_that_is_slow_to_cancel_or_leaves_files_is_found)
{
    char module[64];
    const char *begins = converts_elsewhere[_i].begins;
    bool seen = false;

    snprintf(module, sizeof module, "converts_%s.so", converts_elsewhere[_i].module);
    ck_assert_int_ge(check_with(module, write_file("x.txt", "Hello", 5), NULL), 1);
    for (size_t i = 0; i < n_findings; i++)
        seen = seen || strncmp(findings[i], begins, strlen(begins)) == 0;
    ck_assert_msg(seen || found(begins), "not found: %s", begins);
}
END_TEST

START_TEST(a_converter_is_not_run_without_a_file)
{
    ck_assert_int_eq(check("upper.so", NULL), 0);
    ck_assert(found("ok converter \"upper\": match() answers"));
    ck_assert(found("ok converter \"upper\": not called: pass -- FILE"));
}
END_TEST

START_TEST(the_example_keeps_every_rule_also_for_an_empty_file)
{
    ck_assert_int_eq(
        check_with("upper.so", write_file("x.txt", "Hello world\n", 12), NULL), 0);
    ck_assert(found("ok converter \"upper\": text/plain: 12 bytes of text/plain; facts: "
                    "changed 9"));
    ck_assert_uint_eq(n_findings, 8);
    ck_assert_int_eq(check_with("upper.so", write_file("x.txt", "", 0), NULL), 0);
    ck_assert(found("ok converter \"upper\": text/plain: 0 bytes of text/plain; facts: "
                    "changed 0"));
}
END_TEST

START_TEST(what_the_bytes_say_comes_before_the_name)
{
    static const char png[] = "\x89PNG\r\n\x1a\n";
    const char *file = write_file("x.txt", png, sizeof png - 1);
    ck_assert_int_eq(check_with("upper.so", file, NULL), 0);
    ck_assert(found("ok warning: converter \"upper\": not called: match() likes no type "
                    "that image/png could become"));
}
END_TEST

START_TEST(a_file_without_an_extension_is_of_the_first_type)
{
    ck_assert_int_eq(check_with("converts_well.so", write_file("x", "a", 1), NULL), 0);
    ck_assert(found("ok warning: " C
                    "not called: match() likes no type that text/html could become"));
}
END_TEST

START_TEST(settings_of_a_converter_are_checked)
{
    mcplug_props *settings = mp_props_new();
    const char *file = write_file("x.txt", "a", 1);

    mp_props_set(settings, "columns", "60");
    ck_assert_int_eq(check_with("converts_well.so", file, settings), 0);
    ck_assert(found(FINE));
    mp_props_set(settings, "columns", "many");
    ck_assert_int_eq(check_with("converts_well.so", file, settings), 1);
    mp_props_free(settings);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_or_is_too_large_is_reported)
{
    const char *file = own("large");
    char line[PATH_MAX + 128];

    snprintf(
        line, sizeof line,
        "FAILED converter \"upper\": not called with %s: it cannot be opened: No such "
        "file or directory",
        file);
    ck_assert_int_eq(check_with("upper.so", file, NULL), 1);
    ck_assert(found(line));
    write_file("large", "", 0);
    ck_assert_int_eq(truncate(file, (50 << 20) + 1), 0);
    snprintf(line, sizeof line,
             "FAILED converter \"upper\": not called with %s: it has more than 50 MiB",
             file);
    ck_assert_int_eq(check_with("upper.so", file, NULL), 1);
    ck_assert(found(line));
}
END_TEST

/* Where the words differ from one machine to the next. */
static const struct {
    const char *module, *begins;
} elsewhere[] = {
    {"leaks_descriptor", "FAILED descriptor "},
    {"locale", "FAILED " T "send() changed the locale from C to LC_CTYPE=C.UTF-8;"},
    {"directory", "FAILED " T "send() changed the working directory from "},
};

START_TEST(what_it_does_to_the_process_is_found)
{
    char module[64];
    unsigned times = 0;

    snprintf(module, sizeof module, "unruly_%s.so", elsewhere[_i].module);
    ck_assert_int_eq(check(module, NULL), 1);
    for (size_t i = 0; i < n_findings; i++)
        times +=
            strncmp(findings[i], elsewhere[_i].begins, strlen(elsewhere[_i].begins)) == 0;
    ck_assert_msg(times == 1 || !found(""), "not found: %s", elsewhere[_i].begins);
    ck_assert_uint_eq(times, 1);
}
END_TEST

START_TEST(a_good_module_passes_everything)
{
    ck_assert_int_eq(check("good.so", NULL), 0);
    ck_assert(found("ok loads as \"good\" 1.0"));
    ck_assert(found("ok descriptor: complete"));
    ck_assert(found("ok exports nothing but mcplug_plugin_1"));
    ck_assert(found("ok init() works again after fini()"));
    ck_assert(found("ok transport \"loopback\": everything in order and counted, and an "
                    "answer came"));
    ck_assert_uint_eq(n_findings, 5);
}
END_TEST

START_TEST(a_module_of_every_minor_keeps_the_contract)
{
    static const char *const modules[] = {"old.so", "old_1.so", "old_2.so", "old_3.so"};
    ck_assert_int_eq(check(modules[_i], NULL), 0);
}
END_TEST

START_TEST(settings_reach_the_module_and_wrong_ones_are_told)
{
    mcplug_props *settings = mp_props_new();
    mp_props_set(settings, "delay", "20ms");
    ck_assert_int_eq(check("good.so", settings), 0);
    mp_props_set(settings, "dealy", "20ms");
    ck_assert_int_eq(check("good.so", settings), 1);
    ck_assert(found("FAILED transport \"loopback\": unknown setting \"dealy\"; did you "
                    "mean \"delay\"?"));
    mp_props_free(settings);
}
END_TEST

START_TEST(with_the_settings_it_needs_a_transport_is_brought_to_life)
{
    mcplug_props *settings = mp_props_new();
    mp_props_set(settings, "url", "x:");
    mp_props_set(settings, "token", "t");
    ck_assert_int_eq(check("unruly_needs_settings.so", settings), 0);
    ck_assert(found("ok " T "everything in order and counted"));
    mp_props_free(settings);
}
END_TEST

START_TEST(a_call_that_blocks_the_loop_is_told)
{
    ck_assert_int_eq(check("unruly_slow.so", NULL), 0);
    bool told = false;
    for (size_t i = 0; i < n_findings; i++)
        told = told ||
               strncmp(findings[i], "ok warning: " T "open() kept the loop waiting for",
                       strlen("ok warning: " T "open() kept")) == 0;
    ck_assert(told);
}
END_TEST

START_TEST(a_module_that_does_not_load_is_one_failure)
{
    char line[PATH_MAX + 64];
    ck_assert_int_eq(check("wrong_no_version.so", NULL), 1);
    snprintf(line, sizeof line, "FAILED %s: has no version", own("x.so"));
    ck_assert(found(line));
    ck_assert_uint_eq(n_findings, 1);
}
END_TEST

START_TEST(a_module_that_cannot_begin_again_is_found)
{
    char line[PATH_MAX + 64];
    ck_assert_int_eq(check("unruly_init_once.so", NULL), 1);
    snprintf(line, sizeof line,
             "FAILED init() after fini(): %s: refused to load: once is enough",
             own("x.so"));
    ck_assert(found(line));
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("check_contract");
    TCase *tc = tcase(suite, "kit");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, what_an_unruly_module_does_is_found_and_nothing_else, 0,
                        MP_COUNT(unruly));
    tcase_add_loop_test(tc, what_it_does_to_the_process_is_found, 0, MP_COUNT(elsewhere));
    tcase_add_test(tc, a_good_module_passes_everything);
    tcase_add_loop_test(tc, a_module_of_every_minor_keeps_the_contract, 0, 4);
    tcase_add_test(tc, settings_reach_the_module_and_wrong_ones_are_told);
    tcase_add_test(tc, with_the_settings_it_needs_a_transport_is_brought_to_life);
    tcase_add_test(tc, a_call_that_blocks_the_loop_is_told);
    tcase_add_test(tc, a_module_that_does_not_load_is_one_failure);
    tcase_add_test(tc, a_module_that_cannot_begin_again_is_found);

    tc = tcase(suite, "asked");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, what_is_asked_on_request_and_answers_wrongly_is_named, 0,
                        MP_COUNT(asked));
    tcase_add_test(tc, a_server_that_cannot_be_had_is_told);
    tcase_add_test(tc, a_locator_is_asked_with_its_settings);

    tc = tcase(suite, "models");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_model_that_breaks_a_rule_is_found_and_no_other, 0,
                        MP_COUNT(models));
    tcase_add_loop_test(tc, our_own_models_keep_the_contract_whatever_an_endpoint_does, 0,
                        3);

    tc = tcase(suite, "converters");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_converter_that_breaks_a_rule_is_found_and_no_other, 0,
                        MP_COUNT(converts));
    tcase_add_loop_test(tc, a_converter_that_is_slow_to_cancel_or_leaves_files_is_found,
                        0, MP_COUNT(converts_elsewhere));
    tcase_add_test(tc, a_converter_is_not_run_without_a_file);
    tcase_add_test(tc, the_example_keeps_every_rule_also_for_an_empty_file);
    tcase_add_test(tc, what_the_bytes_say_comes_before_the_name);
    tcase_add_test(tc, a_file_without_an_extension_is_of_the_first_type);
    tcase_add_test(tc, settings_of_a_converter_are_checked);
    tcase_add_test(tc, a_file_that_cannot_be_read_or_is_too_large_is_reported);
    return suite;
}

int main(int argc, char **argv)
{
    return modules_find(argc, argv) ? run_to_end(make_suite()) : TEST_SKIP;
}
