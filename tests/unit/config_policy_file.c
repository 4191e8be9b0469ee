#include "config/policy.h"

#include "base/buf.h"
#include "base/mem.h"
#include "config/file.h"
#include "suite.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* `text` with ' for ". */
static struct mp_policy *parse(const char *text, struct mp_place *at,
                               struct mcplug_error *err)
{
    struct mp_policy *policy = NULL;
    char *copy = strdup(text);

    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    int r = mp_policy_parse(mp_text(copy), &policy, at, err);
    ck_assert((r == MCPLUG_OK) == (policy != NULL));
    free(copy);
    return policy;
}

/* ---- texts that are refused ---- */

START_TEST(a_policy_that_is_misread_is_an_error_with_its_place)
{
    static const struct {
        const char *text;
        size_t line, column;
        const char *why;
    } rows[] = {
        {"", 1, 1, "is empty"},
        {" \n", 0, 0, "is empty"},
        {"[]", 1, 1, "a policy is an object"},
        {"\n null", 2, 2, "a policy is an object"},
        {"{'allow':[]", 0, 0, ""},
        {"{'allow':[],}", 0, 0, ""},
        {"{'allow':[],'allow':[]}", 0, 0, "twice"},
        {"{'deny':[{'name':'a','n\\u0061me':'b'}]}", 0, 0, "twice"},
        {"{\n 'alow': []}", 2, 2, "\"alow\" is unknown; a policy has allow and deny"},
        {"{'Deny':[]}", 1, 2, "\"Deny\" is unknown"},
        {"{'allow':{}}", 1, 10, "\"allow\" must be a list of rules"},
        {"{'deny':null}", 1, 9, "\"deny\" must be a list of rules"},
        {"{'deny':['x']}", 1, 10, "a rule must be an object"},
        {"{'deny':[{}]}", 1, 10, "a rule without a condition"},
        {"{'deny':[\n{'nme':'x'}]}", 2, 2, "\"nme\" is unknown; a rule has name"},
        {"{'deny':[{'name':'x','env':{}}]}", 1, 22, "\"env\" is unknown"},
        {"{'deny':[{'name':''}]}", 1, 18, "\"name\" is empty"},
        {"{'deny':[{'name':1}]}", 1, 18, "\"name\" must be a string"},
        {"{'deny':[{'name':null}]}", 1, 18, "\"name\" must be a string"},
        {"{'deny':[{'name':'a\\u0000b'}]}", 1, 18, "\"name\" has a NUL character"},
        {"{'deny':[{'command':'npx'}]}", 1, 21, "\"command\" must be a list"},
        {"{'deny':[{'command':[]}]}", 1, 21, "\"command\" must be a list"},
        {"{'deny':[{'command':['a',1]}]}", 1, 26, "\"command\" must be a string"},
        {"{'deny':[{'command':['','a']}]}", 1, 21, "begins with an empty string"},
        {"{'deny':[{'url':7}]}", 1, 17, "\"url\" must be a string"},
        {"{'deny':[{'url':''}]}", 1, 17, "\"url\" does not begin with a scheme"},
        {"{'deny':[{'url':'*'}]}", 1, 17, "\"url\" does not begin with a scheme"},
        {"{'deny':[{'url':'evil.net/*'}]}", 1, 17, "does not begin with a scheme"},
        {"{'deny':[{'url':'*://evil.net'}]}", 1, 17, "does not begin with a scheme"},
        {"{'deny':[{'url':'https:evil.net'}]}", 1, 17, "has no // after"},
        {"{'deny':[{'url':'https://'}]}", 1, 17, "has no host"},
        {"{'deny':[{'url':'https:///x'}]}", 1, 17, "has no host"},
        {"{'deny':[{'url':'https://u@h/'}]}", 1, 17, "has a user name"},
        {"{'deny':[{'url':'https://h h/'}]}", 1, 17,
         "has a character that is not allowed in a URL"},
        {"{'deny':[{'url':'https://h\\\\x/'}]}", 1, 17,
         "has a character that is not allowed in a URL"},
        {"{'deny':[{'url':'https://h/#x'}]}", 1, 17,
         "has a character that is not allowed in a URL"},
        {"{'deny':[{'url':'https://\\u00e4.de/'}]}", 1, 17, "beyond ASCII"},
        {"{'deny':[{'url':'https://a..b/'}]}", 1, 17, "has a malformed host"},
        {"{'deny':[{'url':'https://.b/'}]}", 1, 17, "has a malformed host"},
        {"{'deny':[{'url':'https://a%2eb/'}]}", 1, 17, "has an escape in its host name"},
        {"{'deny':[{'url':'https://[::1/'}]}", 1, 17, "has a malformed IPv6 address"},
        {"{'deny':[{'url':'https://[*]/'}]}", 1, 17, "has a malformed IPv6 address"},
        {"{'deny':[{'url':'https://[::1]x/'}]}", 1, 17, "has a malformed host"},
        {"{'deny':[{'url':'https://h:/'}]}", 1, 17, "has a malformed port"},
        {"{'deny':[{'url':'https://h:0/'}]}", 1, 17, "has a malformed port"},
        {"{'deny':[{'url':'https://h:80*/'}]}", 1, 17, "has a malformed port"},
        {"{'deny':[{'url':'https://h:65536/'}]}", 1, 17, "has a port above 65535"},
        {"{'deny':[{'url':'https://h?x'}]}", 1, 17, "has no / after its host"},
        {"{'deny':[{'url':'https://h/a/../b'}]}", 1, 17, "has a . or .. in its path"},
        {"{'deny':[{'url':'https://h/%2e%2E/b'}]}", 1, 17, "has a . or .. in its path"},
        {"{'deny':[{'url':'https://h/%00'}]}", 1, 17, "not a character"},
        {"{'deny':[{'url':'unix:'}]}", 1, 17, "has nothing after its scheme"},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        struct mp_place at = {0, 0};
        ck_assert_msg(!parse(rows[i].text, &at, &err), "%s", rows[i].text);
        ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
        ck_assert_msg(strstr(err.text, rows[i].why), "%s: %s", rows[i].text, err.text);
        if (rows[i].line)
            ck_assert_msg(at.line == rows[i].line && at.column == rows[i].column,
                          "%s: %zu:%zu", rows[i].text, at.line, at.column);
    }
}
END_TEST

