/* What tools are called towards a model: mcp__SERVER__TOOL, or SERVER__TOOL. Models take
 * letters, digits and _, and 64 characters. [any]
 *
 * Names of one set are unique, and the same for the same servers and tools, whatever the
 * order they were added in: a part that is nobody else's is only normalised; where two
 * would be the same, the one that needed no normalising keeps the name and the others get
 * _ and eight hexadecimal digits, of a hash over the names as they were; so do names that
 * are too long. A name that was given is never given to another tool as long as the set
 * lives, even if its tool has gone. */
#ifndef MP_REGISTRY_NAMES_H
#define MP_REGISTRY_NAMES_H

#include <mcplug/types.h>

#include <stdbool.h>

#define MP_TOOL_NAME_MAX 64
/* What one server may have, those that have gone included: */
#define MP_NAMES_TOOLS 65536
#define MP_NAMES_BYTES (16u << 20) /* of their names as they were */

struct mp_names;

/* give; NULL: no memory. `plain`: without the mcp__. */
struct mp_names *mp_names_new(bool plain);
void mp_names_free(struct mp_names *names); /* NULL is fine */

/* The servers there are, all at once or one after the other; what counts for their names
 * is the whole of them. A server that is known already is fine. MCPLUG_ENOMEM */
int mp_names_server(struct mp_names *names, const char *server);
/* The tools that a server has now, NULL-ended; they replace those it had. One that comes
 * back has the name it had. A server that is not known becomes so. MCPLUG_ENOMEM, or
 * MCPLUG_ETOOBIG when it has had too many: all tools as before. */
int mp_names_tools(struct mp_names *names, const char *server, const char *const *tools);

/* The name of a tool; NULL: it has none. Valid as long as the set. */
const char *mp_names_of(const struct mp_names *names, const char *server,
                        const char *tool);
/* And back: false when the name is none. Both are borrowed. Names of tools that have gone
 * are found as well. */
bool mp_names_resolve(const struct mp_names *names, const char *name, const char **server,
                      const char **tool);
/* What SERVER became in the names, "my_server": without __ inside and _ at the end, so
 * that the first __ ends it, and of at most 47 characters. NULL: not known. It stays as
 * it is once a tool of the server has a name; before, another server may change it. */
const char *mp_names_namespace(const struct mp_names *names, const char *server);

#endif
