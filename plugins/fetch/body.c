/* Request bodies that are pulled in pieces. */
#include "client.h"

static size_t refuse(struct mcplug_fetch_request *f, int code, const char *text)
{
    f->code = code;
    f->reason = text;
    return CURL_READFUNC_ABORT;
}

size_t fetch_body_pull(char *buf, size_t size, size_t n, void *arg)
{
    struct mcplug_fetch_request *f = arg;
    uint64_t left = f->pulled - f->n_pulled;
    size_t room = size * n < left ? size * n : (size_t)left;
    if (f->stopped)
        return CURL_READFUNC_ABORT;
    if (fetch_is_quiet(f)) {
        f->is_later = 1;
        fetch_resume(f);
        return CURL_READFUNC_PAUSE;
    }
    int64_t got = f->events->pull(f->arg, (unsigned char *)buf, room);
    if (f->stopped)
        return CURL_READFUNC_ABORT;
    if (got == MCPLUG_FETCH_LATER) {
        f->is_later = 1;
        return CURL_READFUNC_PAUSE;
    }
    if (got < 0)
        return refuse(f, got >= INT32_MIN ? (int)got : MCPLUG_EINVAL,
                      "the body of the request could not be read");
    if ((uint64_t)got > room)
        return refuse(f, MCPLUG_EINVAL, "the body of the request is too long");
    if (got == 0 && f->pulled != MCPLUG_FETCH_STREAM && left > 0)
        return refuse(f, MCPLUG_EINVAL, "the body of the request is too short");
    f->n_pulled += (uint64_t)got;
    f->is_at_end = got == 0;
    return (size_t)got;
}

void fetch_resume(mcplug_fetch_request *f)
{
    f->client->n_resumed += f->is_resumed ? 0 : 1;
    f->is_resumed = 1;
    fetch_soon(f->client);
}
