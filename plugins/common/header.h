/* plugins/common/header.h - HTTP header fields that are safe to send. Pure functions. */
#ifndef MCPLUG_COMMON_HEADER_H
#define MCPLUG_COMMON_HEADER_H

#include <stddef.h>

/* Is it a field name, a token of RFC 9110? */
int header_is_name(const char *name, size_t len);

/* Is it what a user may give as a field value: no control characters but tab? Bytes
 * above 127 are let through. */
int header_is_value(const char *value);

/* Names that belong to the protocol or to the connection, which users can't set:
 * Accept, Content-Type, Content-Length, Transfer-Encoding, Connection, Host, Upgrade, TE,
 * Trailer, Expect, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method,
 * Mcp-Name, Mcp-Param-*, Sec-WebSocket-*; in any case. */
int header_is_reserved(const char *name);

/* How many bytes header_encode() writes at most for `len` bytes, its NUL included. */
size_t header_encoded_size(size_t len);

/* Writes `value` as Mcp-Name and Mcp-Param-* carry it: as it is when it consists of
 * visible ASCII and inner blanks, and does not look encoded; else as
 * =?base64?..?= of its bytes. Returns the length. The empty value stays empty. */
size_t header_encode(const char *value, size_t len, char *out);

#endif /* MCPLUG_COMMON_HEADER_H */
