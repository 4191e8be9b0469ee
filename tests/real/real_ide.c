/* Editors on this machine, in the three dialects that there are of them. */
#include "listener.h"

#include <stdio.h>
#include <unistd.h>

static struct listener *ide;

static void start(const char *dialect, const char *option, const char *value)
{
    char here[4096], port[16];

    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ide = listener_node("./fake-ide.mjs",
                        LISTENER_LIST("--dialect", dialect, "--dir", real.dir,
                                      "--workspace", here, option, value),
                        NULL);
    snprintf(port, sizeof port, "\n%d\n", ide->port);
    LISTENER_TOLD(ide, port); /* the lock file is there */
    setenv("CLAUDE_CONFIG_DIR", real.dir, 1);
}

/* By its lock file alone: neither URL nor token is told. */
static void open_found(const char *dialect, const char *type)
{
    start(dialect, NULL, NULL);
    real_use_url(type, "%s", "");
    real_open();
    LISTENER_TOLD(ide, "connected\n");
}

static void check_call_and_diff(void)
{
    struct reply reply;

    ck_contains(text_of(real_tool("openFile", "{\"filePath\":\"/tmp/a.c\"}")), "O");
    real_begin_tool("openDiff",
                    "{\"old_file_path\":\"/tmp/a.c\",\"new_file_contents\":\"int a;\","
                    "\"tab_name\":\"t1\"}",
                    &reply);
    LISTENER_TOLD(ide, "openDiff t1\n"); /* waits for the user */
    ck_assert(!reply.done);
    listener_say(ide, "accept t1\n");
    REAL_UNTIL(reply.done);
    ck_assert_str_eq(text_of(reply.json), "FILE_SAVED\nint a;");
    reply_clear(&reply);
}

static void check_cancel(void)
{
    struct reply reply;

    real_begin_tool(
        "openDiff",
        "{\"old_file_path\":\"/tmp/a.c\",\"new_file_contents\":\"\",\"tab_name\":\"t2\"}",
        &reply);
    LISTENER_TOLD(ide, "openDiff t2\n");
    real_cancel(&reply);
    REAL_UNTIL(reply.done);
    ck_assert_int_eq(reply.code, MCPLUG_ECANCELED);
    LISTENER_TOLD(ide, "cancelled t2\n");
}

static void check_introduced(void)
{
    char told[64];

    snprintf(told, sizeof told, "ide_connected %d\n", (int)getpid());
    LISTENER_TOLD(ide, told);
}

/* ---- HTTP+SSE ---- */

START_TEST(an_editor_with_sse_is_found_by_its_lock_file)
{
    open_found("sse", "sse-ide");
    ck_assert_str_eq(real_revision(), "2024-11-05");
    ck_contains(real_info(), "fake Visual Studio Code");
    check_introduced();
    check_call_and_diff();
    check_cancel();
    ck_assert(real_lists(MCPLUG_TOOLS, "getDiagnostics"));
    real_close();
    LISTENER_TOLD(ide, "closed 0\n");
}
END_TEST

START_TEST(an_editor_with_sse_is_reached_by_url_and_token)
{
    start("sse", "--token", "0123456789abcdef");
    unsetenv("CLAUDE_CONFIG_DIR");
    real_use_url("sse-ide", "http://127.0.0.1:%d/sse", ide->port);
    real_set("authToken", "0123456789abcdef");
    real_open();
    ck_assert_str_eq(text_of(real_tool("openFile", "{\"filePath\":\"/tmp/a.c\"}")),
                     "Opened file: /tmp/a.c");
}
END_TEST

START_TEST(an_editor_with_sse_refuses_a_wrong_token)
{
    start("sse", NULL, NULL);
    real_use_url("sse-ide", "%s", "");
    real_set("authToken", "wrong-token-123");
    const struct mcplug_error *why = real_refused();
    ck_assert_int_eq(why->code, MCPLUG_EAUTH);
    ck_assert_int_eq(why->peer_status, 401);
    ck_contains(why->text, "401");
    ck_assert_ptr_null(strstr(why->text, "wrong-token-123"));
    LISTENER_TOLD(ide, "refused\n");
}
END_TEST

