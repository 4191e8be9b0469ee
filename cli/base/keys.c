#include "cli/base/keys.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ESC_MS 60 /* after which an Esc was no beginning of anything */

static int numbered(int number)
{
    switch (number) {
    case 1:
    case 7:
        return CLI_KEY_HOME;
    case 3:
        return CLI_KEY_DELETE;
    case 4:
    case 8:
        return CLI_KEY_END;
    case 5:
        return CLI_KEY_PAGE_UP;
    case 6:
        return CLI_KEY_PAGE_DOWN;
    case 200:
        return CLI_KEY_PASTE_BEGINS;
    case 201:
        return CLI_KEY_PASTE_ENDS;
    default:
        return CLI_KEY_NONE;
    }
}

/* What stands between the bracket and the last byte is a number, `;` and the keys that
 * are held down, or nothing we know. */
static int key_of(const char *seq, char last)
{
    const char *held = strchr(seq, ';');
    bool is_word = held && (strtol(held + 1, NULL, 10) - 1) & 6; /* 2: Alt, 4: Ctrl */

    switch (last) {
    case 'A':
        return CLI_KEY_UP;
    case 'B':
        return CLI_KEY_DOWN;
    case 'C':
        return is_word ? CLI_KEY_WORD_RIGHT : CLI_KEY_RIGHT;
    case 'D':
        return is_word ? CLI_KEY_WORD_LEFT : CLI_KEY_LEFT;
    case 'H':
        return CLI_KEY_HOME;
    case 'F':
        return CLI_KEY_END;
    case '~':
        return numbered(atoi(seq));
    default:
        return CLI_KEY_NONE;
    }
}

/* Within a sequence: Esc [ .. or Esc O .. up to a letter or ~. */
static int feed_sequence(struct cli_keys *k, unsigned char byte)
{
    if (k->n == 1 && byte != '[' && byte != 'O') {
        k->n = 0;
        return CLI_KEY_ALT + byte;
    }
    bool last = k->n > 1 && byte >= 0x40 && byte <= 0x7e;
    if (!last) {
        if (k->n < sizeof k->seq - 1) /* the rest of what is too long is not looked at */
            k->seq[k->n++] = (char)byte;
        return CLI_KEY_NONE;
    }
    k->seq[k->n] = '\0';
    k->n = 0;
    return key_of(k->seq + 2, (char)byte);
}

int cli_keys_feed(struct cli_keys *k, unsigned char byte, uint64_t now)
{
    k->due = 0;
    if (byte == CLI_KEY_ESC) { /* also one that breaks a sequence off */
        k->seq[0] = (char)byte;
        k->n = 1;
        k->due = now + ESC_MS;
        return CLI_KEY_NONE;
    }
    return k->n ? feed_sequence(k, byte) : byte;
}

int cli_keys_due(struct cli_keys *k, uint64_t now)
{
    if (!k->due || now < k->due)
        return CLI_KEY_NONE;
    k->due = 0;
    k->n = 0;
    return CLI_KEY_ESC;
}