START_TEST(a_rule_has_no_limit_but_the_text)
{
    struct mp_str text;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_subject last = {.name = "n19999"}, none = {.name = "n20000"};

    mp_str_init(&text, 1 << 20);
    mp_str_adds(&text, "{'allow':[");
    for (int i = 0; i < 20000; i++)
        mp_str_addf(&text, "%s{'name':'n%d'}", i ? "," : "", i);
    mp_str_adds(&text, "]}");
    struct mp_policy *policy = parse(text.data, NULL, &err);
    ck_assert_msg(policy != NULL, "%s", err.text);
    ck_assert_int_eq(mp_policy_judge(policy, &last), MP_ALLOWED);
    ck_assert_int_eq(mp_policy_judge(policy, &none), MP_NOT_ALLOWED);
    mp_policy_free(policy);
    mp_str_clear(&text);
}
END_TEST

/* ---- files ---- */

static struct mcplug_error err;
static char dir[PATH_MAX], other[PATH_MAX];

static void begin(void)
{
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    snprintf(dir, sizeof dir, "/tmp/mcplug-policy-XXXXXX");
    snprintf(other, sizeof other, "/tmp/mcplug-policy-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_ptr_nonnull(mkdtemp(other));
}

static void finish(void)
{
    char command[2 * PATH_MAX + 20];

    snprintf(command, sizeof command, "rm -rf '%s' '%s'", dir, other);
    ck_assert_int_eq(system(command), 0);
}

static const char *in(const char *where, const char *name)
{
    static char path[4][PATH_MAX + 100];
    static unsigned turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof path[0], "%s/%s", where, name);
    return p;
}

