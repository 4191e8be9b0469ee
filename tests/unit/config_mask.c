/* What `get` and its like show of an entry. In most rows % is the secret. */
#include "nomem_kit.h"
#include "quick.h"

#include "base/buf.h"

struct row {
    const char *entry; /* with ' for " */
    const char *shown;
};

/* ---- rows: where a secret stands, or what is before it, tells ---- */

static const char *const header_rows[] = {
    "{'headers':{'Authorization':'Bearer %'}}",
    "{'headers':{'Authorization':'bearer x %'}}",
    "{'headers':{'Authorization':'Basic %'}}",
    "{'headers':{'Authorization':'token %'}}",
    "{'headers':{'Authorization':'%'}}",
    "{'headers':{'X-Team':'%'}}",
    "{'headers':{'User-Agent':'me/%'}}",
    "{'headers':{'Cookie':'sid=1; theme=%'}}",
    "{'headers':{'X-Url':'https://h/hook/%'}}",
    "{'headers':{'X':{'deep':['%']}}}",
    "{'headers':['X: %']}",
    "{'headers':'X: %'}",
    "{'headers':[{'name':'X','value':'%'}]}",
    "{'h\\u0065aders':{'X':'%'}}",
    "{'http_headers':{'X':'%'}}",
    "{'requestInit':{'headers':{'X':'%'}}}",
    "{'headers':{'X':'$${%}'}}",
    "{'headers':{'X':'${A:-%}'}}",
    "{'headers':{'X':'${A:-${B:-%}}'}}",
    "{'headers':{'X':'${A} % ${B}'}}",
    "{'headers':{'X':'${A-%}'}}",
    "{'headers':{'X':'${%'}}",
    "{'headers':{'X':'${words %}'}}",
    "{'headers':{'X':'${cmd:curl -u me:% https://h}'}}",
    "{'headers':{'X':'${cmd:TOKEN=% helper}'}}",
    "{'headers':{'X':'a\\u0000%'}}",
    "{'headers':{'Accept':'%'}}",
    "{'headers':{'X':'${cmd:echo %}'}}",
    "{'headers':{'X':'$$${%}'}}",
};

static const char *const variable_rows[] = {
    "{'env':{'API_KEY':'%'}}",
    "{'env':{'MODE':'%'}}",
    "{'env':{'BASE_URL':'https://h/%'}}",
    "{'env':{'OPTIONS':'--key %'}}",
    "{'env':{'DATABASE_URL':'postgres://me:%@h/db'}}",
    "{'env':{'LANG':'%'}}",
    "{'env':{'NODE_ENV':'%'}}",
    "{'env':{'DEBUG':'password=%'}}",
    "{'env':{'HOST':'https://me:%@h'}}",
    "{'env':['API_KEY=%','%']}",
    "{'env':'A=%'}",
    "{'environment':{'A':'%'}}",
    "{'envVars':[{'name':'A','value':'%'}]}",
    "{'command':{'path':'x','args':['--token','%'],'env':{'A':'%'}}}",
    "{'apiKey':'%'}",
    "{'oauth':{'clientId':'%','scopes':['%']}}",
    "{'auth':['%',{'a':{'b':'%'}}]}",
    "{'passphrase':'%'}",
    "{'db':{'connectionString':'%'}}",
    "{'pw':'%'}",
    "{'x_pat':'%'}",
};

