/* The administrator's word on which servers may be used:
 *
 *   { "allow": [ RULE, .. ], "deny": [ RULE, .. ] }
 *
 * A rule is an object, and everything that it says must hold:
 *
 *   "name": "github"              the server's name; * stands for any characters
 *   "command": ["npx", "-y", "x"] exactly this command line
 *   "url": "https:..*.corp/mcp"   scheme, host, port and path; * stands for any
 *                                 characters, but in the host for none of another part;
 *                                 without a port, the scheme's own is meant (:* is any),
 *                                 without a path any; unix:, tcp: and what other modules
 *                                 know are compared as text behind the colon
 *
 * Without "allow" everything is allowed, with an empty one nothing. A server that a rule
 * of "deny" fits is blocked whatever "allow" says. */
#ifndef MP_CONFIG_POLICY_H
#define MP_CONFIG_POLICY_H

#include "config/jsontext.h"

#include <sys/types.h>

struct mp_policy; /* NULL: no policy, everything is allowed */

/* What a policy looks at, after expansion. */
struct mp_subject {
    const char *name;
    const char *const *command; /* command and args, NULL-ended; NULL: none */
    const char *const *env;     /* names of variables that are set for it; may be NULL */
    const char *url;            /* NULL: none */
    const char *const *urls;    /* others that it has, of its probe, its proxy; or NULL */
    const char *const *clean_up; /* what runs when it has ended; NULL: nothing */
    bool
        moved; /* where it is started was chosen too, or its command is a relative path */
    bool detour; /* how the URL is reached was: a proxy, other certificates, or none */
};

enum mp_verdict { MP_ALLOWED, MP_NOT_ALLOWED, MP_BLOCKED }; /* the worst last */

/* give `out`. Strict: an unknown key, a rule without condition, a pattern that can't be
 * read are errors, with their place, because a rule that is misread protects nobody. */
int mp_policy_parse(mp_view text, struct mp_policy **out, struct mp_place *at,
                    struct mcplug_error *err);
/* The file at `path`, which must belong to `owner` and be writable for nobody else, as
 * must its directory. Not there: `*out` is NULL. Errors begin with the path, and mean
 * that nothing is allowed. */
int mp_policy_read(const char *path, uid_t owner, struct mp_policy **out,
                   struct mcplug_error *err);
void mp_policy_free(struct mp_policy *policy);

/* Commands: a rule of "allow" does not fit when `env` sets what changes the program that
 * a command line runs (PATH, LD_*, DYLD_*, NODE_OPTIONS, PYTHON*, PERL5*, RUBY*,
 * BASH_ENV, ..) or the wires that it takes (HTTPS_PROXY, SSL_CERT_FILE, ..), or when it
 * is `moved`, nor does one that is about a command or a URL alone when there are both.
 * `clean_up` is a command as well: a rule of "deny" that fits it blocks the server, and a
 * server with one is allowed by a rule about its name alone, or by two rules, one that
 * fits the server and one whose command fits `clean_up`. A rule of "allow" with a URL
 * does not fit a `detour`. Each of `urls` is judged as well: a rule of "deny" that fits
 * it blocks the server, and for "allow" there is a rule about the name alone, or one
 * whose URL fits it. URLs: they are compared in parts, by "allow" in one spelling, by
 * "deny" in all, where every spelling of this machine is one host; one that can't be read
 * fits every "deny" rule with a URL and none of "allow". */
enum mp_verdict mp_policy_judge(const struct mp_policy *policy,
                                const struct mp_subject *subject);
/* Calls `add` for every address, as a setting of type "addresses" has them, that rules of
 * "deny" name and that a URL of the subject could lead to by its name. False: an `add`
 * was. */
bool mp_policy_addresses(const struct mp_policy *policy, const struct mp_subject *subject,
                         bool (*add)(void *arg, const char *address), void *arg);
/* Is there a variable among them that changes what a command line runs or reaches? */
bool mp_policy_is_telling(const char *const *env);
/* "server is explicitly blocked by enterprise policy"; "" for MP_ALLOWED. */
const char *mp_verdict_text(enum mp_verdict verdict);

#endif
