#include "cli/base/content.h"

#include "base/buf.h"
#include "base/text.h"
#include "json/scan.h"
#include "cli/base/message.h"
#include "cli/base/oneshot.h"
#include "cli/base/pictures.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define WORD_MAX ((size_t)1 << 16)

void cli_out_view(struct cli_out *out, mp_view string)
{
    struct mp_str text;
    mp_str_init(&text, WORD_MAX);
    if (string.len <= WORD_MAX)
        mp_str_add_view(&text, string);
    cli_out_shown(out, text.data, text.len);
    mp_str_clear(&text);
}

void cli_size_text(char *out, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    uint64_t tenths = bytes; /* of the unit, from kB on */
    size_t unit = 0;

    if (bytes < 1000) {
        snprintf(out, size, bytes == 1 ? "1 byte" : "%" PRIu64 " bytes", bytes);
        return;
    }
    do {
        uint64_t by = unit++ ? 1000 : 100;
        tenths = tenths / by + (tenths % by >= by / 2);
    } while (tenths >= 9995);
    if (tenths < 100)
        snprintf(out, size, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
                 units[unit]);
    else
        snprintf(out, size, "%" PRIu64 " %s", (tenths + 5) / 10, units[unit]);
}

/* ---- links ---- */

static void begin_detail(struct cli_out *out, bool *any)
{
    cli_out_s(out, *any ? ", " : " (");
    *any = true;
}

/* `Resource link: URI (Title, text/plain, 12 kB)` */
static int put_link(const struct cli_doc *doc, const struct mcplug_block *block,
                    struct cli_out *out)
{
    mp_view title = mp_view_get(block->json, "title");
    int64_t bytes = -1;
    char size[32];
    bool any = false;

    int r = mcplug_block_write(doc->result, block, cli_doc_text_sink, out, NULL);
    cli_out_text_end(out);
    if (mp_view_is_string(title) && title.len > 2) {
        begin_detail(out, &any);
        cli_out_view(out, title);
    }
    if (block->mime.len > 2) {
        begin_detail(out, &any);
        cli_out_view(out, block->mime);
    }
    if (mp_view_int(mp_view_get(block->json, "size"), &bytes) && bytes >= 0) {
        begin_detail(out, &any);
        cli_size_text(size, sizeof size, (uint64_t)bytes);
        cli_out_s(out, size);
    }
    cli_out_s(out, any ? ")\n" : "\n");
    return r;
}

/* ---- blocks ---- */

/* White space may be written as \n, \r or \t. */
static bool looks_like_json(mp_view string)
{
    const unsigned char *p = string.data + 1, *end = string.data + string.len - 1;

    while (p < end && (*p == ' ' || *p == '\\')) {
        if (*p == '\\' && (end - p < 2 || !strchr("nrt", p[1])))
            return false;
        p += *p == '\\' ? 2 : 1;
    }
    return p < end && (*p == '{' || *p == '[');
}

/* false: it is no JSON, and nothing was printed. */
static bool lay_out(const struct cli_doc *doc, mp_view string, struct cli_out *out)
{
    static const struct mp_scan_limits limits = {.depth = 64, .tokens = 1000000};
    struct mp_str text;
    bool is_json;

    if (string.len > CLI_LAID_OUT_MAX || !looks_like_json(string) ||
        cli_doc_is_spilled(doc, string))
        return false;
    mp_str_init(&text, CLI_LAID_OUT_MAX);
    is_json = mp_str_add_view(&text, string) &&
              mp_scan_text(text.data, text.len, &limits, NULL, NULL) == MCPLUG_OK;
    if (is_json) {
        struct cli_doc inner = {.json = text.data, .len = text.len};
        cli_doc_pretty(&inner, mp_view_trim(cli_doc_view(&inner)), 0, out);
    }
    mp_str_clear(&text);
    return is_json;
}

int cli_content_text(const struct cli_doc *doc, mp_view string, struct cli_out *out)
{
    if (out->terminal && !doc->raw && lay_out(doc, string, out))
        return MCPLUG_OK;
    return cli_doc_text(doc, string, out);
}

bool cli_content_is_app(const struct mcplug_block *block)
{
    char mime[64];
    size_t n = 0;

    for (size_t i = 1; i + 1 < block->mime.len; i++) { /* inside the quotes */
        char c = mp_lower((char)block->mime.data[i]);
        if (n + 1 == sizeof mime)
            return false;
        if (c != ' ' && c != '"' && c != '\\')
            mime[n++] = c;
    }
    mime[n] = '\0';
    return block->text.len && strcmp(mime, "text/html;profile=mcp-app") == 0;
}

static int put_app(const struct cli_doc *doc, const struct mcplug_block *block,
                   struct cli_out *out)
{
    uint64_t size = 0;
    int r = cli_doc_size(doc, block->text, &size);

    cli_out_s(out, "[MCP App: ");
    cli_out_view(out, block->uri);
    cli_out_f(out, ", %" PRIu64 " bytes of HTML; use -o to save it]\n", size);
    return r;
}

static int put_resource(const struct cli_doc *doc, const struct mcplug_block *block,
                        struct cli_out *out)
{
    cli_out_s(out, "Resource: ");
    cli_out_view(out, block->uri);
    cli_out_s(out, "\n");
    return cli_content_text(doc, block->text, out);
}

int cli_content_block(const struct cli_doc *doc, const struct mcplug_block *block,
                      struct cli_out *out)
{
    bool for_people = out->terminal && !doc->raw;