static const char *const option_rows[] = {
    "{'args':['--token','%']}",
    "{'args':['--token','-%']}",
    "{'args':['--token','--%']}",
    "{'args':['--token=%']}",
    "{'args':['--api-key','%']}",
    "{'args':['--apiKey=%']}",
    "{'args':['--auth','--token','%']}",
    "{'args':['--my-secret-thing','a % b']}",
    "{'args':['--passphrase','%']}",
    "{'args':['--db-pwd=%']}",
    "{'args':['--access-key-id','%']}",
    "{'args':['--credential','%']}",
    "{'args':['--cookie','a=%']}",
    "{'args':['--session-id','%']}",
    "{'args':['--pin','%']}",
    "{'args':['--signature=%']}",
    "{'args':['--jwt','%']}",
    "{'args':['-----BEGIN PRIVATE KEY-----\\n%\\n-----END PRIVATE KEY-----']}",
    "{'command':'server -----BEGIN OPENSSH PRIVATE KEY-----%'}",
    "{'args':['--user','me:%']}",
    "{'args':['--dsn','%']}",
    "{'args':['--connection-string','%']}",
    "{'args':['--pat','%']}",
    "{'args':['-u','me:%']}",
    "{'args':['-p','%']}",
    "{'args':['-k','%']}",
    "{'args':['-a','%']}",
    "{'args':['-H','X-Any: %']}",
    "{'args':['-H','X-Any:%']}",
    "{'args':['-H','%']}",
    "{'args':['--header','Authorization: Bearer %']}",
    "{'args':['--headers','%']}",
    "{'args':['-p%']}",
    "{'args':['-ppassword%']}",
    "{'args':['-p=%']}",
    "{'args':['-ume:%']}",
    "{'args':['-HX-Any: %']}",
    "{'args':['-sSu','me:%']}",
    "{'args':['-sSfLu','me:%']}",
    "{'args':['-password','%']}",
    "{'args':['-apikey=%']}",
    "{'args':['-e','A=%']}",
    "{'args':['-e','lower=%']}",
    "{'args':['--env','A=x %']}",
    "{'args':['--env=A=%']}",
    "{'args':['-eA=%']}",
    "{'args':['-DapiKey=%']}",
    "{'args':['Authorization:','Bearer','%']}",
    "{'args':['Bearer %']}",
    "{'args':['token=','%']}",
    "{'args':['--token ','%']}",
    "{'args':['mysql -p','%']}",
    "{'command':['x','--token','%']}",
    "{'command':'server --api-key %'}",
    "{'command':'API_KEY=% server'}",
};

static const char *const code_rows[] = {
    "{'args':['-c','curl -H \\u0027Authorization: Bearer %\\u0027 h']}",
    "{'args':['-c','curl -H \\u0027X-Any: %\\u0027 h']}",
    "{'args':['-c','curl -u me:% h']}",
    "{'args':['-c','curl -sSu me:% h']}",
    "{'args':['-c','mysql -p% db']}",
    "{'args':['-c','mysql -p\\u0027%\\u0027 db']}",
    "{'args':['-c','export A=1; API_KEY=% cmd']}",
    "{'args':['-c','exec env TOKEN=% npx server']}",
    "{'args':['-c','docker run -e x=% img']}",
    "{'args':['-c','docker run --env A=% img']}",
    "{'args':['-c','npx server --token %']}",
    "{'args':['-c','npx server --token   \\u0027%\\u0027']}",
    "{'args':['-c','npx server --token=\\u0027a %\\u0027']}",
    "{'args':['-c','(cd /x && npx server --api-key=%)']}",
    "{'args':['-c','echo -----BEGIN RSA PRIVATE KEY-----% | server']}",
};

static const char *const line_rows[] = {
    "{'args':['Server=h;Database=d;Password=%;']}",
    "{'args':['Server=h;Pwd=a b %']}",
    "{'args':['host=h dbname=d password=%']}",
    "{'args':['host=h password = \\u0027%\\u0027']}",
    "{'args':['jdbc:postgresql://h/db?user=me&password=%']}",
    "{'args':['jdbc:sqlserver://h:1433;databaseName=d;user=me;password=%']}",
    "{'args':['Endpoint=sb://h/;SharedAccessKeyName=R;SharedAccessKey=%=']}",
    "{'args':['DefaultEndpointsProtocol=https;AccountName=n;AccountKey=%==']}",
    "{'args':['{\\\"apiKey\\\":\\\"%\\\"}']}",
    "{'args':['{\\\"a\\\":{\\\"client_secret\\\" : \\\"%\\\"}}']}",
    "{'args':['{\\\\\\\"password\\\\\\\":\\\\\\\"%\\\\\\\"}']}",
    "{'args':['{apiKey:%}']}",
    "{'args':['--config={\\\"token\\\":\\\"%\\\"}']}",
    "{'args':['[\\\"--token\\\", \\\"%\\\"]']}",
    "{'args':['\\u0027password\\u0027 => \\u0027%\\u0027']}",
    "{'args':['<password>%</password>']}",
    "{'args':['Authorization: Bearer %']}",
};

