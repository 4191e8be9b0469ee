/* The two halves of the peer: peer.c says what, peer_net.c over which wire. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPLY_MAX = 4096 };

/* What a proper server says to that message, in `buf` of REPLY_MAX; NULL: nothing. */
char *peer_reply(char *buf, const char *message, bool legacy);
/* The number behind `key`, or 0. Hosts of ours write their frames without spaces. */
uint64_t peer_number(const char *message, const char *key);
void peer_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Serves HTTP, HTTP+SSE and WebSocket on that port of 127.0.0.1 (0: any), for ever. */
_Noreturn void peer_serve(int port);

#endif
