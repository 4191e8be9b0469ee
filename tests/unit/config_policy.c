#include "config/policy.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "config/policy_url.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- judging by a table ---- */

struct row {
    const char *policy;  /* with ' for " */
    const char *name;    /* NULL: "srv" */
    const char *command; /* words with | between; NULL: none */
    const char *env;     /* likewise */
    const char *url;
    enum mp_verdict verdict;
};

static struct mp_policy *parse(const char *text, struct mcplug_error *err)
{
    struct mp_policy *policy = NULL;
    char *copy = strdup(text);

    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    int r = mp_policy_parse(mp_text(copy), &policy, NULL, err);
    ck_assert((r == MCPLUG_OK) == (policy != NULL));
    free(copy);
    return policy;
}

static char *split(const char *text, const char *words[16])
{
    char *copy = text ? strdup(text) : NULL, *at = copy;
    size_t n = 0;

    while (at)
        words[n++] = strsep(&at, "|");
    words[n] = NULL;
    return copy;
}

static enum mp_verdict judge_with(const struct row *row, const char *after,
                                  const struct mp_policy *policy)
{
    const char *command[16], *env[16], *clean_up[16];
    char *a = split(row->command, command), *b = split(row->env, env);
    char *c = split(after, clean_up);
    struct mp_subject subject = {
        .name = row->name ? row->name : "srv",
        .command = row->command ? command : NULL,
        .env = row->env ? env : NULL,
        .url = row->url,
        .clean_up = after ? clean_up : NULL,
    };
    enum mp_verdict verdict = mp_policy_judge(policy, &subject);

    free(a);
    free(b);
    free(c);
    return verdict;
}

static enum mp_verdict judge(const struct row *row, const struct mp_policy *policy)
{
    return judge_with(row, NULL, policy);
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct row *row = &rows[i];
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        struct mp_policy *policy = parse(row->policy, &err);
        ck_assert_msg(policy != NULL, "row %zu: %s: %s", i, row->policy, err.text);
        enum mp_verdict verdict = judge(row, policy);
        ck_assert_msg(verdict == row->verdict, "row %zu: %s: %s %s %s: %d instead of %d",
                      i, row->policy, row->name ? row->name : "-",
                      row->command ? row->command : "-", row->url ? row->url : "-",
                      verdict, row->verdict);
        mp_policy_free(policy);
    }
}

/* The same for what has nothing but a URL. */
struct url_row {
    const char *policy, *url;
    enum mp_verdict verdict;
};

static void check_urls(const struct url_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct row row = {rows[i].policy, NULL, NULL, NULL, rows[i].url, rows[i].verdict};
        check_rows(&row, 1);
    }
}

#define ALLOW(rule) "{'allow':[{" rule "}]}"
#define DENY(rule) "{'deny':[{" rule "}]}"
#define ALLOW_URL(url) ALLOW("'url':'" url "'")
#define DENY_URL(url) DENY("'url':'" url "'")
#define OK MP_ALLOWED
#define NO MP_NOT_ALLOWED
#define BLOCKED MP_BLOCKED

/* ---- lists and names ---- */

