/* What a terminal sends, as keys. Pure: bytes in, keys out. */
#ifndef CLI_KEYS_H
#define CLI_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum cli_key { /* or a byte */
               CLI_KEY_NONE,
               CLI_KEY_ESC = 27,
               CLI_KEY_UP = 256,
               CLI_KEY_DOWN,
               CLI_KEY_LEFT,
               CLI_KEY_RIGHT,
               CLI_KEY_WORD_LEFT, /* with Ctrl or Alt */
               CLI_KEY_WORD_RIGHT,
               CLI_KEY_PAGE_UP,
               CLI_KEY_PAGE_DOWN,
               CLI_KEY_HOME,
               CLI_KEY_END,
               CLI_KEY_DELETE,
               CLI_KEY_PASTE_BEGINS,
               CLI_KEY_PASTE_ENDS,
               CLI_KEY_ALT = 1024 /* and a byte, added */
};

struct cli_keys { /* the beginning of a key that sends several bytes */
    char seq[16];
    size_t n;
    uint64_t due; /* when an Esc that nothing follows is a key of its own; 0: none */
};

/* One byte more: a key above 255, a byte, or CLI_KEY_NONE. */
int cli_keys_feed(struct cli_keys *k, unsigned char byte, uint64_t now);
/* The time has come: CLI_KEY_ESC, or CLI_KEY_NONE. */
int cli_keys_due(struct cli_keys *k, uint64_t now);

#endif