static const char *const url_rows[] = {
    "{'url':'https://me:%@h.example/mcp'}",
    "{'url':'https://%@h/'}",
    "{'url':'https://me:a/%@h/'}",
    "{'url':'https://me:a#%@h/'}",
    "{'url':'https://me:a?%@h/'}",
    "{'url':'https://me:a@%@h/'}",
    "{'url':'https://h/?key=a@%'}",
    "{'url':'https://h/?q=%'}",
    "{'url':'https://h/?%'}",
    "{'url':'https://h/?a=1&b=%&v=2'}",
    "{'url':'https://h/?v=%'}",
    "{'url':'https://h?%'}",
    "{'proxy':'http://me:%@h'}",
    "{'healthUrl':'https://h/up?key=%'}",
    "{'url':'https://h/?a=1;b=%'}",
    "{'url':'https://h/#%'}",
    "{'url':'https://h/#access_token=%'}",
    "{'url':'https://h/p?v=2?x=%'}",
    "{'url':'https://h/;password=%'}",
    "{'url':'https://h/?a=${A:-%}'}",
    "{'args':['redis://:%@h:6379/0']}",
    "{'args':['mongodb+srv://me:%@c0.example.net,c1.example.net/db']}",
    "{'args':['see https://h/x and https://me:%@h/y']}",
    "{'args':['https://h/?a=% https://h/?b=%']}",
    "{'args':['\\u0027https://h/?a=%\\u0027,\\u0027https://me:%@h\\u0027']}",
    "{'args':['--proxy=http://me:%@h:8080']}",
    "{'args':['git+https://%:x@github.com/me/x.git']}",
    "{'args':['//me:%@h/x']}",
    "{'args':['https://a.example/x,https://me:%@h']}",
    "{'serverUrl':'https://h/?k=%'}",
    "{'cwd':'https://me:%@h/'}",
};

