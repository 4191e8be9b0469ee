#include "client.h"

#include "../common/header.h"

#include <string.h>
#include <strings.h>

/* Most names differ in their first letter. */
static int is_name(const char *name, const char *other)
{
    return (name[0] | 0x20) == other[0] && strcasecmp(name, other) == 0;
}

/* What says how long a message is, and where it goes, is written by curl alone. */
static int is_framing(const char *name)
{
    static const char *const table[] = {
        "connection", "content-length", "expect",  "host",
        "te",         "trailer",        "upgrade", "transfer-encoding",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_name(name, table[i]))
            return 1;
    return 0;
}

static int check(const struct mcplug_fetch_client *client,
                 const struct mcplug_fetch_ask *ask, struct mcplug_error *err)
{
    const struct mcplug_diag *diag = client->host->diag;
    if (ask->n_headers > FETCH_LINES_MAX)
        return diag->fail(err, MCPLUG_EINVAL, "more than %d headers", FETCH_LINES_MAX);
    for (size_t i = 0; i < ask->n_headers; i++) {
        const struct mcplug_pair *h = &ask->headers[i];
        if (!header_is_name(h->name, strlen(h->name)) || is_framing(h->name))
            return diag->fail(err, MCPLUG_EINVAL,
                              "\"%.60s\" is not the name of a header that can be set",
                              h->name);
        if (h->value != NULL && !header_is_value(h->value))
            return diag->fail(err, MCPLUG_EINVAL,
                              "the value of %.60s has control characters", h->name);
    }
    return MCPLUG_OK;
}

/* Is the header of this line, `Name: value` or `Name;`, among those of the request? */
static int is_replaced(const char *line, const struct mcplug_fetch_ask *ask)
{
    size_t n = strcspn(line, ":;");
    for (size_t i = 0; i < ask->n_headers; i++)
        if (strncasecmp(line, ask->headers[i].name, n) == 0 &&
            ask->headers[i].name[n] == '\0')
            return 1;
    return 0;
}

static struct curl_slist *add(struct curl_slist *at, char *text)
{
    at->data = text;
    at->next = at + 1;
    return at + 1;
}

/* curl wants `Name;` for a header without a value, and `Name:` for one of its own that is
 * not to be sent. */
static char *write_line(char *at, const struct mcplug_pair *h)
{
    at = stpcpy(at, h->name);
    if (h->value == NULL)
        return stpcpy(at, ":") + 1;
    if (h->value[0] == '\0')
        return stpcpy(at, ";") + 1;
    return stpcpy(stpcpy(at, ": "), h->value) + 1;
}

int fetch_lines_set(struct mcplug_fetch_request *f, const struct mcplug_fetch_ask *ask,
                    struct mcplug_error *err)
{
    const struct mcplug_fetch_client *client = f->client;
    struct curl_slist *settings = f->is_own ? client->fixed : NULL;
    static const char no_type[] = "Content-Type";
    int has_type = 0, replaces = 0;
    size_t n = ask->n_headers + 2, size = sizeof no_type + 1;

    int r = check(client, ask, err);
    if (r != MCPLUG_OK)
        return r;
    for (size_t i = 0; i < ask->n_headers; i++) {
        const struct mcplug_pair *h = &ask->headers[i];
        size += strlen(h->name) + (h->value != NULL ? strlen(h->value) : 0) + 3;
        has_type |= is_name(h->name, "content-type");
        f->has_cookie |= is_name(h->name, "cookie");
    }
    for (const struct curl_slist *s = settings; s != NULL; s = s->next) {
        replaces |= is_replaced(s->data, ask);
        f->has_cookie |= strncasecmp(s->data, "cookie", 6) == 0 &&
                         (s->data[6] == ':' || s->data[6] == ';');
        n++;
    }
    f->lines = client->host->mem->alloc(n * sizeof *f->lines + size);
    if (f->lines == NULL)
        return client->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    char *text = (char *)(f->lines + n);
    struct curl_slist *at = add(f->lines, (char *)"Expect:");
    for (size_t i = 0; i < ask->n_headers; i++) {
        at = add(at, text);
        text = write_line(text, &ask->headers[i]);
    }
    if (!has_type) { /* or curl takes every body for a form */
        at = add(at, text);
        write_line(text, &(struct mcplug_pair){no_type, NULL});
    }
    for (struct curl_slist *s = settings; replaces && s != NULL; s = s->next)
        if (!is_replaced(s->data, ask))
            at = add(at, s->data);
    at[-1].next = replaces ? NULL : settings;
    return MCPLUG_OK;
}