static const char *file(void)
{
    return in(dir, "policy.json");
}

static void write_to(const char *path, const char *text, size_t len)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, len, f), len);
    fclose(f);
    ck_assert_int_eq(chmod(path, 0644), 0);
}

static const char good[] = "{\"deny\": [{\"name\": \"evil\"}]}\n";

static void is_read(void)
{
    struct mp_policy *policy = NULL;
    struct mp_subject evil = {.name = "evil"};

    ck_assert_msg(mp_policy_read(file(), geteuid(), &policy, &err) == MCPLUG_OK, "%s",
                  err.text);
    ck_assert_ptr_nonnull(policy);
    ck_assert_int_eq(mp_policy_judge(policy, &evil), MP_BLOCKED);
    mp_policy_free(policy);
}

/* `why` is what comes behind the path. */
static void is_refused(uid_t owner, int code, const char *why)
{
    struct mp_policy *policy = NULL;

    ck_assert_int_eq(mp_policy_read(file(), owner, &policy, &err), code);
    ck_assert_ptr_null(policy);
    ck_assert_msg(strncmp(err.text, file(), strlen(file())) == 0, "%s", err.text);
    ck_assert_msg(strncmp(err.text + strlen(file()), why, strlen(why)) == 0, "%s",
                  err.text);
}

START_TEST(no_file_is_no_policy)
{
    struct mp_policy *policy = (struct mp_policy *)&err;

    ck_assert_int_eq(mp_policy_read(file(), geteuid(), &policy, &err), MCPLUG_OK);
    ck_assert_ptr_null(policy);
    policy = (struct mp_policy *)&err;
    ck_assert_int_eq(mp_policy_read("/no/such/dir/policy.json", 0, &policy, &err),
                     MCPLUG_OK);
    ck_assert_ptr_null(policy);
}
END_TEST

START_TEST(the_file_of_the_owner_is_read)
{
    write_to(file(), good, sizeof good - 1);
    is_read();
    ck_assert_int_eq(chmod(file(), 0600), 0);
    ck_assert_int_eq(chmod(dir, 0755), 0);
    is_read();
}
END_TEST

START_TEST(what_is_wrong_in_it_is_told_with_its_place)
{
    static const char unknown[] = "{\n  \"allow\": [],\n  \"strict\": true\n}\n";

    write_to(file(), unknown, sizeof unknown - 1);
    is_refused(geteuid(), MCPLUG_ECONFIG, ":3:3: \"strict\" is unknown");
    write_to(file(), "", 0);
    is_refused(geteuid(), MCPLUG_ECONFIG, ":1:1: ");
    write_to(file(), "// none\n{}", 10);
    is_refused(geteuid(), MCPLUG_ECONFIG, ":1:1: ");
    write_to(file(), "{\"deny\":[]}\0", 12);
    is_refused(geteuid(), MCPLUG_ECONFIG, ":1:12: ");
}
END_TEST

START_TEST(one_of_somebody_else_is_refused)
{
    char why[200];

    write_to(file(), good, sizeof good - 1);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(file(), 12345, 0), 0);
        is_refused(0, MCPLUG_ECONFIG, ": belongs to user 12345, not to root");
        ck_assert_int_eq(chown(file(), 0, 0), 0);
        ck_assert_int_eq(chown(dir, 12345, 0), 0);
        snprintf(why, sizeof why, ": its directory %.50s/ belongs to user 12345", dir);
        is_refused(0, MCPLUG_ECONFIG, why);
    } else {
        snprintf(why, sizeof why,
                 ": its directory %.50s/ belongs to user %ld, not to root", dir,
                 (long)geteuid());
        is_refused(0, MCPLUG_ECONFIG, why);
    }
}
END_TEST