static const char *const readable[] = {
    "{'command':'npx','args':['-y','@modelcontextprotocol/server-everything']}",
    "{'args':['@modelcontextprotocol/server-filesystem@1.2.3','/srv/"
    "data','--verbose','8080']}",
    "{'command':'uvx','args':['mcp-server-git','--repository','/home/me/repo']}",
    "{'command':'uvx','args':['--from','git+https://github.com/me/server.git@main','x']}",
    "{'command':'docker','args':['run','-i','--rm','mcp/fetch','-v','/srv/data:/"
    "data:ro']}",
    "{'command':'docker','args':['run','-e','GITHUB_PERSONAL_ACCESS_TOKEN','ghcr.io/me/"
    "x']}",
    "{'command':'node','args':['/opt/servers/build/index.js','--port','8080']}",
    "{'command':'/usr/local/lib/node_modules/some-long-package-name/bin/server2.js'}",
    "{'command':'C:\\\\Program "
    "Files\\\\nodejs\\\\node.exe','args':['C:\\\\Users\\\\me\\\\x.js']}",
    "{'command':'python3','args':['-m','http.server','--host','0.0.0.0']}",
    "{'command':'git','args':['log','--since=2024-01-01','--format=%H','$HOME/src']}",
    "{'command':'sh','args':['-c','cd /srv && exec npx server']}",
    "{'command':'x','args':['--name=value','--model','claude-3-5-sonnet-20241022',7,true,"
    "null]}",
    "{'command':'x','args':['--port','8080','--url','https://h/','-transport=stdio']}",
    "{'args':['ghp_16C7e42F292c6912E7710c838347Ae178B4a','see the token there']}",
    "{'args':['gh','auth','login'],'note':'Password','default':'x'}",
    "{'args':['/srv/keys:/data','@me/token-server:1','C:\\\\tokens:x']}",
    "{'type':'http','url':'https://mcp.example.com/mcp'}",
    "{'url':'https://mcp.example.com:8443/v1/sse'}",
    "{'url':'https://h/token/9f86d081884c7d659a2feaa0c55ad015/mcp'}",
    "{'url':'http://[::1]:3000/mcp/my-project-2024/users/list'}",
    "{'args':['https://a.example/x','https://user.example.com:8080/y','see http://h/ "
    "now']}",
    "{'env':{'F':true,'G':'','H':null}}",
    "{'env':{'PATH':'/opt/x:/bin','LD_PRELOAD':'/x.so','NODE_OPTIONS':'--require "
    "/x.js'}}",
    "{'command':'perl','args':['-e','system(\\\"x\\\")']}",
    "{'command':'ruby','args':['-e','a=1; system(\\\"x\\\")']}",
    "{'headers':{'X-Empty':''}}",
    "{'cwd':'/srv/projects/2024-05-17-report','command':'/tmp/tmp.aB3dEfGhIj/x'}",
    "{'timeouts':{'connect':500,'tool':'5m'},'disabled':true,'queue':'slow','shared':"
    "false}",
    "{'toolsAllowed':['get_token','token=x'],'toolsDenied':['read_*'],"
    "'toolsApproved':['get_token'],'toolsAsked':['token=x']}",
    "{'keyFile':'/etc/ssl/me.pem','certFile':'/etc/c.pem','caFile':'/etc/ca.pem'}",
    "{'type':'unix','path':'/run/user/1000/mcp.sock'}",
    "{'type':'tcp','host':'db.internal','port':5432,'connectTimeout':'60s','ping':0,'"
    "connections':9}",
    "{'headers':{'Authorization':'Bearer ${TOKEN}','X':'${file:~/.secrets/key}'}}",
    "{'headers':{'Y':'${keyring:mcp}','Z':'${A}${B}'}}",
    "{'args':['--token','${TOKEN}','--token=${TOKEN}','-e','TOKEN=${TOKEN}']}",
    "{'url':'https://${HOST}:${PORT}/${keyring:x}','args':['${file:~/key}']}",
    "{'url':'https://${USER}@h/?${QUERY}'}",
    "{}",
    "[]",
    "'text'",
    "7",
    "null",
    "[[['a']],{'b':[{}]}]",
    "{'a':'\\u0001\\n'}",
    "{'':'','headers':{'':''}}",
};