START_TEST(an_editor_that_hangs_up_is_dropped)
{
    open_found("sse", "sse-ide");
    listener_say(ide, "drop\n");
    REAL_UNTIL(real.dropped == 1);
    real.dropped = 0;
}
END_TEST

START_TEST(no_editor_of_that_kind_is_told)
{
    start("nvim", NULL, NULL);
    real_use_url("sse-ide", "%s", "");
    const struct mcplug_error *why = real_refused();
    ck_assert_int_eq(why->code, MCPLUG_EREFUSED);
    ck_assert_uint_gt(strlen(why->text), 10);
    ck_assert_int_eq(listener_count(ide, 0, "connected"), 0);
}
END_TEST

/* ---- WebSocket ---- */

START_TEST(an_editor_with_a_websocket_is_found_by_its_lock_file)
{
    open_found("nvim", "ws-ide");
    ck_assert_str_eq(real_revision(), "2024-11-05");
    ck_contains(real_info(), "fake Neovim");
    check_introduced();
    check_call_and_diff();
    check_cancel();
    real_close();
    LISTENER_TOLD(ide, "closed 1000\n");
}
END_TEST

START_TEST(an_editor_that_wants_path_and_subprotocol_gets_them)
{
    open_found("jetbrains", "ws-ide");
    ck_assert_str_eq(real_revision(), "2025-03-26");
    check_call_and_diff();
    check_cancel();
    real_close();
    LISTENER_TOLD(ide, "closed 1000\n");
}
END_TEST

/* Both ask whether we live, with requests or with frames, also while a call waits. */
static void check_pings(const char *dialect)
{
    struct reply reply;

    start(dialect, "--ping", "500");
    real_use_url("ws-ide", "%s", "");
    real_open();
    real_begin_tool(
        "openDiff",
        "{\"old_file_path\":\"/a\",\"new_file_contents\":\"\",\"tab_name\":\"t\"}",
        &reply);
    LISTENER_TOLD(ide, "openDiff t\n");
    REAL_UNTIL(listener_count(ide, 0, "alive\n") >= 2);
    listener_say(ide, "reject t\n");
    REAL_UNTIL(reply.done);
    ck_assert_str_eq(text_of(reply.json), "DIFF_REJECTED");
    ck_assert_int_eq(listener_count(ide, 0, "silent"), 0);
    reply_clear(&reply);
}

START_TEST(pings_of_an_editor_are_answered_while_a_call_waits)
{
    check_pings("jetbrains");
}
END_TEST

START_TEST(ping_frames_of_an_editor_are_answered_while_a_call_waits)
{
    check_pings("nvim");
}
END_TEST

static void check_refused(const char *dialect, const char *sign)
{
    start(dialect, NULL, NULL);
    real_use_url("ws-ide", "%s", "");
    real_set("authToken", "wrong-token-123");
    const struct mcplug_error *why = real_refused();
    ck_contains(why->text, sign);
    ck_assert_ptr_null(strstr(why->text, "wrong-token-123"));
    LISTENER_TOLD(ide, "refused\n");
}

START_TEST(a_wrong_token_is_refused_with_the_upgrade)
{
    check_refused("nvim", "400");
}
END_TEST

START_TEST(a_wrong_token_is_refused_with_a_close_frame)
{
    check_refused("jetbrains", "1008");
}
END_TEST

int main(void)
{
    if (real_built("sse-ide", "an editor with SSE"))
        REAL_SUITE("an editor with SSE", an_editor_with_sse_is_found_by_its_lock_file,
                   an_editor_with_sse_is_reached_by_url_and_token,
                   an_editor_with_sse_refuses_a_wrong_token,
                   an_editor_that_hangs_up_is_dropped, no_editor_of_that_kind_is_told);
    if (real_built("ws-ide", "an editor with WebSocket"))
        REAL_SUITE("an editor with WebSocket",
                   an_editor_with_a_websocket_is_found_by_its_lock_file,
                   an_editor_that_wants_path_and_subprotocol_gets_them,
                   pings_of_an_editor_are_answered_while_a_call_waits,
                   ping_frames_of_an_editor_are_answered_while_a_call_waits,
                   a_wrong_token_is_refused_with_the_upgrade,
                   a_wrong_token_is_refused_with_a_close_frame);
    return real_run();
}
