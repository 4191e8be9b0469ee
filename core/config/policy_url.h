/* Patterns of URLs, for the policy. A URL is read as the modules read it, and its path is
 * looked at in every spelling that a server may take it for. */
#ifndef MP_CONFIG_POLICY_URL_H
#define MP_CONFIG_POLICY_URL_H

#include <mcplug/types.h>

#include "../../plugins/common/url.h"

#include <stdbool.h>

#define MP_SCHEME_MAX 33

/* How a path is spelled: as it is; with dots, slashes and letters that were escaped as
 * themselves and without dot segments; the same for all that may be escaped, twice too,
 * and without double slashes and parameters of dot segments. */
enum mp_spelling { MP_RAW, MP_PLAIN, MP_BARE, MP_SPELLINGS };

/* A pattern or a URL, taken apart. Schemes other than http, https, ws and wss have no
 * host here: `path` is all that is behind the colon. */
struct mp_url_parts {
    char scheme[MP_SCHEME_MAX]; /* in small letters */
    char host[URL_HOST_MAX];    /* without a dot at its end; "": none */
    bool is_ipv6;
    unsigned port;            /* 0, in a pattern: any */
    char *path[MP_SPELLINGS]; /* NULL, in a pattern: any */
    char *memory;             /* where they are */
};

/* NULL, or what is wrong with it. Clear `out` in any case. */
const char *mp_pattern_read(const char *text, struct mp_url_parts *out);
const char *mp_subject_url_read(const char *text, struct mp_url_parts *out);
void mp_url_parts_clear(struct mp_url_parts *parts);

/* Addresses that a rule of "deny" names, where all of it but the host fits `url`: a name
 * may lead to one of them. As a setting of type "addresses" has them; how many. */
enum { MP_RULE_ADDRESSES = 5, MP_RULE_ADDRESS = URL_HOST_MAX + 32 };
size_t mp_pattern_addresses(const struct mp_url_parts *pattern,
                            const struct mp_url_parts *url,
                            char out[MP_RULE_ADDRESSES][MP_RULE_ADDRESS]);

/* `deny`: does it fit in any spelling? Else: in all of them that are without tricks? */
bool mp_pattern_fits(const struct mp_url_parts *pattern, const struct mp_url_parts *url,
                     bool deny);

#endif
