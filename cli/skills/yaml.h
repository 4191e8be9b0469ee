/* YAML 1.2, as far as frontmatter has it, turned into a tree: block and flow collections,
 * plain, quoted and block scalars, the types of its core schema.
 *
 * Skills are compared by what is read here with what other readers will read later, so
 * that whatever these are known to disagree on is refused: anchors and aliases, tags,
 * merge keys, explicit keys, single pairs in flow sequences, keys given twice, tabs as
 * indentation, line ends of other systems, infinity and NaN. */
#ifndef CLI_SKILLS_YAML_H
#define CLI_SKILLS_YAML_H

#include <mcplug/types.h>

#include <jansson.h>

#define CLI_YAML_MAX ((size_t)1 << 20) /* bytes of a text */

/* give: the mapping that `text` is, members in their order. NULL: MCPLUG_EPROTO, with the
 * line, for what is no YAML or refused; MCPLUG_ETOOBIG: more than CLI_YAML_MAX bytes,
 * 10,000 values or 32 levels; MCPLUG_ENOMEM. */
json_t *cli_yaml_mapping(struct mcplug_bytes text, struct mcplug_error *err);

#endif
