#include "cli/base/failure.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/message.h"
#include "cli/base/signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)1 << 18)

/* ---- kinds ---- */

const struct cli_kind_info *cli_kind_info(enum cli_kind kind)
{
    static const struct cli_kind_info kinds[CLI_KINDS] = {
#define CLI_ROW(id, name, exit, text) [CLI_KIND_##id] = {name, exit, text},
        CLI_FAILURES(CLI_ROW)
#undef CLI_ROW
            [CLI_KIND_CANCELLED] = {"cancelled", CLI_SIGNAL, "Interrupted by a signal"},
    };
    return kind > CLI_KIND_NONE && kind < CLI_KINDS ? &kinds[kind] : NULL;
}

enum cli_kind cli_kind_of(int outcome)
{
    int kind = outcome >> 8;

    if (kind > CLI_KIND_NONE && kind < CLI_KINDS)
        return (enum cli_kind)kind;
    return outcome > CLI_SIGNAL ? CLI_KIND_CANCELLED : CLI_KIND_INTERNAL;
}

/* ---- the document ---- */

static void add_text(struct mp_str *out, const char *name, const char *text)
{
    mp_str_addf(out, ",\"%s\":", name);
    if (text)
        mp_str_add_json(out, text, strlen(text));
    else
        mp_str_adds(out, "null");
}

/* Without its end: what the peer said may follow. */
static void add_error(struct mp_str *out, int outcome, const char *remark)
{
    const struct cli_kind_info *kind = cli_kind_info(cli_kind_of(outcome));
    char message[CLI_REPORT_MAX], hint[CLI_REPORT_MAX];
    bool reported = cli_reported(message, hint);

    mp_str_addf(out, "\"error\":{\"kind\":\"%s\"", kind->name);
    add_text(out, "message", reported ? message : kind->text);
    add_text(out, "hint", reported && *hint ? hint : NULL);
    mp_str_addf(out, ",\"exit\":%d", cli_exit_code(outcome));
    if (remark)
        add_text(out, "stderr", remark);
}

static bool put(struct cli_out *out, int outcome, const char *remark,
                const struct cli_doc *peer)
{
    int r = MCPLUG_OK;
    struct mp_str text;

    mp_str_init(&text, TEXT_MAX);
    mp_str_addc(&text, '{');
    add_error(&text, outcome, remark);
    bool whole = !text.failed;
    if (whole)
        cli_out_json(out, text.data, text.len);
    mp_str_clear(&text);
    if (whole && peer) {
        cli_out_s(out, ",\"peer\":");
        r = cli_doc_json(peer, cli_doc_view(peer), out);
    }
    if (whole && r == MCPLUG_OK)
        cli_out_s(out, "}}\n");
    return whole && r == MCPLUG_OK;
}

/* Less and less of it, until it can be had. */
static void put_any(struct cli_out *out, int outcome, const char *remark,
                    const struct cli_doc *peer)
{
    if (put(out, outcome, remark, peer))
        return;
    if (cli_out_retract(out) && !put(out, outcome, NULL, NULL) && cli_out_retract(out))
        cli_out_f(out,
                  "{\"error\":{\"kind\":\"%s\",\"message\":\"%s\",\"hint\":null,"
                  "\"exit\":%d}}\n",
                  cli_kind_info(cli_kind_of(outcome))->name,
                  cli_kind_info(CLI_KIND_INTERNAL)->text, cli_exit_code(outcome));
}

/* Output that went to a file leaves standard output to the failure. */
static void put_beside(int outcome)
{
    struct cli_out *out = mp_alloc(sizeof *out);

    if (!out)
        return;
    cli_out_init(out, STDOUT_FILENO);
    put_any(out, outcome, NULL, NULL);
    cli_out_flush(out);
    mp_free(out);
}

void cli_failure_put(struct cli *cli, int outcome, const char *remark,
                     const struct cli_doc *peer)
{
    const struct cli_command *command = cli->args.command;
    bool lines = command && command->flags & CLI_LINES;
    struct cli_out *out = &cli->out;

    if (!cli->args.json || outcome == CLI_OK || outcome == CLI_BROKEN_PIPE ||
        cli->is_told)
        return;
    if (out->fd != STDOUT_FILENO)
        put_beside(outcome);
    else if (!out->closed && (!out->last || (lines && cli_reported(NULL, NULL))))
        put_any(out, outcome, remark, peer);
}

void cli_failure_add(struct cli *cli, struct mp_str *out, int outcome)
{
    cli->is_told = true;
    if (outcome == CLI_OK)
        return;
    add_error(out, outcome, NULL);
    mp_str_addc(out, '}');
}

/* ---- signals ---- */

/* What a signal has to know; set once, by cli_failure_arm(). */
static const struct cli_out *armed;

void cli_failure_signal(int number)
{
    static const char document[] = "{\"error\":{\"kind\":\"cancelled\",\"message\":"
                                   "\"Interrupted by a signal\",\"hint\":null,\"exit\":";
    char text[sizeof document + 8], *end = text + sizeof document - 1;
    int exit_code = CLI_SIGNAL + number;

    if (!armed || armed->sent || armed->closed || armed->fd != STDOUT_FILENO)
        return;
    memcpy(text, document, sizeof document - 1);
    *end++ = (char)('0' + exit_code / 100 % 10);
    *end++ = (char)('0' + exit_code / 10 % 10);
    *end++ = (char)('0' + exit_code % 10);
    memcpy(end, "}}\n", 3);
    for (const char *p = text; p < end + 3;) {
        ssize_t n = write(STDOUT_FILENO, p, (size_t)(end + 3 - p));
        if (n <= 0)
            return;
        p += n;
    }
}

void cli_failure_arm(struct cli *cli)
{
    armed = &cli->out;
    cli_signals_leave();
}
