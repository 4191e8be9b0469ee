#include "rpc/noise.h"

#include "base/text.h"

#include <string.h>

#define LOGGED_MAX 20 /* lines; the rest is only counted */
#define SHOWN_MAX 120 /* bytes of one */

void mp_noise_take(struct mp_noise *noise, struct mp_events *log, const char *source,
                   const char *what, const mp_message *m)
{
    char was[sizeof noise->last];

    noise->count++;
    memcpy(was, noise->last, sizeof was);
    mp_text_line(noise->last, sizeof noise->last, m->text, m->len);
    if (noise->logged >= LOGGED_MAX || (noise->logged && strcmp(was, noise->last) == 0))
        return;
    mp_log(log, MCPLUG_LOG_WARN, source, "skipped %s%s%s: %.*s", what,
           m->error ? ": " : "", m->error ? m->error->text : "",
           m->len > SHOWN_MAX ? SHOWN_MAX : (int)m->len, m->text);
    if (++noise->logged == LOGGED_MAX)
        mp_log(log, MCPLUG_LOG_WARN, source, "more that is no message is only counted");
}
