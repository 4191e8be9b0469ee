/* A request for consent at the terminal: what it is about, all of it, and the question,
 * both on stderr, so that neither is seen without the other. Words of others are marked,
 * line by line. What cannot be shown whole is not asked about. */
#ifndef CLI_CONSENT_H
#define CLI_CONSENT_H

#include "cli/base/out.h"
#include "json/walk.h"

struct cli_consent {
    struct cli_out out; /* for our own words */
    bool foreign;       /* words of others have characters beyond ASCII */
    bool is_cut;        /* something is missing: nothing is asked */
};

/* Is there a terminal where a person can be asked? */
bool cli_consent_possible(void);
/* give: mp_free; NULL: no memory */
struct cli_consent *cli_consent_new(void);

/* One line of others behind `mark`, which begins with CLI_FILES. */
void cli_consent_line(struct cli_consent *c, const char *mark, const char *text,
                      size_t len);
/* Every line of a text, likewise. */
void cli_consent_lines(struct cli_consent *c, const char *mark, const char *text);
/* The text of an entry as it is compared and shown: laid out, and strings as they read
 * and not as they are spelled. give: mcplug_text_free; NULL: no memory */
char *cli_consent_form(mp_view json);
/* A whole entry, nothing masked. */
void cli_consent_entry(struct cli_consent *c, mp_view json);

/* Does using the entry start a program on this machine? Only what is known to connect to
 * an address does not. */
bool cli_consent_is_program(mp_view json);
/* What the program that it starts sees of the environment. */
void cli_consent_environment(struct cli_consent *c, mp_view json);

/* Warns of what is easily overlooked and puts the question; what was typed before on
 * standard input is dropped. false: not all could be shown, which is said, and there is
 * no question. */
bool cli_consent_show(struct cli_consent *c, const char *question);
/* Warns of what is easily overlooked, puts the question and reads the answer. What was
 * typed before is none. Without a question, when not all could be shown, that is said and
 * the answer is no. */
bool cli_consent_ask(struct cli_consent *c, const char *question);

#endif
