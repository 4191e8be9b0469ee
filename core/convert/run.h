/* One conversion with a module that is loaded: in mcplug-worker, and in the host where
 * the user wants it there. [any], blocks */
#ifndef MP_CONVERT_RUN_H
#define MP_CONVERT_RUN_H

#include "base/buf.h"
#include "plugin/catalogue.h"

/* What is asked for. borrow, all of it */
struct mp_run {
    const char *mime; /* it may have parameters */
    int fd;           /* bytes 0 .. size of this file */
    uint64_t size;
    struct mcplug_limits limits;
    const char *settings; /* a JSON object: of all converters, by their names; or NULL */
    const char *extra;    /* a JSON object: of the caller, which wins; or NULL */
    int (*cancelled)(void *arg);
    void *arg;
};

/* How well the converter does it, 0 .. 100; 0: not at all. */
int mp_run_match(const struct mp_offer *offer, const struct mp_run *run);
/* Writes what comes out to the file `out`, from its beginning. `mime` is static text of
 * the module; `facts` gets lines, as in message.h. Whatever breaks the rules of
 * <mcplug/plugin.h> is MCPLUG_EPROTO. */
int mp_run_convert(const struct mp_offer *offer, const struct mp_run *run, int out,
                   uint64_t *size, const char **mime, struct mp_str *facts,
                   struct mcplug_error *err);
/* Are these lines facts as they may be? */
bool mp_run_is_facts(const char *lines);
/* Type and subtype, as they may be. */
bool mp_is_mime(const char *text);
#define MP_MIME_MAX 160
/* The type without its parameters, in small letters. false: it is none. */
bool mp_mime_base(const char *mime, char out[MP_MIME_MAX]);

#endif
