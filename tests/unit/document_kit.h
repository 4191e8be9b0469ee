/* document_kit.h - a converter of documents, called in this process. */
#ifndef TEST_DOCUMENT_KIT_H
#define TEST_DOCUMENT_KIT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "plugin/catalogue.h"
#include "plugin/props.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct document_fact {
    char name[33], value[256];
};

/* One converter and what became of its last conversion. */
static struct document {
    struct mp_loop *loop;
    struct mp_catalogue *cat;
    const struct mp_offer *offer;
    const struct mcplug_converter_ops *ops;
    struct mcplug_error err;
    char *text; /* what came out; NULL: it failed */
    size_t len;
    const char *mime; /* of what came out */
    struct document_fact facts[16];
    unsigned n_facts;
    unsigned polls, cancel_at;     /* 0: never */
    unsigned allocations, fail_at; /* from that one on; 0: none fails */
} doc;

static inline bool document_no_memory(void)
{
    doc.allocations++;
    return doc.fail_at > 0 && doc.allocations >= doc.fail_at;
}

static inline void *document_alloc(size_t size)
{
    return document_no_memory() ? NULL : mp_alloc(size);
}

static inline void *document_resize(void *p, size_t size)
{
    return document_no_memory() ? NULL : mp_resize(p, size);
}

static inline mcplug_buf *document_buf_new(const void *data, size_t len)
{
    return document_no_memory() ? NULL : mp_buf_new(data, len);
}

static inline int document_cancelled(const mcplug_job *job)
{
    (void)job;
    doc.polls++;
    return doc.cancel_at > 0 && doc.polls >= doc.cancel_at;
}

static inline int document_fact(const mcplug_job *job, const char *name,
                                const char *value)
{
    (void)job;
    if (doc.n_facts == 16 || strlen(name) > 32 || strlen(value) > 255)
        return MCPLUG_EINVAL;
    struct document_fact *f = &doc.facts[doc.n_facts++];
    strcpy(f->name, name);
    strcpy(f->value, value);
    return MCPLUG_OK;
}

/* "" without such a fact. */
static inline const char *fact_of(const char *name)
{
    for (unsigned i = doc.n_facts; i-- > 0;)
        if (strcmp(doc.facts[i].name, name) == 0)
            return doc.facts[i].value;
    return "";
}

/* False: there is no such converter in this build; doc.err says why. */
static inline bool document_open(const char *name)
{
    static const struct mcplug_wire wire = {.struct_size = sizeof wire};
    static const struct mcplug_mem mem = {.struct_size = sizeof mem,
                                          .alloc = document_alloc,
                                          .resize = document_resize,
                                          .free = mp_free,
                                          .buf_new = document_buf_new,
                                          .buf_ref = mp_buf_ref,
                                          .buf_unref = mp_buf_unref,
                                          .buf_bytes = mp_buf_bytes};
    struct mp_catalogue_options options = {.wire = &wire, .mem = &mem};
    memset(&doc, 0, sizeof doc);
    mp_error_init(&doc.err);
    options.loop = doc.loop = mp_loop_new(&doc.err);
    if (!doc.loop)
        return false;
    doc.cat = mp_catalogue_new(&options, &doc.err);
    if (!doc.cat ||
        mp_catalogue_find(doc.cat, MCPLUG_CONVERTER, name, &doc.offer, &doc.err) != 0)
        return false;
    doc.ops = doc.offer->feature.ops;
    return true;
}

static inline void document_close(void)
{
    free(doc.text);
    mp_catalogue_free(doc.cat);
    mp_loop_free(doc.loop);
    memset(&doc, 0, sizeof doc);
}

/* Converts; `setting` NULL: none. */
static inline int document_convert(const char *mime, const void *data, size_t len,
                                   uint64_t max_bytes, const char *setting,
                                   const char *value)
{
    struct mcplug_limits limits = {
        .struct_size = sizeof limits, .max_bytes = max_bytes, .want_mime = "text/plain"};
    struct mcplug_content in = {.struct_size = sizeof in,
                                .mime = mime,
                                .body = mp_buf_new(data, len),
                                .fd = -1,
                                .size = len};
    struct mcplug_content out = {.struct_size = sizeof out, .fd = -1};
    mcplug_props *settings = mp_props_new();
    struct mcplug_task task = {.struct_size = sizeof task,
                               .in = &in,
                               .limits = &limits,
                               .cancelled = document_cancelled,
                               .settings = settings,
                               .fact = document_fact};
    free(doc.text);
    doc.text = NULL;
    doc.mime = NULL;
    doc.len = doc.n_facts = doc.polls = doc.allocations = 0;
    mp_error_init(&doc.err);
    if (setting)
        mp_props_set(settings, setting, value);
    int r = mp_props_check(settings, doc.offer->feature.options, "converter", &doc.err);
    if (r == 0)
        r = doc.ops->convert(doc.offer->plugin->ctx, &task, &out, &doc.err);
    if (r == 0) {
        struct mcplug_bytes bytes = mp_buf_bytes(out.body);
        doc.text = malloc(bytes.len + 1);
        if (doc.text) {
            memcpy(doc.text, bytes.data, bytes.len);
            doc.text[bytes.len] = '\0';
        }
        doc.len = bytes.len;
        doc.mime = out.mime;
    }
    mp_buf_unref(out.body);
    mp_buf_unref(in.body);
    mp_props_free(settings);
    return r;
}

#endif