    if (for_people && cli_content_is_app(block))
        return put_app(doc, block, out);
    if (block->kind == MCPLUG_BLOCK_OTHER)
        return for_people ? cli_doc_pretty(doc, block->json, 0, out)
                          : cli_doc_json(doc, block->json, out);
    if (block->kind == MCPLUG_BLOCK_LINK)
        return put_link(doc, block, out);
    if (block->kind == MCPLUG_BLOCK_RESOURCE && block->text.len)
        return put_resource(doc, block, out);
    if (block->text.len &&
        (block->kind == MCPLUG_BLOCK_TEXT || block->kind == MCPLUG_BLOCK_CONTENTS))
        return cli_content_text(doc, block->text, out);
    int r = mcplug_block_write(doc->result, block, cli_doc_text_sink, out, NULL);
    cli_out_text_end(out);
    if (block->kind != MCPLUG_BLOCK_TEXT)
        cli_out_s(out, "\n");
    cli_pictures_put(doc->pictures, block, out);
    return r;
}

int cli_content_blocks(const struct cli_doc *doc, mp_view blocks, size_t skip,
                       struct cli_out *out)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    int r = MCPLUG_OK;
    while (r == MCPLUG_OK && !out->failed && mcplug_block_next(&blocks, &block)) {
        if (skip) {
            skip--;
            continue;
        }
        cli_out_fresh_line(out);
        r = cli_content_block(doc, &block, out);
    }
    return r;
}

static int data_sink(void *arg, const char *data, size_t len)
{
    struct cli_out *out = arg;
    cli_out_add(out, data, len);
    return !out->failed;
}

int cli_content_data(const struct cli_doc *doc, const struct mcplug_block *block,
                     struct cli_out *out)
{
    return mcplug_block_write_data(doc->result, block, data_sink, out, NULL);
}

void cli_content_bytes(struct cli_out *out, const char *data, size_t len)
{
    cli_out_add(out, data, len);
}

/* ---- what to do next ---- */

void cli_seen_add(struct cli_seen *seen, mp_view blocks)
{
    struct mcplug_block block = {.struct_size = sizeof block};

    while (mcplug_block_next(&blocks, &block)) {
        if (block.kind == MCPLUG_BLOCK_IMAGE)
            seen->images++;
        else if (block.kind == MCPLUG_BLOCK_AUDIO)
            seen->sounds++;
        else if ((block.kind == MCPLUG_BLOCK_RESOURCE ||
                  block.kind == MCPLUG_BLOCK_CONTENTS) &&
                 block.data.len && !block.text.len)
            seen->files++;
        else if (block.kind == MCPLUG_BLOCK_LINK && seen->links++ == 0)
            seen->link = block.uri;
    }
}

static void tell_data(const struct cli_seen *seen)
{
    size_t n = seen->images + seen->sounds + seen->files;
    const char *what = n == seen->images   ? "image"
                       : n == seen->sounds ? "audio clip"
                                           : "file";
    cli_note("Use -o DIR to save %zu %s%s.", n, what, n == 1 ? "" : "s");
}

/* As a word of a shell. false: it could deceive in a command that is to be copied, or is
 * no word that a command takes. */
static bool add_shell_word(struct mp_str *out, const char *text, size_t len)
{
    bool plain = len > 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '\'' || text[i] == '`')
            return false;
        plain = plain && !strchr("!\"#$&()*;<>?[\\]^{|}~", text[i]);
    }
    if (!len || len > 500 || text[0] == '-')
        return false;
    mp_str_adds(out, plain ? "" : "'");
    mp_str_add(out, text, len);
    return mp_str_adds(out, plain ? "" : "'");
}

/* `mcplug read SERVER URI`, as far as it can be said. */
static void tell_link(const struct cli_seen *seen, const struct cli_oneshot *link)
{
    char *const *program = link->cli->args.server_command;
    struct mp_str uri, line;

    mp_str_init(&uri, WORD_MAX);
    mp_str_init(&line, WORD_MAX);
    mp_str_adds(&line, "mcplug read ");
    if (link->entry)
        mp_str_addf(&line, "%s ", mcplug_entry_name(link->entry));
    if (seen->link.len <= WORD_MAX)
        mp_str_add_view(&uri, seen->link);
    if (seen->links > 1 || !add_shell_word(&line, uri.data ? uri.data : "", uri.len))
        mp_str_adds(&line, "URI");
    if (!link->entry && program && program[0]) {
        mp_str_adds(&line, " -- ");
        if (!add_shell_word(&line, program[0], strlen(program[0])))
            mp_str_adds(&line, "PROGRAM");
        mp_str_adds(&line, program[1] ? " ..." : "");
    } else if (!link->entry) {
        mp_str_adds(&line, " --url URL");
    }
    if (!line.failed)
        cli_note("`%s` reads %s.", line.data, seen->links > 1 ? "one of them" : "it");
    mp_str_clear(&uri);
    mp_str_clear(&line);
}

void cli_seen_tell(const struct cli_seen *seen, struct cli_oneshot *link, bool saves)
{
    struct cli_out *out = &link->cli->out;

    if (!out->terminal || !isatty(STDERR_FILENO) || link->cli->args.quiet)
        return;
    cli_out_flush(out); /* they stand below what they are about */
    if (saves && seen->images + seen->sounds + seen->files)
        tell_data(seen);
    if (seen->links)
        tell_link(seen, link);
}