START_TEST(one_that_others_can_write_is_refused)
{
    char why[200];

    write_to(file(), good, sizeof good - 1);
    ck_assert_int_eq(chmod(file(), 0664), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG,
               ": it is writable by users other than its owner (mode 0664)");
    ck_assert_int_eq(chmod(file(), 0646), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG,
               ": it is writable by users other than its owner (mode 0646)");
    ck_assert_int_eq(chmod(file(), 0644), 0);
    ck_assert_int_eq(chmod(dir, 0775), 0);
    snprintf(
        why, sizeof why,
        ": its directory %.50s/ is writable by users other than its owner (mode 0775)",
        dir);
    is_refused(geteuid(), MCPLUG_ECONFIG, why);
    ck_assert_int_eq(chmod(dir, 01777), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG, ": its directory ");
    ck_assert_int_eq(chmod(dir, 0755), 0);
    is_read();
}
END_TEST

START_TEST(a_link_is_followed_where_only_the_owner_writes)
{
    char real[PATH_MAX + 100];

    snprintf(real, sizeof real, "%s/real.json", other);
    write_to(real, good, sizeof good - 1);
    ck_assert_int_eq(symlink(real, file()), 0);
    is_read();
    ck_assert_int_eq(chmod(other, 0777), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG, ": its directory ");
    ck_assert_ptr_nonnull(strstr(err.text, other));
    ck_assert_int_eq(chmod(other, 0700), 0);
    ck_assert_int_eq(chmod(real, 0666), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG,
               ": it is writable by users other than its owner");
    ck_assert_int_eq(unlink(real), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG, ": leads to a file that does not exist");

    /* relative, and in the middle of a chain */
    write_to(in(dir, "here.json"), good, sizeof good - 1);
    ck_assert_int_eq(symlink(in(dir, "here.json"), in(other, "hop")), 0);
    ck_assert_int_eq(unlink(file()), 0);
    ck_assert_int_eq(symlink("here.json", file()), 0);
    is_read();
    ck_assert_int_eq(unlink(file()), 0);
    ck_assert_int_eq(symlink(in(other, "hop"), file()), 0);
    is_read();
    ck_assert_int_eq(chmod(other, 0722), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG, ": its directory ");
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
    ck_assert_int_eq(symlink("policy.json", file()), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG, ": too many links");
    ck_assert_int_eq(unlink(file()), 0);
    ck_assert_int_eq(mkdir(file(), 0755), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG, ": is a directory");
    ck_assert_int_eq(rmdir(file()), 0);
    ck_assert_int_eq(mkfifo(file(), 0644), 0);
    is_refused(geteuid(), MCPLUG_ECONFIG, ": is not a regular file");

    struct mp_policy *policy = NULL;
    ck_assert_int_eq(mp_policy_read("/dev/null/policy.json", 0, &policy, &err),
                     MCPLUG_EIO);
    ck_assert_ptr_null(policy);
}
END_TEST

START_TEST(a_file_may_be_a_megabyte_and_no_more)
{
    char *text = malloc(MP_FILE_MAX + 1);

    ck_assert_ptr_nonnull(text);
    memset(text, '\n', MP_FILE_MAX + 1);
    memcpy(text, good, sizeof good - 1);
    write_to(file(), text, MP_FILE_MAX);
    is_read();
    write_to(file(), text, MP_FILE_MAX + 1);
    is_refused(geteuid(), MCPLUG_ETOOBIG, ": ");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_policy_file");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, begin, finish);
    tcase_add_test(t, a_policy_that_is_misread_is_an_error_with_its_place);
    tcase_add_test(t, a_rule_has_no_limit_but_the_text);
    tcase_add_test(t, no_file_is_no_policy);
    tcase_add_test(t, the_file_of_the_owner_is_read);
    tcase_add_test(t, what_is_wrong_in_it_is_told_with_its_place);
    tcase_add_test(t, one_of_somebody_else_is_refused);
    tcase_add_test(t, one_that_others_can_write_is_refused);
    tcase_add_test(t, a_link_is_followed_where_only_the_owner_writes);
    tcase_add_test(t, what_is_no_file_is_refused);
    tcase_add_test(t, a_file_may_be_a_megabyte_and_no_more);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
