/* Arguments of tools and prompts as words: key=value, key=@file, key=@- for stdin. A
 * value that begins with @ itself is written @@. */
#ifndef CLI_KEY_VALUE_H
#define CLI_KEY_VALUE_H

#include "cli/base/args.h"

#include <jansson.h>

#define CLI_FILE_MAX ((size_t)16 << 20)

struct cli_word {
    char *key;
    char *value;
    bool from_file;
};

struct cli_words {
    struct cli_word *items;
    size_t n;
};

/* Splits `n` words, and reads the files that they name. MCPLUG_EINVAL, _EIO
 * for a file that cannot be read, or _ENOMEM. Clear `out` in either case. */
int cli_words_read(const char *const *words, size_t n, struct cli_words *out,
                   struct mcplug_error *err);
void cli_words_clear(struct cli_words *words);

/* As the text of an object typed by `schema`, a tool's inputSchema or NULL. The content
 * of a file is text unless the schema wants something else. Numbers stay as they were
 * written. give: mp_free. */
char *cli_words_typed(const struct cli_words *words, const json_t *schema,
                      struct mcplug_error *err);
/* As an object of strings, as prompts want them. give. */
json_t *cli_words_strings(const struct cli_words *words, struct mcplug_error *err);
/* How a command ends whose words failed with `err`. */
int cli_words_outcome(const struct mcplug_error *err);

/* `text` itself, or what it names: `-` is stdin, `@PATH` a file. give: mp_free; NULL with
 * `err`, MCPLUG_EIO when that cannot be read */
char *cli_read_value(const char *text, struct mcplug_error *err);
/* The same, and it is a JSON object. */
char *cli_read_object(const char *option, const char *text, struct mcplug_error *err);

#endif
