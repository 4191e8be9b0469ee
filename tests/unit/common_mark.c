#include "../../plugins/common/mark.h"
#include "base/mem.h"
#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define A "00000000000000000000000000000aaa"
#define B "11111111111111111111111111111bbb"

START_TEST(two_marks_differ)
{
    char one[MARK_LEN + 1], other[MARK_LEN + 1];
    ck_assert(mark_make(one) && mark_make(other));
    ck_assert(mark_is(one) && mark_is(other));
    ck_assert_str_ne(one, other);
}
END_TEST

START_TEST(only_hex_digits_of_the_right_number_are_a_mark)
{
    ck_assert(mark_is(A));
    ck_assert(mark_is(A ",rest"));
    ck_assert(!mark_is(""));
    ck_assert(!mark_is("0" A));
    ck_assert(!mark_is("0000000000000000000000000000aaa"));
    ck_assert(!mark_is("00000000000000000000000000000AAA"));
}
END_TEST

START_TEST(a_mark_follows_those_that_were_inherited)
{
    char out[MARKS_ROOM];
    mark_variable(NULL, A, out);
    ck_assert_str_eq(out, "MCPLUG_RUN=" A);
    mark_variable(A, B, out);
    ck_assert_str_eq(out, "MCPLUG_RUN=" A "," B);
    ck_assert_str_eq(mark_last(out + strlen("MCPLUG_RUN=")), B);
}
END_TEST

START_TEST(what_is_no_list_of_marks_is_not_inherited)
{
    static const char *const wrong[] = {"",      "x",         A ",", "," A,
                                        A ";" B, A "," B " ", "0" A};
    char out[MARKS_ROOM];
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        mark_variable(wrong[i], A, out);
        ck_assert_str_eq(out, "MCPLUG_RUN=" A);
        ck_assert_ptr_null(mark_last(wrong[i]));
    }
    ck_assert_ptr_null(mark_last(NULL));
}
END_TEST

START_TEST(one_mark_too_many_drops_the_oldest)
{
    char out[MARKS_ROOM], value[MARKS_ROOM] = A;
    for (int i = 1; i < MARK_NEST; i++) {
        mark_variable(value, B, out);
        strcpy(value, strchr(out, '=') + 1);
    }
    ck_assert_uint_eq(strlen(value), MARK_NEST * (MARK_LEN + 1) - 1);
    ck_assert_int_eq(strncmp(value, A ",", MARK_LEN + 1), 0);
    mark_variable(value, A, out);
    ck_assert_uint_eq(strlen(out), MARKS_ROOM - 1);
    ck_assert_int_eq(strncmp(out, "MCPLUG_RUN=" B ",", 11 + MARK_LEN + 1), 0);
    ck_assert_str_eq(mark_last(strchr(out, '=') + 1), A);
}
END_TEST

/* A process whose environment is `padding` bytes and the mark, in a session of its own.
 */
static pid_t start(const char *mark, size_t padding)
{
    char *pad = calloc(1, padding + 5), variable[MARKS_ROOM];
    ck_assert_ptr_nonnull(pad);
    memset(pad, 'x', padding + 4);
    memcpy(pad, "PAD=", 4);
    mark_variable(NULL, mark, variable);
    char *const argv[] = {(char *)"sleep", (char *)"60", NULL};
    char *const envp[] = {pad, variable, NULL};
    int ready[2];
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        setsid();
        execve("/bin/sleep", argv, envp);
        _exit(127);
    }
    close(ready[1]);
    char end;
    ck_assert_int_eq(read(ready[0], &end, 1), 0); /* it was executed */
    close(ready[0]);
    free(pad);
    return pid;
}

/* Reads an environment in pieces of 8 KiB: the mark may be in two of them. */
START_TEST(a_sweep_ends_who_has_the_mark_wherever_it_is)
{
    for (size_t padding = 8192 - 60; padding < 8192 + 10; padding++) {
        char mark[MARK_LEN + 1];
        int status;
        ck_assert(mark_make(mark));
        pid_t marked = start(mark, padding);
        struct mark_sweep swept = mark_sweep(mark, 2); /* a zombie has no environment */
        ck_assert(swept.has_proc);
        ck_assert_uint_ge(swept.killed, 1);
        ck_assert_uint_eq(swept.left, 0);
        ck_assert_int_eq(waitpid(marked, &status, 0), marked);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
}
END_TEST

START_TEST(a_sweep_spares_who_has_another_mark)
{
    char mark[MARK_LEN + 1], other[MARK_LEN + 1];
    ck_assert(mark_make(mark) && mark_make(other));
    pid_t pid = start(other, 0);
    struct mark_sweep swept = mark_sweep(mark, 2);
    ck_assert(swept.has_proc);
    ck_assert_uint_eq(swept.killed + swept.left, 0);
    ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common_mark");
    TCase *t = tcase_create("mark");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, two_marks_differ);
    tcase_add_test(t, only_hex_digits_of_the_right_number_are_a_mark);
    tcase_add_test(t, a_mark_follows_those_that_were_inherited);
    tcase_add_test(t, what_is_no_list_of_marks_is_not_inherited);
    tcase_add_test(t, one_mark_too_many_drops_the_oldest);
    tcase_add_test(t, a_sweep_ends_who_has_the_mark_wherever_it_is);
    tcase_add_test(t, a_sweep_spares_who_has_another_mark);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
