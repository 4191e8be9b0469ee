/* Ctrl+C and SIGTERM as something to poll for, so that a command can end in order. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

/* After the first one servers get this long to go in good order; then we leave, and what
 * guards their processes ends them. */
#define CLI_LEAVE_MS 2000

/* Until cli_signals_open() is called they end us at once, with the document that --json
 * promises. */
void cli_signals_leave(void);

/* A descriptor that is readable once a signal has come; -1: there is none. Both are
 * blocked from now on, but while a write of ours blocks: then they end us at once. */
int cli_signals_open(void);
/* The same for a command that changes how the terminal behaves, which has to be undone
 * before anything ends or stops us: SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH come
 * through the descriptor too, and SIGINT and SIGTERM also when a write of ours blocks. */
int cli_signals_open_terminal(void);
/* Stops us, as SIGTSTP does, until somebody lets us go on. */
void cli_signals_suspend(void);
/* The number of the one that came; 0: none did. */
int cli_signals_read(int fd);

#endif
