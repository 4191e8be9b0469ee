/* The line editor: the first byte is the size of the terminal, the rest is typed. The
 * line stays UTF-8, the cursor between characters, and the screen as the line alone says.
 */
#include "cli/base/line_edit.h"

#include "../unit/small_screen.h"
#include "must.h"

static void send(struct cli_line_edit *e, struct small_screen *screen,
                 void (*make)(struct cli_line_edit *, struct mp_str *))
{
    struct mp_str out;

    mp_str_init(&out, (size_t)1 << 20);
    make(e, &out);
    MUST(!out.failed);
    screen_feed(screen, out.data, out.len);
    MUST(!screen->wrong);
    mp_str_clear(&out);
}

static void check(const struct cli_line_edit *e)
{
    const char *text = e->line.len ? e->line.data : "";

    MUST(e->at <= e->line.len && e->line.len <= CLI_LINE_MAX && !e->line.failed);
    MUST(strlen(text) == e->line.len && mp_is_utf8(text));
    MUST(((unsigned char)text[e->at] & 0xc0) != 0x80);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct small_screen screen, anew;
    struct cli_line_edit e;

    if (!size)
        return 0;
    memset(&screen, 0, sizeof screen);
    screen.height = 1 + data[0] % SCREEN_ROWS;
    screen.width = 16 + data[0] / SCREEN_ROWS;
    anew = screen;
    cli_line_edit_init(&e, "> ");
    cli_line_edit_resize(&e, screen.width, screen.height);
    cli_line_edit_remember(&e, "one");
    cli_line_edit_remember(&e, "two\nof \xe6\x97\xa5");
    for (size_t i = 1; i < size; i++) {
        enum cli_line_event event = cli_line_edit_feed(&e, data[i]);
        if (event == CLI_LINE_ENTERED) {
            send(&e, &screen, cli_line_edit_leave);
            check(&e);
            cli_line_edit_remember(&e, e.line.len ? e.line.data : "");
            cli_line_edit_set(&e, "", 0);
        } else if (event == CLI_LINE_COMPLETES) {
            cli_line_edit_insert(&e, "x\xc3\xa4", 3);
        }
        if (i % 3 == 0)
            send(&e, &screen, cli_line_edit_draw);
        check(&e);
    }
    cli_line_edit_feed(&e, 12); /* Ctrl+L, if nothing has begun */
    e.is_cleared = true;
    send(&e, &screen, cli_line_edit_draw);
    e.is_cleared = true;
    e.row = 0;
    send(&e, &anew, cli_line_edit_draw);
    char *shown = strdup(screen_text(&screen));
    MUST(shown && strcmp(shown, screen_text(&anew)) == 0);
    free(shown);
    MUST(screen.row == anew.row && screen.column == anew.column);
    cli_line_edit_clear(&e);
    return 0;
}
