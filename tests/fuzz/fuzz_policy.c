/* A policy and what it is asked about. The first line is the subject: name, URL, words of
 * the command, names of variables, with tabs between; | is between words. The rest is the
 * policy. What must hold whatever they are: what a rule of "deny" blocks alone is
 * blocked, without "allow" too; what a rule lets in as "allow" it blocks as "deny"; a
 * verdict does not change, nor does another spelling of the host change that one is
 * blocked. */
#include "base/buf.h"
#include "config/policy.h"

#include "../../plugins/common/url.h"
#include "must.h"

#include <stdio.h>
#include <stdlib.h>

#define WORDS 16

static const char **split(char *text, const char *words[WORDS + 1])
{
    size_t n = 0;

    while (text && n < WORDS)
        words[n++] = strsep(&text, "|");
    words[n] = NULL;
    return n && words[0][0] ? words : NULL;
}

static enum mp_verdict judge(const struct mp_policy *policy, const struct mp_subject *s)
{
    enum mp_verdict verdict = mp_policy_judge(policy, s);

    MUST(verdict == mp_policy_judge(policy, s));
    MUST((verdict == MP_ALLOWED) == !mp_verdict_text(verdict)[0]);
    return verdict;
}

/* `rules` alone, as `key`. */
static enum mp_verdict judge_part(const char *key, mp_view rules, bool one,
                                  const struct mp_subject *subject)
{
    struct mp_str text;
    struct mp_policy *policy = NULL;
    const char *open = one ? "[" : "", *close = one ? "]" : "";

    mp_str_init(&text, 1 << 20);
    MUST(mp_str_addf(&text, "{\"%s\":%s", key, open));
    MUST(mp_str_add(&text, rules.data, rules.len));
    MUST(mp_str_addf(&text, "%s}", close));
    mp_view all = mp_bytes(text.data, text.len);
    MUST(mp_policy_parse(all, &policy, NULL, NULL) == MCPLUG_OK);
    enum mp_verdict verdict = judge(policy, subject);
    mp_policy_free(policy);
    mp_str_clear(&text);
    return verdict;
}

static void check_rules(mp_view text, enum mp_verdict verdict,
                        const struct mp_subject *subject)
{
    mp_view deny = mp_view_get(text, "deny"), allow = mp_view_get(text, "allow"), rule;
    struct mp_walk w = mp_walk_into(deny);
    bool blocked = false, let_in = false;

    for (int i = 0; i < 50 && mp_walk_element(&w, &rule); i++) {
        bool alone = judge_part("deny", rule, true, subject) == MP_BLOCKED;
        blocked = blocked || alone;
        MUST(!alone || verdict == MP_BLOCKED);
        MUST(alone || judge_part("allow", rule, true, subject) == MP_NOT_ALLOWED);
    }
    w = mp_walk_into(allow);
    for (int i = 0; i < 50 && mp_walk_element(&w, &rule); i++) {
        bool alone = judge_part("allow", rule, true, subject) == MP_ALLOWED;
        let_in = let_in || alone;
        MUST(!alone || verdict != MP_NOT_ALLOWED);
        MUST(!alone || judge_part("deny", rule, true, subject) == MP_BLOCKED);
    }
    if (mp_view_count(deny) <= 50)
        MUST(blocked == (verdict == MP_BLOCKED));
    if (allow.len && mp_view_count(allow) <= 50 && verdict != MP_BLOCKED)
        MUST(let_in == (verdict == MP_ALLOWED));
    if (deny.len)
        MUST((judge_part("deny", deny, false, subject) == MP_BLOCKED) ==
             (verdict == MP_BLOCKED));
}

/* The same URL with its host in capitals, a dot behind it, the port that it has anyway.
 */
static void respell(const char *url, const struct url *parts, int how, char *out,
                    size_t size)
{
    size_t host = strlen(parts->scheme) + 3, len = strlen(parts->host);
    bool has_port = host + len + 2 * (size_t)(parts->is_ipv6 != 0) < parts->target;
    char port[8] = "";

    if (parts->is_ipv6) /* it may have been written in more letters */
        len = strcspn(url + host, "]") + 1, has_port = host + len < parts->target;
    if (how & 4 && !has_port)
        snprintf(port, sizeof port, ":%u", (unsigned)parts->port);
    snprintf(out, size, "%.*s%s%s%s", (int)(host + len), url,
             how & 2 && !parts->is_ipv6 ? "." : "", port, url + host + len);
    for (size_t i = host; how & 1 && i < host + len; i++)
        if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
}

static void check_spellings(const struct mp_policy *policy,
                            const struct mp_subject *subject, enum mp_verdict verdict)
{
    char other[URL_MAX + 20];
    struct url parts, again;
    struct mp_subject s = *subject;

    if (!s.url || url_parse(s.url, &parts))
        return;
    for (int how = 1; how < 8; how++) {
        respell(s.url, &parts, how, other, sizeof other);
        if (url_parse(other, &again)) /* 1.2.3.4. and a.. */
            continue;
        MUST(again.port == parts.port && again.target_len == parts.target_len);
        struct mp_subject t = s;
        t.url = other;
        MUST(judge(policy, &t) == verdict);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp_policy *policy = NULL;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_place at = {0, 0};
    const char *words[WORDS + 1], *env[WORDS + 1];
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;

    if (!end || size > 30000)
        return 0;
    size_t line = (size_t)(end - data);
    char *first = strndup((const char *)data, line), *rest = first;
    MUST(first != NULL);
    struct mp_subject subject = {.name = strsep(&rest, "\t")};
    subject.url = rest ? strsep(&rest, "\t") : NULL;
    if (subject.url && !subject.url[0])
        subject.url = NULL;
    subject.command = split(rest ? strsep(&rest, "\t") : NULL, words);
    subject.env = split(rest, env);

    mp_view text = mp_bytes(data + line + 1, size - line - 1);
    if (mp_policy_parse(text, &policy, &at, &err) != MCPLUG_OK) {
        MUST(!policy && err.text[0] && at.line && at.column);
    } else {
        while (text.len && text.data[0] <= ' ') {
            text.data++;
            text.len--;
        }
        enum mp_verdict verdict = judge(policy, &subject);
        check_rules(text, verdict, &subject);
        check_spellings(policy, &subject, verdict);
    }
    mp_policy_free(policy);
    free(first);
    return 0;
}