static const struct row exact[] = {
    {"{'headers':{'Authorization':'Bearer abc'}}",
     "{'headers':{'Authorization':'Bearer ***'}}"},
    {"{'headers':{'Authorization':'Basic abc'}}",
     "{'headers':{'Authorization':'Basic ***'}}"},
    {"{'headers':{'X':'${A:-b}','Y':'${A:-}','Z':'${cmd:pass show mcp}'}}",
     "{'headers':{'X':'***','Y':'***','Z':'***'}}"},
    {"{'env':{'A':'pre${A}mid${B}post'}}", "{'env':{'A':'***${A}***${B}***'}}"},
    {"{'env':{'A':'${A}${B:-x}','B':'$${x}'}}", "{'env':{'A':'${A}***','B':'***'}}"},
    {"{'env':{'A':7,'B':-1.5e3}}", "{'env':{'A':'***','B':'***'}}"},
    {"{'headers':{'X':12345,'Y':true}}", "{'headers':{'X':'***','Y':true}}"},
    {"{'apiKey':12345,'pin':[1,{'a':2}]}", "{'apiKey':'***','pin':['***',{'a':'***'}]}"},
    {"{'args':['--token',12345,8080]}", "{'args':['--token','***',8080]}"},
    {"{'args':['--token','a','next']}", "{'args':['--token','***','next']}"},
    {"{'args':['--password','--verbose']}", "{'args':['--password','***']}"},
    {"{'args':['-p','80:80','-pabc','-port']}", "{'args':['-p','***','-p***','-p***']}"},
    {"{'args':['-e','A=b','-e','DEBUG=x']}", "{'args':['-e','A=***','-e','DEBUG=***']}"},
    {"{'args':['-password','x','y']}", "{'args':['-p***','***','y']}"},
    {"{'args':['-e','TOKEN','img']}", "{'args':['-e','TOKEN','img']}"},
    {"{'args':['-H','X-Api-Key: abc']}", "{'args':['-H','***']}"},
    {"{'args':['--header','Authorization:${A}']}", "{'args':['--header','***${A}']}"},
    {"{'args':['-c','export A=1; API_KEY=x cmd']}",
     "{'args':['-c','export A=1; API_KEY=*** cmd']}"},
    {"{'args':['-c','TOKEN=abc; curl -s https://h/x | sh']}",
     "{'args':['-c','TOKEN=***; curl -s https://h/x | sh']}"},
    {"{'args':['-lc','x --api-key=k;curl h|sh']}",
     "{'args':['-lc','x --api-key=***;curl h|sh']}"},
    {"{'args':['-c','T_TOKEN=$(curl h|sh) x']}",
     "{'args':['-c','T_TOKEN=$(curl h|sh) x']}"},
    {"{'args':['-c','TOKEN=\\\"a `curl h`\\\" x']}",
     "{'args':['-c','TOKEN=\\\"***`curl h`\\\" x']}"},
    {"{'args':['-c','curl https://h/?a=1;evil']}",
     "{'args':['-c','curl https://h/?***;evil']}"},
    {"{'args':['-p','-c','curl h|sh']}", "{'args':['-p','-c','curl h|sh']}"},
    {"{'env':{'HTTPS_PROXY':'http://u:p@h:8/','GIT_TOKEN':'x'}}",
     "{'env':{'HTTPS_PROXY':'http://***@h:8/','GIT_TOKEN':'***'}}"},
    {"{'url':'https://u:p@evil.com/@good.com'}",
     "{'url':'https://***@evil.com***@good.com'}"},
    {"{'url':'https://evil.com/a%20b@good.com'}",
     "{'url':'https://evil.com***@good.com'}"},
    {"{'url':'https://u:p@h/?a=b&v=2#c'}", "{'url':'https://***@h/?***'}"},
    {"{'url':'https://h/?token=${T}&v=1'}", "{'url':'https://h/?***${T}***'}"},
    {"{'args':['see https://h/?a=b now']}", "{'args':['see https://h/?*** now']}"},
    {"{'a':'\\ud83d\\ude00'}", "{'a':'\xf0\x9f\x98\x80'}"},
    {"{ 'a' : [ 1 , 2 ] }", "{'a':[1,2]}"},
    {"{'a':'x\\u0000y'}", "{'a':'x'}"},
};
/* ---- checks ---- */

static struct mp_str out;

static const char *mask(const char *text)
{
    struct mp_place at_fault;

    mp_str_clear(&out);
    mp_str_init(&out, 1 << 20);
    HOLDS(mp_json_check(mp_text(text), &at_fault, &err) == MCPLUG_OK, "%s", text);
    HOLDS(mp_mask_entry(mp_text(text), &out), "%s", text);
    HOLDS(mp_json_check(mp_text(out.data), &at_fault, &err) == MCPLUG_OK, "%s: %s", text,
          out.data);
    return out.data;
}

/* The row with the secret for %. */
static const char *fill(const char *row, const char *secret)
{
    static char text[8192];
    size_t len = 0;

    for (row = json(row); *row; row++) {
        HOLDS(len + strlen(secret) < sizeof text - 1, "%s", secret);
        if (*row == '%')
            len += (size_t)sprintf(text + len, "%s", secret);
        else
            text[len++] = *row;
    }
    text[len] = '\0';
    return text;
}

