#include "cli/base/reason.h"

#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define GONE "Process not found - stdio server process terminated "

static void becomes(const char *text, bool unanswered, const char *expected)
{
    char room[CLI_REASON_SIZE];
    ck_assert_str_eq(cli_reason(text, unanswered, room), expected);
}

START_TEST(the_reason_comes_first)
{
    becomes(GONE "(server exited with status 1)", false,
            "The server exited with status 1");
    becomes(GONE "(server exited with status 1)", true,
            "The server exited with status 1 before it answered");
    becomes(GONE "(server was killed by signal 9 (Killed))", true,
            "The server was killed by signal 9 (Killed) before it answered");
    becomes(GONE "(mcplug-reaper ended unexpectedly)", true,
            "mcplug-reaper ended unexpectedly");
    becomes("Connection error: ws://a:9: no TLS", true, "ws://a:9: no TLS");
    becomes("Failed to spawn process - check command and permissions: cannot start "
            "\"x\": No such file or directory",
            true, "Cannot start \"x\": No such file or directory");
}
END_TEST

START_TEST(every_class_of_failure_is_known)
{
    static const char *const classes[] = {
        "Connection reset - server may have crashed or restarted",
        "Connection timeout - network issue or server unresponsive",
        "Connection refused - server may be down",
        "Broken pipe - server closed connection unexpectedly",
        "Host unreachable - network connectivity issue",
    };
    char text[200];

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        snprintf(text, sizeof text, "%s (cannot connect to a port 9: why)", classes[i]);
        becomes(text, true, "Cannot connect to a port 9: why");
    }
    becomes("Connection error: the handshake failed", true, "The handshake failed");
}
END_TEST

START_TEST(what_is_around_the_reason_stays)
{
    becomes(GONE "(server exited with status 3) (the request had already been sent)",
            true, "The server exited with status 3 (the request had already been sent)");
    becomes("server \"x\": initialization failed 3s ago: " GONE
            "(server exited with status 3)",
            false,
            "server \"x\": initialization failed 3s ago: server exited with status 3");
}
END_TEST

START_TEST(other_texts_are_copied)
{
    char text[600], room[CLI_REASON_SIZE];

    becomes("", true, "");
    becomes("server \"x\" is disabled in f", false, "server \"x\" is disabled in f");
    becomes(GONE "(server exited", true, GONE "(server exited");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert_uint_eq(strlen(cli_reason(text, true, room)), CLI_REASON_SIZE - 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli_reason");
    TCase *t = tcase_create("all");

    tcase_add_test(t, the_reason_comes_first);
    tcase_add_test(t, every_class_of_failure_is_known);
    tcase_add_test(t, what_is_around_the_reason_stays);
    tcase_add_test(t, other_texts_are_copied);
    suite_add_tcase(s, t);
    return run_to_end(s);
}
