/* For the suites about servers: a server in sh that can be told to be slow, or to change
 * its lists at a bad time, and a clock that stands still. */
#ifndef TALKER_KIT_H
#define TALKER_KIT_H

#include "server_kit.h"

/* A server that works one call after the other: `slow` takes $SLOW seconds. Every list of
 * tools is a * in the book, every subscription an s, and its end a u. $CAPS are its
 * capabilities. $BEFORE is done before a list is given, $AFTER after, $BETWEEN before the
 * list of prompts, and $SUBSCRIBED before the answer `is` to a subscription. */
static const char talker[] =
    "put() { printf '{\"jsonrpc\":\"2.0\",%s}\\n' \"$1\"; }\n"
    "changed() { put '\"method\":\"notifications/tools/list_changed\"'; }\n"
    "tool='{\"inputSchema\":{\"type\":\"object\"},\"name\":'\n"
    "tools=\"$tool\\\"slow\\\"},$tool\\\"quick\\\"}\"\n"
    "echo + >> \"$BOOK\"\n"
    "while IFS= read -r line; do\n"
    "  id=${line#*\\\"id\\\":}; id=${id%%[,\\}]*}; is='\"result\":'\n"
    "  case $line in\n"
    "  *'\"notifications/'*) continue;;\n"
    "  *'\"initialize\"'*) is=$is'{\"protocolVersion\":\"2025-06-18\",'\n"
    "    caps='\"tools\":{\"listChanged\":true},\"prompts\":{}'\n"
    "    is=$is\"\\\"capabilities\\\":{${CAPS:-$caps}},\"\n"
    "    is=$is'\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}';;\n"
    "  *'\"tools/list\"'*) echo '*' >> \"$BOOK\"\n"
    "    eval \"$BEFORE\"; put \"\\\"id\\\":$id,$is{\\\"tools\\\":[$tools]}\"\n"
    "    eval \"$AFTER\"; continue;;\n"
    "  *'\"prompts/list\"'*) eval \"$BETWEEN\"; is=$is'{\"prompts\":[]}';;\n"
    "  *'\"name\":\"slow\"'*) sleep \"$SLOW\"; is=$is'{\"content\":[]}';;\n"
    "  *'\"resources/list\"'*) is=$is'{\"resources\":[]}';;\n"
    "  *'\"resources/subscribe\"'*) echo s >> \"$BOOK\"; is=$is'{}'\n"
    "    eval \"$SUBSCRIBED\";;\n"
    "  *'\"resources/unsubscribe\"'*) echo u >> \"$BOOK\"; is=$is'{}';;\n"
    "  *'\"tools/call\"'*) is=$is'{\"content\":[]}';;\n"
    "  *'\"ping\"'*) is=$is'{}';;\n"
    "  *) is='\"error\":{\"code\":-32601,\"message\":\"no\"}';;\n"
    "  esac\n"
    "  put \"\\\"id\\\":$id,$is\"\n"
    "done\n";

static inline mcplug_settings *talks(const char *name, const char *value)
{
    mcplug_settings *s = mcplug_settings_new("stdio");
    mcplug_settings_set(s, "command", "sh");
    mcplug_settings_add(s, "args", "-c");
    mcplug_settings_add(s, "args", talker);
    mcplug_settings_put(s, "env", "BOOK", book);
    if (name)
        mcplug_settings_put(s, "env", name, value);
    return s;
}

static inline unsigned booked(char mark)
{
    unsigned n = 0;
    FILE *f = fopen(book, "r");
    for (int c; f && (c = getc(f)) != EOF;)
        n += c == mark;
    if (f)
        fclose(f);
    return n;
}

static inline size_t tools_of(mcplug_server *h)
{
    return mcplug_list_count(mcplug_server_list(h, MCPLUG_TOOLS));
}

static inline void call(mcplug_server *h, const char *tool,
                        const struct mcplug_call_options *o, struct outcome *out)
{
    memset(out, 0, sizeof *out);
    mcplug_call *c = mcplug_call_tool(h, tool, NULL, o, on_outcome, out, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
}

static inline void quick(mcplug_server *h)
{
    struct outcome out;
    call(h, "quick", NULL, &out);
    UNTIL(out.times);
    ck_assert_msg(out.code == MCPLUG_OK, "%s", out.text);
}

/* ---- a clock that stands still ---- */

static inline void pass(uint64_t ms)
{
    mp_loop_advance(host->loop, ms);
    turn_for(30);
    mp_loop_advance(host->loop, 0);
}

/* What is due at once takes no time. */
#define SOON(condition) UNTIL((mp_loop_advance(host->loop, 0), condition))

/* What servers wait for that have `while [ ! -e "$BOOK.go" ]`. */
static inline void let_go(bool go)
{
    char path[80];
    snprintf(path, sizeof path, "%s.go", book);
    FILE *f = go ? fopen(path, "w") : NULL;
    if (f)
        fclose(f);
    else
        unlink(path);
}

#endif