/* Neither the secret nor its beginning or end is shown. */
static void check_hidden(const char *row, const char *secret)
{
    const char *text = fill(row, secret), *shown = mask(text);
    char begin[7];

    snprintf(begin, sizeof begin, "%s", secret);
    HOLDS(!strstr(shown, begin), "%s: %s", text, shown);
    HOLDS(!strstr(shown, secret + strlen(secret) - 6), "%s: %s", text, shown);
    HOLDS(strstr(shown, "***"), "%s: %s", text, shown);
}

static void check_all(const char *const *rows, size_t n)
{
    static const char *const secrets[] = {"Zq7wXe9R", "hunterhunter", "-qwxz-vbnm",
                                          "24681357", "a&b=c;dQ#e?Z,x"};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < MP_COUNT(secrets); k++)
            check_hidden(rows[i], secrets[k]);
}

/* A shell ends words where the last of the secrets above has & and ;. */
static void check_code(const char *const *rows, size_t n)
{
    static const char *const secrets[] = {"Zq7wXe9R", "hunterhunter", "-qwxz-vbnm",
                                          "24681357", "a+b=c,dQ#e?Z,x"};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < MP_COUNT(secrets); k++)
            check_hidden(rows[i], secrets[k]);
}

static void check_row(const char *entry_text, const char *shown)
{
    const char *got = mask(json(entry_text));
    HOLDS(strcmp(got, json(shown)) == 0, "%s: %s instead of %s", entry_text, got, shown);
}

static const struct {
    const char *const *rows;
    size_t n;
} tables[] = {
    {header_rows, MP_COUNT(header_rows)}, {variable_rows, MP_COUNT(variable_rows)},
    {option_rows, MP_COUNT(option_rows)}, {line_rows, MP_COUNT(line_rows)},
    {url_rows, MP_COUNT(url_rows)},       {code_rows, MP_COUNT(code_rows)},
};

/* ---- tests ---- */

START_TEST(fields_of_a_header_are_hidden)
{
    check_all(header_rows, MP_COUNT(header_rows));
}
END_TEST

START_TEST(variables_and_settings_are_hidden_by_where_they_stand)
{
    check_all(variable_rows, MP_COUNT(variable_rows));
}
END_TEST

START_TEST(arguments_are_hidden_by_the_option_before_them)
{
    check_all(option_rows, MP_COUNT(option_rows));
}
END_TEST

START_TEST(command_lines_and_connection_strings_are_hidden_from_the_telling_name_on)
{
    check_all(line_rows, MP_COUNT(line_rows));
}
END_TEST

START_TEST(words_of_code_are_hidden_and_not_what_runs)
{
    check_code(code_rows, MP_COUNT(code_rows));
}
END_TEST

START_TEST(parts_of_urls_are_hidden)
{
    check_all(url_rows, MP_COUNT(url_rows));
}
END_TEST

START_TEST(what_is_no_secret_stays_readable)
{
    for (size_t i = 0; i < MP_COUNT(readable); i++)
        check_row(readable[i], readable[i]);
}
END_TEST

START_TEST(what_is_hidden_leaves_the_rest_as_it_is)
{
    for (size_t i = 0; i < MP_COUNT(exact); i++)
        check_row(exact[i].entry, exact[i].shown);
}
END_TEST

static unsigned roll(unsigned n)
{
    static uint64_t seed = 20240517;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

START_TEST(random_secrets_are_never_shown)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789-_+/=.!~";
    char secret[41];

    for (unsigned round = 0; round < 40; round++)
        for (size_t i = 0; i < MP_COUNT(tables); i++)
            for (size_t k = 0; k < tables[i].n; k++) {
                unsigned len = 8 + roll(33), known = roll(2) ? 62 : 70;
                for (unsigned n = 0; n < len; n++)
                    secret[n] = letters[roll(known)];
                secret[len] = '\0';
                const char *text = fill(tables[i].rows[k], secret), *shown = mask(text);
                HOLDS(!strstr(shown, secret), "%s: %s", text, shown);
            }
}
END_TEST

