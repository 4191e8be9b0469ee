/* plugins/common/ip.h - hosts as the network takes them.
 *
 * One address has many spellings: 127.0.0.1 is 127.1, 0x7f.1, 2130706433 and
 * ::ffff:127.0.0.1. Whoever judges where a connection may go compares addresses here, and
 * not their texts. No memory.
 */
#ifndef MCPLUG_COMMON_IP_H
#define MCPLUG_COMMON_IP_H

#include <stddef.h>
#include <sys/socket.h>

enum { IP_BYTES = 16, IP_TEXT = 46, IP_HOST_MAX = 256 };

/* A host without what changes nothing: in small letters, escapes (%6c) undone, without
 * brackets, the zone of an IPv6 address and dots at its end. 0: it does not fit. */
int ip_plain_host(const char *host, char *out, size_t size);

/* The address that a plain host is, in whatever spelling some reader takes. IPv4 is
 * ::ffff:a.b.c.d, also where it was written as ::a.b.c.d or 64:ff9b::a.b.c.d, which
 * translators make of it. 0: it is a name. */
int ip_read(const char *host, unsigned char out[IP_BYTES]);

/* In the one spelling that inet_ntop() has, IPv4 as a.b.c.d. */
void ip_text(const unsigned char address[IP_BYTES], char out[IP_TEXT]);

/* Is it this machine: 127.0.0.0/8, ::1, and 0.0.0.0 and ::, which connect to it? */
int ip_is_loopback(const unsigned char address[IP_BYTES]);

/* The same of a plain host, which may also be localhost or end in .localhost. */
int ip_host_is_loopback(const char *host);

/* The address and port of a socket. 0: it is of another family. */
int ip_of_socket(const struct sockaddr *socket, unsigned char out[IP_BYTES],
                 unsigned *port);

/* Is it among `rules`, NULL-ended, as a setting of type "addresses" has them? Each is
 * HOST:PORT, the host an address with brackets around one of IPv6, and * for any
 * characters of either. Leaves in `out` what was denied, for messages. */
int ip_is_denied(const char *const *rules, const unsigned char address[IP_BYTES],
                 unsigned port, char out[IP_TEXT]);
int ip_is_denied_socket(const char *const *rules, const struct sockaddr *socket,
                        char out[IP_TEXT]);
/* The same of the peer that `fd` is connected to. */
int ip_is_denied_peer(const char *const *rules, int fd, char out[IP_TEXT]);

/* Can the pattern of a host, with *, fit addresses alone: 10.*, 192.168.1.*? */
int ip_is_pattern(const char *host);

#endif /* MCPLUG_COMMON_IP_H */
