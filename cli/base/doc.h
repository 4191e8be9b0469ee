/* A result as JSON text together with the strings that were too long for it. All of
 * it passes in pieces, so that a result of any size needs no memory. */
#ifndef CLI_DOC_H
#define CLI_DOC_H

#include "base/buf.h"
#include "json/walk.h"
#include "cli/base/cli.h"

#include <mcplug/admin.h>

#include <jansson.h>

struct cli_pictures;

struct cli_doc {
    const mcplug_result *result; /* NULL: a text without long strings */
    const char *json;
    size_t len;
    bool raw; /* people want it as it came: nothing is laid out for them */
    const struct cli_pictures *pictures; /* drawings of its images; NULL: none */
};

void cli_doc_init(struct cli_doc *doc, const mcplug_result *result);
mp_view cli_doc_view(const struct cli_doc *doc);

/* A string of a result, unescaped, as text. MCPLUG_OK or MCPLUG_EIO, as of the rest. */
int cli_doc_text(const struct cli_doc *doc, mp_view string, struct cli_out *out);
/* Any value, in pieces: a string unescaped, all else as its JSON. `write` may end it. */
int cli_doc_write(const struct cli_doc *doc, mp_view value, mcplug_write_fn *write,
                  void *arg);
/* The length of a string as text, in bytes. */
int cli_doc_size(const struct cli_doc *doc, mp_view string, uint64_t *size);
/* Was it too long to be kept with the rest? */
bool cli_doc_is_spilled(const struct cli_doc *doc, mp_view string);
/* An mcplug_write_fn: onto `out`, a struct cli_out, as text. */
int cli_doc_text_sink(void *out, const char *data, size_t len);

/* `part` of the document as the server wrote it, long strings whole. */
int cli_doc_json(const struct cli_doc *doc, mp_view part, struct cli_out *out);
/* The same of JSON that is whole, as items of lists are. */
void cli_out_item(struct cli_out *out, mp_view json);
/* JSON of our own as the one document of a command, whole or not at all. take `text`,
 * which ends with a newline. Returns `outcome`, or CLI_INTERNAL after having told why
 * there is no document. */
int cli_put_document(struct cli *cli, struct mp_str *text, int outcome);
/* The same of a tree, which the caller keeps. */
int cli_put_tree(struct cli *cli, const json_t *tree, int outcome);
/* `part` laid out for people: two spaces per level, every line after the first
 * indented by `indent`, in colours where there are some. No newline at the end. */
int cli_doc_pretty(const struct cli_doc *doc, mp_view part, size_t indent,
                   struct cli_out *out);

#endif
