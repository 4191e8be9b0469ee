/* How the servers are that are watched. */
#include "base/stderr_hint.h"
#include "cli/watch/watch.h"

#include <stdio.h>

size_t cli_error_len(const char *text)
{
    const char *said = strstr(text, MP_STDERR_HINT);
    return said ? (size_t)(said - text) : strlen(text);
}

void cli_watched_look(struct cli_watched *s)
{
    if (s->leaving)
        return; /* as it was when it was told to go */
    memset(&s->status, 0, sizeof s->status);
    s->error = (struct mcplug_error)MCPLUG_ERROR_INIT;
    s->calls = 0;
    s->status.struct_size = sizeof s->status;
    s->status.revision = "";
    if (!s->handle)
        return;
    mcplug_server_status(s->handle, &s->status);
    s->calls = s->status.calls->issued;
    if (s->status.error) {
        s->error = *s->status.error;
        s->error.text[cli_error_len(s->error.text)] = '\0';
    }
}

const char *cli_watched_state(const struct cli_watched *s)
{
    if (!s->usable)
        return cli_member_state(s->member);
    if (s->gone)
        return mcplug_state_name(MCPLUG_STATE_ENDED);
    if (s->leaving)
        return mcplug_state_name(MCPLUG_STATE_STOPPING);
    return s->handle ? mcplug_state_name(s->status.state) : "pending";
}

const char *cli_watched_error(const struct cli_watched *s)
{
    const struct mcplug_error *e = &s->error;

    if (!s->usable)
        return s->member->reason ? s->member->reason : "";
    if (!e->code)
        return "";
    return e->text[0] ? e->text : mcplug_error_name(e->code);
}

bool cli_watched_down(const struct cli_watched *s)
{
    return s->handle && !s->leaving &&
           (s->status.state == MCPLUG_STATE_WAITING ||
            s->status.state == MCPLUG_STATE_PARKED);
}

/* Only one that was idle is stopped to rest. */
bool cli_watched_healthy(const struct cli_watched *s)
{
    enum mcplug_state state = s->status.state;

    if (!s->usable || !s->handle || s->leaving)
        return false;
    if (state == MCPLUG_STATE_STOPPING && s->status.next_state == MCPLUG_STATE_RESTING)
        state = MCPLUG_STATE_RESTING;
    return state == MCPLUG_STATE_READY || (state == MCPLUG_STATE_RESTING && s->was_ready);
}

size_t cli_watched_tools(const struct cli_watched *s)
{
    return s->handle && !s->leaving
               ? mcplug_list_count(mcplug_server_list(s->handle, MCPLUG_TOOLS))
               : 0;
}

uint64_t cli_watched_restarts(const struct cli_watched *s)
{
    return s->status.starts ? s->status.starts - 1 : 0;
}

unsigned long long cli_watched_seconds(const struct cli_watched *s)
{
    return (unsigned long long)(s->status.next_ms + 500) / 1000;
}

unsigned cli_watched_others(const struct cli_watched *s)
{
    return s->status.servers ? s->status.servers - 1 : 0;
}

size_t cli_watch_usable(const struct cli_watch *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += w->all[i].usable;
    return n;
}
