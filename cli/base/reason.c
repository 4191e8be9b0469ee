#include "cli/base/reason.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define SPAWN_FAILED "Failed to spawn process - check command and permissions: "
#define OTHER "Connection error: "

/* core/session/session.c puts one of them before the reason, which is in brackets. */
static const char *const classes[] = {
    "Connection reset - server may have crashed or restarted (",
    "Connection timeout - network issue or server unresponsive (",
    "Connection refused - server may be down (",
    "Broken pipe - server closed connection unexpectedly (",
    "Host unreachable - network connectivity issue (",
    "Process not found - stdio server process terminated (",
};

/* The bracket that closes the one before `text`; NULL: there is none. */
static const char *closing(const char *text)
{
    for (unsigned depth = 1; *text; text++) {
        depth += *text == '(';
        depth -= *text == ')';
        if (depth == 0)
            return text;
    }
    return NULL;
}

const char *cli_reason(const char *text, bool unanswered, char room[CLI_REASON_SIZE])
{
    const char *at = NULL, *reason = text, *end = NULL;

    for (size_t i = 0; !at && i < MP_COUNT(classes); i++)
        if ((at = strstr(text, classes[i])))
            reason = at + strlen(classes[i]);
    if (at)
        end = closing(reason);
    else if ((at = strstr(text, SPAWN_FAILED)))
        reason = at + strlen(SPAWN_FAILED);
    else if ((at = strstr(text, OTHER)))
        reason = at + strlen(OTHER);
    if (!at || (!end && reason[-1] == '(')) /* it was cut */
        at = reason = text;

    bool of_server = reason > text && strncmp(reason, "server ", 7) == 0;
    const char *after = end ? end + 1 : "";
    int len = (int)(end ? (size_t)(end - reason) : strlen(reason));
    snprintf(room, CLI_REASON_SIZE, "%.*s%s%.*s%s%s", (int)(at - text), text,
             at > text || !of_server ? "" : "The ", len, reason,
             unanswered && of_server && end && !*after ? " before it answered" : "",
             after);
    /* a word, and no name or address */
    size_t word = strspn(room, "abcdefghijklmnopqrstuvwxyz");
    if (at == text && reason > text && word && room[word] == ' ')
        room[0] = (char)(room[0] - 'a' + 'A');
    return room;
}