START_TEST(deny_wins_and_an_empty_allow_allows_nothing)
{
    static const struct row rows[] = {
        {"{}", NULL, NULL, NULL, NULL, OK},
        {"{'deny':[]}", NULL, NULL, NULL, NULL, OK},
        {"{'allow':[]}", NULL, NULL, NULL, NULL, NO},
        {"{'allow':[],'deny':[]}", NULL, "a", NULL, NULL, NO},
        {"{'allow':[{'name':'*'}],'deny':[{'name':'srv'}]}", NULL, NULL, NULL, NULL,
         BLOCKED},
        {"{'deny':[{'name':'x'},{'name':'srv'}]}", NULL, NULL, NULL, NULL, BLOCKED},
        {"{'allow':[],'deny':[{'name':'srv'}]}", NULL, NULL, NULL, NULL, BLOCKED},
        {"{'allow':[{'name':'x'},{'name':'srv'}]}", NULL, NULL, NULL, NULL, OK},
        {" \n{\t'allow' : [ { 'name' : 'srv' } ] }\r\n", NULL, NULL, NULL, NULL, OK},
        /* all conditions of a rule hold, or it does not fit */
        {ALLOW("'name':'srv','command':['a']"), NULL, "a", NULL, NULL, OK},
        {ALLOW("'name':'srv','command':['a']"), NULL, "b", NULL, NULL, NO},
        {ALLOW("'name':'srv','command':['a']"), "other", "a", NULL, NULL, NO},
        {ALLOW("'name':'srv','url':'https://h'"), NULL, NULL, NULL, "https://h/x", OK},
        {ALLOW("'name':'x','url':'https://h'"), NULL, NULL, NULL, "https://h/x", NO},
        {DENY("'name':'x','url':'https://h'"), NULL, NULL, NULL, "https://h/x", OK},
        {DENY("'name':'srv','url':'https://h'"), NULL, NULL, NULL, "https://h/x",
         BLOCKED},
        {ALLOW("'command':['a'],'url':'https://h'"), NULL, "a", NULL, "https://h/", OK},
        {ALLOW("'command':['a'],'url':'https://h'"), NULL, "a", NULL, NULL, NO},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(names_are_compared_exactly_but_for_stars)
{
    static const struct row rows[] = {
        {ALLOW("'name':'github'"), "github", NULL, NULL, NULL, OK},
        {ALLOW("'name':'github'"), "GitHub", NULL, NULL, NULL, NO},
        {ALLOW("'name':'github'"), "github2", NULL, NULL, NULL, NO},
        {ALLOW("'name':'github'"), "githu", NULL, NULL, NULL, NO},
        {ALLOW("'name':'github'"), "github ", NULL, NULL, NULL, NO},
        {ALLOW("'name':'github'"), "g\xd1\x96thub", NULL, NULL, NULL, NO},
        {ALLOW("'name':'github'"), "*", NULL, NULL, NULL, NO},
        {ALLOW("'name':'github'"), "", NULL, NULL, NULL, NO},
        {ALLOW("'name':'corp-*'"), "corp-x", NULL, NULL, NULL, OK},
        {ALLOW("'name':'corp-*'"), "corp-", NULL, NULL, NULL, OK},
        {ALLOW("'name':'corp-*'"), "my-corp-x", NULL, NULL, NULL, NO},
        {ALLOW("'name':'*-x'"), "corp-x-y-x", NULL, NULL, NULL, OK},
        {ALLOW("'name':'a*b*c'"), "axxbyyc", NULL, NULL, NULL, OK},
        {ALLOW("'name':'a*b*c'"), "acb", NULL, NULL, NULL, NO},
        {ALLOW("'name':'a?c'"), "abc", NULL, NULL, NULL, NO},
        {ALLOW("'name':'[ab]'"), "a", NULL, NULL, NULL, NO},
        {ALLOW("'name':'\\u0067ithub'"), "github", NULL, NULL, NULL, OK},
        {DENY("'name':'*evil*'"), "my-evil-srv", NULL, NULL, NULL, BLOCKED},
        {DENY("'name':'*evil*'"), "good", NULL, NULL, NULL, OK},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(a_glob_of_many_stars_takes_no_time)
{
    char pattern[2001], text[20001];

    for (size_t i = 0; i < 2000; i++)
        pattern[i] = i % 2 ? 'a' : '*';
    pattern[2000] = '\0';
    memset(text, 'a', 20000);
    text[20000] = '\0';
    ck_assert(mp_glob(pattern, text, false));
    text[19999] = 'b';
    ck_assert(!mp_glob(pattern, text, false));
    ck_assert(mp_glob("", "", false));
    ck_assert(mp_glob("**", "", false));
    ck_assert(!mp_glob("", "a", false));
    ck_assert(!mp_glob("a", "", false));
    ck_assert(mp_glob("*a*", "*a*", false));
}
END_TEST

/* ---- commands ---- */

#define NPX "'command':['npx','-y','x']"

START_TEST(a_command_line_is_compared_word_by_word)
{
    static const struct row rows[] = {
        {ALLOW(NPX), NULL, "npx|-y|x", NULL, NULL, OK},
        {ALLOW(NPX), NULL, "npx|-y|x|--evil", NULL, NULL, NO},
        {ALLOW(NPX), NULL, "npx|-y", NULL, NULL, NO},
        {ALLOW(NPX), NULL, "npx|-y x", NULL, NULL, NO},
        {ALLOW(NPX), NULL, "npx -y x", NULL, NULL, NO},
        {ALLOW(NPX), NULL, "./npx|-y|x", NULL, NULL, NO},
        {ALLOW(NPX), NULL, "/tmp/npx|-y|x", NULL, NULL, NO},
        {ALLOW(NPX), NULL, "NPX|-y|x", NULL, NULL, NO},
        {ALLOW(NPX), NULL, "npx|-y|x@latest", NULL, NULL, NO},
        {ALLOW(NPX), NULL, "sh|-c|npx -y x", NULL, NULL, NO},
        {ALLOW(NPX), NULL, "npx|-y|x|", NULL, NULL, NO},
        {ALLOW(NPX), NULL, NULL, NULL, NULL, NO},
        {ALLOW(NPX), NULL, NULL, NULL, "https://npx/", NO},
        {ALLOW("'command':['*']"), NULL, "anything", NULL, NULL, NO},
        {ALLOW("'command':['a','*']"), NULL, "a|b", NULL, NULL, NO},
        {ALLOW("'command':['a','*']"), NULL, "a|*", NULL, NULL, OK},
        {ALLOW("'command':['a','']"), NULL, "a|", NULL, NULL, OK},
        {DENY(NPX), NULL, "npx|-y|x", NULL, NULL, BLOCKED},
        {DENY(NPX), NULL, "npx|-y|y", NULL, NULL, OK},
        {DENY(NPX), NULL, "npx|-y|x", "PATH", NULL, BLOCKED},
        /* with a URL beside it, neither half alone lets it in */
        {ALLOW(NPX), NULL, "npx|-y|x", NULL, "https://evil.net/", NO},
        {ALLOW_URL("https://h"), NULL, "evil", NULL, "https://h/", NO},
        {DENY(NPX), NULL, "npx|-y|x", NULL, "https://h/", BLOCKED},
        {DENY_URL("https://h"), NULL, "x", NULL, "https://h/", BLOCKED},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

#define BOTH(a, b) "{'allow':[{" a "},{" b "}]}"
#define RM "'command':['rm','x']"

START_TEST(a_clean_up_command_is_judged_as_a_command)
{
    static const struct {
        struct row row;
        const char *clean_up;
    } rows[] = {
        {{"{}", NULL, "npx|-y|x", NULL, NULL, OK}, "rm|x"},
        {{"{'allow':[]}", NULL, "npx|-y|x", NULL, NULL, NO}, "rm|x"},
        {{DENY(RM), NULL, "npx|-y|x", NULL, NULL, BLOCKED}, "rm|x"},
        {{DENY(RM), NULL, "npx|-y|x", NULL, NULL, OK}, "rm|y"},
        {{DENY(RM), NULL, "npx|-y|x", NULL, NULL, OK}, "rm"},
        {{DENY(RM), NULL, "npx|-y|x", NULL, NULL, OK}, NULL},
        {{DENY(RM), NULL, "npx|-y|x", "PATH", NULL, BLOCKED}, "rm|x"},
        {{DENY(NPX), NULL, "npx|-y|x", NULL, NULL, BLOCKED}, "rm|x"},
        {{DENY("'name':'srv'," RM), NULL, "a", NULL, NULL, BLOCKED}, "rm|x"},
        {{DENY("'name':'x'," RM), NULL, "a", NULL, NULL, OK}, "rm|x"},
        {{"{'allow':[{'name':'*'}],'deny':[{" RM "}]}", NULL, "a", NULL, NULL, BLOCKED},
         "rm|x"},
        /* a rule for the server is not one for what follows it */
        {{ALLOW(NPX), NULL, "npx|-y|x", NULL, NULL, NO}, "rm|x"},
        {{ALLOW(RM), NULL, "npx|-y|x", NULL, NULL, NO}, "rm|x"},
        {{BOTH(NPX, RM), NULL, "npx|-y|x", NULL, NULL, OK}, "rm|x"},
        {{BOTH(RM, NPX), NULL, "npx|-y|x", NULL, NULL, OK}, "rm|x"},
        {{BOTH(NPX, RM), NULL, "npx|-y|x", NULL, NULL, NO}, "rm|x|y"},
        {{BOTH(NPX, RM), NULL, "npx|-y|x", NULL, NULL, NO}, "rm"},
        {{BOTH(NPX, RM), NULL, "npx|-y|x", "LD_PRELOAD", NULL, NO}, "rm|x"},
        {{BOTH(NPX, RM), NULL, "npx|-y|y", NULL, NULL, NO}, "rm|x"},
        {{ALLOW(NPX), NULL, "npx|-y|x", NULL, NULL, OK}, "npx|-y|x"},
        {{BOTH(NPX, "'name':'srv'," RM), NULL, "npx|-y|x", NULL, NULL, OK}, "rm|x"},
        {{BOTH(NPX, "'name':'x'," RM), NULL, "npx|-y|x", NULL, NULL, NO}, "rm|x"},
        {{BOTH("'name':'srv'," NPX, "'url':'https://h'"), NULL, "npx|-y|x", NULL, NULL,
          NO},
         "rm|x"},
        {{ALLOW("'url':'https://h'"), NULL, NULL, NULL, "https://h/", NO}, "rm|x"},
        /* but one about the name is about all of it */
        {{ALLOW("'name':'srv'"), NULL, "npx|-y|x", NULL, NULL, OK}, "rm|x"},
        {{BOTH(NPX, "'name':'s*'"), NULL, "npx|-y|x", NULL, NULL, OK}, "rm|x"},
        {{BOTH(NPX, "'name':'x'"), NULL, "npx|-y|x", NULL, NULL, NO}, "rm|x"},
        {{BOTH("'name':'x'", RM), NULL, "npx|-y|x", NULL, NULL, NO}, "rm|x"},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        struct mp_policy *policy = parse(rows[i].row.policy, &err);
        ck_assert_msg(policy != NULL, "row %zu: %s", i, err.text);
        enum mp_verdict verdict = judge_with(&rows[i].row, rows[i].clean_up, policy);
        ck_assert_msg(verdict == rows[i].row.verdict, "row %zu: %s: %d instead of %d", i,
                      rows[i].row.policy, verdict, rows[i].row.verdict);
        mp_policy_free(policy);
    }
}
END_TEST

START_TEST(variables_that_change_what_runs_undo_an_allowed_command)
{
    static const char *const telling[] = {
        "PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONHOME",
        "PERL5LIB",
        "PERL5OPT",
        "RUBYOPT",
        "RUBYLIB",
        "BASH_ENV",
        "BASH_FUNC_npx%%",
        "ENV",
        "IFS",
        "SHELLOPTS",
        "PS4",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "npm_config_registry",
        "NPM_CONFIG_REGISTRY",
        "Npm_Config_Registry",
        "UV_INDEX_URL",
        "PIP_INDEX_URL",
        "HOME",
        "GIT_SSH_COMMAND",
        "DOCKER_HOST",
        "DOTNET_STARTUP_HOOKS",
        "GCONV_PATH",
        "path",
        "LD_PRELOAD=/tmp/x.so",
        "PATH=",
        "XDG_CONFIG_HOME",
        "SSL_CERT_FILE",
        "PHPRC",
        "NODE_TLS_REJECT_UNAUTHORIZED",
        "OPENSSL_CONF",
        "DENO_DIR",
        "LUA_INIT",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
        "GLOBAL_AGENT_HTTP_PROXY",
        "NODE_USE_ENV_PROXY",
        "HOSTALIASES",
        "RES_OPTIONS",
        "SSL_CERT_DIR",
        "SSLKEYLOGFILE",
        "NODE_EXTRA_CA_CERTS",
        "NODE_COMPILE_CACHE",
        "CURL_CA_BUNDLE",
        "CURL_HOME",
        "REQUESTS_CA_BUNDLE",
        "AWS_CA_BUNDLE",
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",
        "KUBECONFIG",
        "KUBERNETES_SERVICE_HOST",
        "CLOUDSDK_CONFIG",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "AZURE_CONFIG_DIR",
        "GIT_DIR",
        "GIT_CONFIG_GLOBAL",
        "GIT_PAGER",
        "GIT_EDITOR",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "PAGER",
        "EDITOR",
        "BROWSER",
        "NPM_CONFIG_USERCONFIG",
        "npm_config_node_options",
        "PIP_CONFIG_FILE",
        "PUPPETEER_EXECUTABLE_PATH",
        "PLAYWRIGHT_BROWSERS_PATH",
        "PLAYWRIGHT_DOWNLOAD_HOST",
        "DOCKER_TLS_VERIFY",
        "PODMAN_CONNECTIONS_CONF",
        "TF_CLI_CONFIG_FILE",
        "CC",
        "MAKEFLAGS",
        "DBUS_SESSION_BUS_ADDRESS",
        "XDG_STATE_HOME",
        "a_very_long_name_that_is_longer_than_sixty_four_characters_HTTP_PROXY",
    };
    static const char *const harmless[] = {
        "GITHUB_TOKEN",
        "API_KEY",
        "NODE_ENV",
        "DEBUG",
        "LANG",
        "RUST_LOG",
        "NPM_TOKEN",
        "MY_PATH",
        "PATHS",
        "XPATH",
        "ENVIRONMENT",
        "DATABASE_URL",
        "GIT_AUTHOR_NAME",
        "DOCKER_USER",
        "GIT_COMMITTER_EMAIL",
        "GIT_TERMINAL_PROMPT",
        "GITHUB_HOST",
        "GITLAB_API_URL",
        "SSH_AUTH_SOCK",
        "AWS_REGION",
        "AWS_PROFILE",
        "AWS_ACCESS_KEY_ID",
        "GOOGLE_API_KEY",
        "AZURE_TENANT_ID",
        "PROXY",
        "CCC",
        "LOG_LEVEL",
        "X_LD_PRELOAD",
        "",
        "=PATH",
        "TZ",
        "HOMEPAGE",
    };
    char env[100];

    for (size_t i = 0; i < MP_COUNT(telling) + MP_COUNT(harmless); i++) {
        bool bad = i < MP_COUNT(telling);
        const char *name = bad ? telling[i] : harmless[i - MP_COUNT(telling)];
        snprintf(env, sizeof env, "A|%s", name);
        struct row rows[] = {
            {ALLOW(NPX), NULL, "npx|-y|x", env, NULL, bad ? NO : OK},
            {ALLOW("'name':'srv'," NPX), NULL, "npx|-y|x", env, NULL, bad ? NO : OK},
            {ALLOW("'name':'srv'"), NULL, "npx|-y|x", env, NULL, OK},
            {"{}", NULL, "npx|-y|x", env, NULL, OK},
            {DENY(NPX), NULL, "npx|-y|x", env, NULL, BLOCKED},
            {ALLOW_URL("https://h"), NULL, NULL, env, "https://h/", OK},
        };
        check_rows(rows, MP_COUNT(rows));
    }
}
END_TEST

/* ---- URLs ---- */

#define CORP ALLOW("'url':'https://*.corp.example/mcp/*'")

START_TEST(an_allowed_url_is_not_talked_into_another)
{
    static const struct url_row rows[] = {
        {CORP, "https://a.corp.example/mcp/x", OK},
        {CORP, "https://a.b.corp.example/mcp/", OK},
        {CORP, "https://a.corp.example/mcp/x?q=1#f", OK},
        {CORP, "HTTPS://A.CORP.EXAMPLE/mcp/x", OK},
        {CORP, "https://a.corp.example:443/mcp/x", OK},
        {CORP, "https://a.corp.example./mcp/x", OK},
        /* the host ends where the host ends */
        {CORP, "https://corp.example/mcp/x", NO},
        {CORP, "https://a.corp.example.evil.net/mcp/x", NO},
        {CORP, "https://evilcorp.example/mcp/x", NO},
        {CORP, "https://evil.net/a.corp.example/mcp/x", NO},
        {CORP, "https://evil.net/.corp.example/mcp/x", NO},
        {CORP, "https://evil.net?.corp.example/mcp/x", NO},
        {CORP, "https://evil.net#.corp.example/mcp/x", NO},
        {CORP, "https://evil.net:80.corp.example/mcp/x", NO},
        {CORP, "https://evil.net\\.corp.example/mcp/x", NO},
        {CORP, "https://evil.net%2f.corp.example/mcp/x", NO},
        {CORP, "https://a.corp.example@evil.net/mcp/x", NO},
        {CORP, "https://a.corp.example:443@evil.net/mcp/x", NO},
        {CORP, "https://u:p@a.corp.example/mcp/x", NO},
        {CORP, "https://@a.corp.example/mcp/x", NO},
        {CORP, "https://evil.net\t.corp.example/mcp/x", NO},
        {CORP,
         "https://evil.net\xe3\x80\x82"
         "corp.example/mcp/x",
         NO},
        {CORP, "https://..corp.example/mcp/x", NO},
        {CORP, "https://.corp.example/mcp/x", NO},
        /* scheme and port */
        {CORP, "http://a.corp.example/mcp/x", NO},
        {CORP, "wss://a.corp.example/mcp/x", NO},
        {CORP, "https:/a.corp.example/mcp/x", NO},
        {CORP, "https:a.corp.example/mcp/x", NO},
        {CORP, "//a.corp.example/mcp/x", NO},
        {CORP, " https://a.corp.example/mcp/x", NO},
        {CORP, "https://a.corp.example:8443/mcp/x", NO},
        {CORP, "https://a.corp.example:0443/mcp/x", NO},
        {CORP, "https://a.corp.example:/mcp/x", NO},
        {CORP, "", NO},
        {CORP, "tcp:a.corp.example:443", NO},
        {CORP, "foo://a.corp.example/mcp/x", NO},
        /* the path, as a server may take it */
        {CORP, "https://a.corp.example/MCP/x", NO},
        {CORP, "https://a.corp.example/mcp", NO},
        {CORP, "https://a.corp.example/x/mcp/", NO},
        {CORP, "https://a.corp.example/mcp/../admin", NO},
        {CORP, "https://a.corp.example/mcp/%2e%2e/admin", NO},
        {CORP, "https://a.corp.example/mcp/.%2E/admin", NO},
        {CORP, "https://a.corp.example/mcp/..%2fadmin", NO},
        {CORP, "https://a.corp.example/mcp%2f..%2fadmin", NO},
        {CORP, "https://a.corp.example/mcp/..%5cadmin", NO},
        {CORP, "https://a.corp.example/mcp/%252e%252e/admin", NO},
        {CORP, "https://a.corp.example/mcp/%25252e./admin", NO},
        {CORP, "https://a.corp.example/mcp/..;x=1/admin", NO},
        {CORP, "https://a.corp.example/mcp/..%3b/admin", NO},
        {CORP, "https://a.corp.example/mcp/%c0%ae%c0%ae/admin", NO},
        {CORP, "https://a.corp.example/mcp/x%00", NO},
        {CORP, "https://a.corp.example/mcp/..", NO},
        {CORP, "https://a.corp.example/mcp/./..", NO},
        {CORP, "https://a.corp.example/admin/../mcp/x", OK},
        {CORP, "https://a.corp.example/mcp/a/../b", OK},
        {CORP, "https://a.corp.example/mcp/...", OK},
        {CORP, "https://a.corp.example/mcp/x?../../admin", OK},
        {CORP, "https://a.corp.example/?/mcp/x", NO},
        {CORP, "https://a.corp.example/mcp/a%20b%2Fc", OK},
    };
    check_urls(rows, MP_COUNT(rows));
}
END_TEST

#define EVIL DENY("'url':'https://evil.net/admin/*'")
#define HOST DENY("'url':'https://evil.net'")

START_TEST(a_denied_url_is_denied_in_every_spelling)
{
    static const struct url_row rows[] = {
        {EVIL, "https://evil.net/admin/x", BLOCKED},
        {EVIL, "https://EVIL.net/admin/x", BLOCKED},
        {EVIL, "https://evil.net./admin/x", BLOCKED},
        {EVIL, "https://evil.net:443/admin/x", BLOCKED},
        {EVIL, "https://EvIl.NeT.:443/admin/x", BLOCKED},
        {EVIL, "https://evil.net/a/../admin/x", BLOCKED},
        {EVIL, "https://evil.net/a/%2e%2e/admin/x", BLOCKED},
        {EVIL, "https://evil.net/admin/x/../../y", BLOCKED},
        {EVIL, "https://evil.net/%61dmin/x", BLOCKED},
        {EVIL, "https://evil.net/%2561dmin/x", BLOCKED},
        {EVIL, "https://evil.net//admin//x", BLOCKED},
        {EVIL, "https://evil.net/./admin/x", BLOCKED},
        {EVIL, "https://evil.net/%2fadmin%2fx", BLOCKED},
        {EVIL, "https://evil.net/a/..;/admin/x", BLOCKED},
        {EVIL, "https://evil.net/admin/?", BLOCKED},
        {DENY_URL("https://evil.net/mcp"), "https://evil.net/mcp?", BLOCKED},
        {DENY_URL("https://evil.net/mcp"), "https://evil.net/mcp?a=1", BLOCKED},
        {DENY_URL("https://evil.net/mcp"), "https://evil.net/mcp#f", BLOCKED},
        {DENY_URL("https://evil.net/mcp?a=1"), "https://evil.net/mcp", OK},
        {DENY_URL("https://evil.net/@a/b"), "https://evil.net/%40a/b", BLOCKED},
        {DENY_URL("https://evil.net/%40a/b"), "https://evil.net/@a/b", BLOCKED},
        {DENY_URL("https://evil.net/%e4"), "https://evil.net/%E4", BLOCKED},
        {DENY_URL("https://evil.net/"), "https://evil.net", BLOCKED},
        {DENY_URL("https://evil.net/"), "https://evil.net?x", BLOCKED},
        {HOST, "https://evil.net", BLOCKED},
        {HOST, "https://evil.net/any/thing?x", BLOCKED},
        {DENY_URL("HTTPS://EVIL.Net."), "https://evil.net/", BLOCKED},
        {DENY_URL("https://evil.net:443"), "https://evil.net/", BLOCKED},
        {DENY_URL("https://evil.net:*"), "https://evil.net:8443/", BLOCKED},
        {DENY_URL("https://*:*"), "https://h:1/", BLOCKED},
        {DENY_URL("https://*"), "https://[::1]/x", BLOCKED},
        /* what can't be read */
        {HOST, "https://u@h/", BLOCKED},
        {HOST, "https://good.example\\@evil.net/", BLOCKED},
        {HOST, "https://0x7f.1/", BLOCKED},
        {HOST, "https:///evil.net/", BLOCKED},
        {HOST, "nonsense", BLOCKED},
        {HOST, "", BLOCKED},
        {HOST, "https://h/%00", BLOCKED},
        {DENY("'name':'x','url':'https://evil.net'"), "nonsense", OK},
        {DENY("'name':'srv'"), "nonsense", BLOCKED},
        /* what is something else */
        {EVIL, "https://evil.net/administration", OK},
        {EVIL, "https://not-evil.net/admin/x", OK},
        {EVIL, "https://evil.net.example/admin/x", OK},
        {EVIL, "http://evil.net/admin/x", OK},
        {EVIL, "https://evil.net:8443/admin/x", OK},
        {EVIL, "https://evil.net/?/admin/x", OK},
        {HOST, NULL, OK},
    };
    check_urls(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(addresses_are_compared_as_numbers_by_deny)
{
    static const struct url_row rows[] = {
        {DENY_URL("http://127.0.0.1"), "http://127.0.0.1/", BLOCKED},
        {DENY_URL("http://127.0.0.1"), "http://[::ffff:127.0.0.1]/", BLOCKED},
        {DENY_URL("http://127.0.0.1"), "http://[::ffff:7f00:1]/", BLOCKED},
        {DENY_URL("http://127.*"), "http://[::ffff:127.0.0.1]/", BLOCKED},
        {DENY_URL("http://0x7f.1"), "http://127.0.0.1/", BLOCKED},
        {DENY_URL("http://2130706433"), "http://127.0.0.1/", BLOCKED},
        {DENY_URL("http://0177.0.0.1"), "http://127.0.0.1/", BLOCKED},
        {DENY_URL("http://[0:0:0:0:0:0:0:1]"), "http://[::1]/", BLOCKED},
        {DENY_URL("http://[::FFFF:127.0.0.1]"), "http://127.0.0.1/", BLOCKED},
        {DENY_URL("http://10.0.0.1"), "http://10.0.0.2/", OK},
        {DENY_URL("http://10.0.0.1"), "http://[::1]/", OK},
        {DENY_URL("http://[::1]:8080/x"), "http://[0::1]:8080/x", BLOCKED},
        {ALLOW_URL("http://[::1]"), "http://[0:0::1]/x", OK},
        {ALLOW_URL("http://127.0.0.1"), "http://127.0.0.1/", OK},
        {ALLOW_URL("http://127.0.0.1"), "http://[::ffff:127.0.0.1]/", NO},
        {ALLOW_URL("http://*1"), "http://[::1]/", NO},
        {ALLOW_URL("http://*/"), "http://[::1]/", OK},
        {ALLOW_URL("https://*/"), "https://a.b.c/", OK},
        {ALLOW_URL("https://*/"), "https://a.b.c:1/", NO},
        {ALLOW_URL("https://*/*"), "https://a.b.c/d?e", OK},
        {ALLOW_URL("https://a*z.example"), "https://a.b.z.example/", OK},
        {ALLOW_URL("ws://h"), "ws://h:80/", OK},
        {ALLOW_URL("wss://h"), "wss://h:443/", OK},
        {ALLOW_URL("ws://h"), "http://h/", NO},
    };
    check_urls(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(sockets_are_compared_as_text)
{
    static const struct url_row rows[] = {
        {ALLOW_URL("unix:/run/mcp/*"), "unix:/run/mcp/a.sock", OK},
        {ALLOW_URL("unix:/run/mcp/*"), "UNIX:/run/mcp/a.sock", OK},
        {ALLOW_URL("unix:/run/mcp/*"), "unix:/run/MCP/a.sock", NO},
        {ALLOW_URL("unix:/run/mcp/*"), "unix:/run/mcp/../../tmp/x", NO},
        {ALLOW_URL("unix:/run/mcp/*"), "unix:/run/mcp/..", NO},
        {ALLOW_URL("unix:/run/mcp/*"), "unix:/tmp/../run/mcp/x", NO},
        {ALLOW_URL("unix:/run/mcp/*"), "tcp:/run/mcp/x", NO},
        {ALLOW_URL("unix:*"), "unix:rel.sock", OK},
        {ALLOW_URL("unix:*"), "unix:", NO},
        {DENY_URL("unix:/run/docker.sock"), "unix:/run/docker.sock", BLOCKED},
        {DENY_URL("unix:/run/docker.sock"), "unix:///run/docker.sock", BLOCKED},
        {DENY_URL("unix:/run/docker.sock"), "unix:/run/./docker.sock", BLOCKED},
        {DENY_URL("unix:/run/docker.sock"), "unix:/x/../run/docker.sock", BLOCKED},
        {DENY_URL("unix:/run/docker.sock"), "unix:/run/docker%2esock", OK},
        {DENY_URL("unix:b"), "unix:a/../b", BLOCKED},
        {DENY_URL("unix:/run/docker.sock"), "unix:", BLOCKED},
        {ALLOW_URL("tcp:db.example:*"), "tcp:db.example:80", OK},
        {ALLOW_URL("tcp:db.example:80"), "tcp://DB.example:80", OK},
        {ALLOW_URL("tcp:db.example:80"), "tcp:db.example:81", NO},
        {DENY_URL("tcp:evil.net:80"), "tcp://EVIL.net.:80", BLOCKED},
        {DENY_URL("tcp://evil.net:80"), "tcp:evil.net:80", BLOCKED},
        {DENY_URL("tcp:127.0.0.1:80"), "tcp:0x7f.1:80", BLOCKED},
        {DENY_URL("tcp:127.0.0.1:*"), "tcp:[::ffff:127.0.0.1]:80", BLOCKED},
        {DENY_URL("tcp:10.0.0.1:80"), "tcp:10.0.0.2:80", OK},
        {DENY_URL("tcp:127.0.0.1:80"), "tcp:127.0.0.1:81", OK},
        {ALLOW_URL("foo+bar:x*"), "foo+bar:xyz", OK},
        {DENY_URL("foo:x*"), "Foo:xyz", BLOCKED},
    };
    check_urls(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(a_long_url_is_one_that_cannot_be_read)
{
    static char url[URL_MAX + 10];
    struct row deny = {DENY_URL("https://x"), NULL, NULL, NULL, url, BLOCKED};
    struct row allow = {ALLOW_URL("https://h"), NULL, NULL, NULL, url, OK};

    memset(url, 'a', sizeof url - 1);
    memcpy(url, "https://h/", 10);
    check_rows(&deny, 1);
    url[URL_MAX - 1] = '\0';
    check_rows(&allow, 1);
    url[URL_MAX - 1] = 'a';
    url[URL_MAX] = '\0';
    allow.verdict = NO;
    check_rows(&allow, 1);
    check_rows(&deny, 1);
    /* escaped 8 times it is read, 9 times it is not */
    strcpy(url, "https://h/%252525252525252e");
    allow.verdict = OK;
    check_rows(&allow, 1);
    strcpy(url, "https://h/%25252525252525252e");
    allow.verdict = NO;
    check_rows(&allow, 1);
}
END_TEST

/* ---- without a policy ---- */

START_TEST(without_a_policy_everything_is_allowed)
{
    struct row row = {NULL, NULL, "rm", "LD_PRELOAD", "nonsense", OK};

    ck_assert_int_eq(judge(&row, NULL), MP_ALLOWED);
    mp_policy_free(NULL);
    ck_assert_str_eq(mp_verdict_text(MP_ALLOWED), "");
    ck_assert_str_eq(mp_verdict_text(MP_BLOCKED),
                     "server is explicitly blocked by enterprise policy");
    ck_assert_str_eq(mp_verdict_text(MP_NOT_ALLOWED), "not allowed by enterprise policy");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_policy");
    TCase *t = tcase_create("all");

    tcase_add_test(t, deny_wins_and_an_empty_allow_allows_nothing);
    tcase_add_test(t, names_are_compared_exactly_but_for_stars);
    tcase_add_test(t, a_glob_of_many_stars_takes_no_time);
    tcase_add_test(t, a_command_line_is_compared_word_by_word);
    tcase_add_test(t, a_clean_up_command_is_judged_as_a_command);
    tcase_add_test(t, variables_that_change_what_runs_undo_an_allowed_command);
    tcase_add_test(t, an_allowed_url_is_not_talked_into_another);
    tcase_add_test(t, a_denied_url_is_denied_in_every_spelling);
    tcase_add_test(t, addresses_are_compared_as_numbers_by_deny);
    tcase_add_test(t, sockets_are_compared_as_text);
    tcase_add_test(t, a_long_url_is_one_that_cannot_be_read);
    tcase_add_test(t, without_a_policy_everything_is_allowed);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