/* ---- limits ---- */

static const char crowded[] =
    "{'command':'run','args':['-p','Zq7wXe9R','--token','Zq7wXe9R','x --key Zq7wXe9R'],"
    "'env':{'A':'Zq7wXe9R','B':['Zq7wXe9R']},'headers':{'X':'Bearer Zq7wXe9R','Y':1},"
    "'apiKey':'Zq7wXe9R','url':'https://me:Zq7wXe9R@h/?a=Zq7wXe9R','oauth':{'a':"
    "'Zq7wXe9R'},'note':'${A} --key Zq7wXe9R'}";

static bool done;

static void clear(void)
{
    mp_str_clear(&out);
    mp_str_init(&out, 1 << 20);
}

static void mask_crowded(void)
{
    done = mp_mask_entry(mp_text(json(crowded)), &out);
    ck_assert(!fail_at || calls < fail_at || !done);
}

static void nothing_leaked(void)
{
    ck_assert_msg(!out.data || !strstr(out.data, "Zq7w"), "%s: %s", when(), out.data);
    mp_str_clear(&out);
}

START_TEST(without_memory_it_fails_and_shows_nothing)
{
    torture(clear, mask_crowded, nothing_leaked);
    ck_assert(done);
}
END_TEST

START_TEST(a_result_that_does_not_fit_fails_and_shows_nothing)
{
    size_t max = 0;

    do {
        mp_str_clear(&out);
        mp_str_init(&out, max++);
        done = mp_mask_entry(mp_text(json(crowded)), &out);
        ck_assert(done == !out.failed);
        ck_assert(!out.data || !strstr(out.data, "Zq7w"));
        ck_assert_uint_lt(max, 2000);
    } while (!done);
    mp_str_clear(&out);
}
END_TEST

/* Texts that make careless rules look at everything again and again. */
START_TEST(long_texts_take_no_long_time)
{
    static const char *const parts[] = {"=",     "-p ", "\\u0027-x", ",TZ=x",   "${A:-",
                                        "${!",   "://", "a@b:",      "=aB3dEf", "${a:",
                                        "x://@", "?&",  "key ",      "/Ab1",    "-s"};
    struct mp_str text;

    mp_str_init(&text, 1 << 20);
    for (size_t i = 0; i < MP_COUNT(parts); i++) {
        mp_str_reset(&text);
        mp_str_adds(&text, "{\"args\":[\"");
        while (text.len < fewer(300000))
            mp_str_adds(&text, parts[i]);
        mp_str_adds(&text, "}\"]}");
        clear();
        ck_assert(mp_mask_entry(mp_bytes(text.data, text.len), &out));
    }
    mp_str_clear(&text);
    mp_str_clear(&out);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, fields_of_a_header_are_hidden);
    tcase_add_test(t, variables_and_settings_are_hidden_by_where_they_stand);
    tcase_add_test(t, arguments_are_hidden_by_the_option_before_them);
    tcase_add_test(
        t, command_lines_and_connection_strings_are_hidden_from_the_telling_name_on);
    tcase_add_test(t, words_of_code_are_hidden_and_not_what_runs);
    tcase_add_test(t, parts_of_urls_are_hidden);
    tcase_add_test(t, what_is_no_secret_stays_readable);
    tcase_add_test(t, what_is_hidden_leaves_the_rest_as_it_is);
    tcase_add_test(t, random_secrets_are_never_shown);
    tcase_add_test(t, without_memory_it_fails_and_shows_nothing);
    tcase_add_test(t, a_result_that_does_not_fit_fails_and_shows_nothing);
    tcase_add_test(t, long_texts_take_no_long_time);
}

int main(void)
{
    return run_suite("config_mask", add);
}
