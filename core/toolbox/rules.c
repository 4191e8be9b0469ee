#include "toolbox/rules.h"

#include "base/mem.h"

#include <stdio.h>

/* ---- providers ---- */

static const char *const anthropic_models[] = {"anthropic", NULL};
static const char *const openai_models[] = {"openai", "openai-chat", NULL};
static const char *const gemini_models[] = {"gemini", NULL};
static const char *const gemini_formats[] = {"date-time", "date",   "time",  "duration",
                                             "int32",     "int64",  "float", "double",
                                             "enum",      "uint32", NULL};

/* The first is the strictest: tools for models that are not known are repaired for it. */
const struct mp_provider mp_providers[] = {
    {
        .name = "anthropic",
        .models = anthropic_models,
        .format = MCPLUG_FORMAT_ANTHROPIC,
        .name_max = 128,
        .name_chars = "-",
        .key_max = 64,
    },
    {
        .name = "openai",
        .models = openai_models,
        .format = MCPLUG_FORMAT_OPENAI,
        .name_max = 64,
        .name_chars = "-",
        .tools_max = 128,
        .needs_items = true,
    },
    {
        .name = "gemini",
        .models = gemini_models,
        .format = MCPLUG_FORMAT_GEMINI,
        .name_max = 64,
        .name_chars = "-.:",
        .name_is_word = true,
        .key_max = 64,
        .formats = gemini_formats,
        .needs_described = true,
        .has_lone_refs = true,
        .drops_extensions = true,
    },
    {.name = NULL},
};

const struct mp_provider *mp_provider_find(const char *name)
{
    for (const struct mp_provider *p = mp_providers; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

const struct mp_provider *mp_provider_of_model(const char *feature)
{
    for (const struct mp_provider *p = mp_providers; p->name; p++)
        for (size_t i = 0; p->models[i]; i++)
            if (strcmp(p->models[i], feature) == 0)
                return p;
    return mp_providers;
}

const struct mp_provider *mp_provider_of_format(enum mcplug_format format)
{
    if (format == MCPLUG_FORMAT_OPENAI_RESPONSES)
        format = MCPLUG_FORMAT_OPENAI;
    for (const struct mp_provider *p = mp_providers; p->name; p++)
        if (p->format == format)
            return p;
    return mp_providers;
}

/* ---- rules ---- */

/* What each provider does with it: 0, it does not mind, and nothing is changed. */
enum { OK_ = 0, ADV = MCPLUG_ADVICE, REP = MCPLUG_REPAIRED, REF = MCPLUG_REFUSED };

/* anthropic, openai, gemini */
const struct mp_rule_info mp_rules[MP_RULES] = {
    [MP_RULE_NAME] = {"name",
                      {REF, REF, REF},
                      false,
                      "the name has characters or a length that the API refuses",
                      "calls it by another name, of letters, digits and _",
                      "use 1 to 64 letters, digits, _ and -"},
    [MP_RULE_APP_ONLY] = {"app-only",
                          {ADV, ADV, ADV},
                          true,
                          "_meta.ui.visibility does not have \"model\"",
                          "leaves the tool out: it is for user interfaces",
                          "add \"model\" if models are to call it"},
    [MP_RULE_NO_DESCRIPTION] = {"no-description",
                                {REP, REP, REP},
                                false,
                                "there is no description",
                                "sends the title, or else the name",
                                "say what the tool does, and when to use it"},
    [MP_RULE_LONG_DESCRIPTION] = {"long-description",
                                  {REP, REP, REP},
                                  false,
                                  "the description is longer than 2048 bytes",
                                  "cuts it there",
                                  "say the most important first, or say less"},
    [MP_RULE_OLD_DESCRIPTION] = {"openai-description",
                                 {OK_, ADV, OK_},
                                 false,
                                 "the description is longer than 1024 bytes, which older "
                                 "models refuse",
                                 "sends it, and leaves the tool out of a run in which it "
                                 "is refused",
                                 "say it in 1024 bytes"},
    [MP_RULE_QUOTED_DESCRIPTION] = {"quoted-description",
                                    {REP, REP, REP},
                                    false,
                                    "the description has headings, or characters that "
                                    "cannot be seen",
                                    "quotes the headings and escapes the characters",
                                    "write plain paragraphs and lists"},
    [MP_RULE_ROOT_TYPE] = {"root-type",
                           {REF, REF, REF},
                           false,
                           "the schema is not that of an object",
                           "sets \"type\": \"object\"",
                           "give the root \"type\": \"object\""},
    [MP_RULE_ROOT_PROPERTIES] = {"root-properties",
                                 {REP, REF, REP},
                                 false,
                                 "the schema has no properties",
                                 "adds an empty \"properties\"",
                                 "add \"properties\": {}"},
    [MP_RULE_ROOT_CHOICE] =
        {"root-choice",
         {REF, REF, REP},
         false,
         "allOf, anyOf or oneOf at the root of the schema",
         "merges the branches: it has all their properties, of each "
         "the first definition, and requires what all of them require",
         "describe one object, and the choice in the description"},
    [MP_RULE_ROOT_REF] = {"root-ref",
                          {REF, REF, REF},
                          false,
                          "a $ref at the root of the schema",
                          "merges what it refers to into the root",
                          "describe the object at the root"},
    [MP_RULE_ROOT_KEYWORD] =
        {"root-keyword",
         {REF, REF, REP},
         false,
         "a keyword that is refused at the root of the schema",
         "leaves the keyword out; the server checks arguments itself",
         "say it of single properties, or in the description"},
    [MP_RULE_KEY] = {"property-name",
                     {REF, OK_, REF},
                     false,
                     "the name of a property is not 1 to 64 letters, digits, _ . and -",
                     "leaves the property out",
                     "rename it"},
    [MP_RULE_REQUIRED_KEY] = {"required-property-name",
                              {REF, OK_, REF},
                              true,
                              "the name of a property that it requires is not 1 to 64 "
                              "letters, digits, _ . and -",
                              "leaves the tool out, for it cannot be called",
                              "rename the property"},
    [MP_RULE_DIALECT] = {"dialect",
                         {REP, REP, REP},
                         false,
                         "$schema says nothing to a model",
                         "leaves it out",
                         "nothing, or leave it out to save tokens"},
    [MP_RULE_EXTENSION] = {"extension",
                           {OK_, OK_, REP},
                           false,
                           "an x- keyword, which is not among those that are documented",
                           "leaves it out",
                           "say it in the description"},
    [MP_RULE_NO_SCHEMA] = {"no-schema",
                           {REF, REF, REF},
                           false,
                           "expected a schema: an object, true or false",
                           "puts {} in its place, which takes any value",
                           "write a schema"},
    [MP_RULE_KEYWORD] = {"keyword",
                         {REF, REF, REF},
                         false,
                         "the value is not one that JSON Schema 2020-12 has for this "
                         "keyword",
                         "leaves it out",
                         "correct it: a validator for JSON Schema explains more"},
    [MP_RULE_TUPLE] = {"tuple",
                       {REF, REF, REF},
                       false,
                       "items is an array, as in drafts before 2020-12",
                       "calls it prefixItems",
                       "use prefixItems"},
    [MP_RULE_EXCLUSIVE] = {"exclusive",
                           {REF, REF, REF},
                           false,
                           "true or false for an exclusive limit, as in draft 4",
                           "puts the limit there, in place of minimum or maximum",
                           "write the number there"},
    [MP_RULE_NO_ITEMS] = {"no-items",
                          {OK_, REF, OK_},
                          false,
                          "an array without items",
                          "adds \"items\": {}, which is any value",
                          "say what the items are"},
    [MP_RULE_FORMAT] = {"format",
                        {OK_, OK_, REF},
                        false,
                        "a format that the API does not know",
                        "leaves it out",
                        "say it in the description of the property"},
    [MP_RULE_REF] = {"ref",
                     {REF, REF, REF},
                     false,
                     "a $ref that leads nowhere, or out of the schema",
                     "leaves it out: what it was to describe may be any value",
                     "refer to \"#/$defs/NAME\", and define that in the same schema"},
    [MP_RULE_REF_BESIDE] = {"ref-beside",
                            {OK_, OK_, REF},
                            false,
                            "a $ref that has other keywords beside it",
                            "puts it into an anyOf of its own",
                            "put the description where the reference leads to"},
    [MP_RULE_REQUIRED_UNKNOWN] = {"required-unknown",
                                  {REP, REP, REF},
                                  false,
                                  "required names a property that is not described",
                                  "leaves the name out",
                                  "describe the property"},
    [MP_RULE_TWICE] = {"twice",
                       {REF, REF, REF},
                       false,
                       "the same name twice",
                       "keeps the first",
                       "remove one"},
    [MP_RULE_TOO_DEEP] =
        {"too-deep",
         {REF, REF, REF},
         true,
         "its schema has more than 32 levels of allOf, anyOf, oneOf and $ref",
         "leaves the tool out",
         "describe the arguments without so many detours"},
    [MP_RULE_TOO_COSTLY] = {"too-costly",
                            {REF, REF, REF},
                            true,
                            "merging its schema takes more than 32 steps per byte",
                            "leaves the tool out",
                            "describe the arguments without so many detours"},
    [MP_RULE_TOO_BIG] = {"too-big",
                         {REF, REF, REF},
                         true,
                         "its definition is longer than 1 MiB",
                         "leaves the tool out",
                         "say less: models pay for every word of it"},
    [MP_RULE_TOO_MANY] = {"too-many-tools",
                          {OK_, REF, OK_},
                          false,
                          "more than 128 tools",
                          "offers some of them, and search_tools to find the others",
                          "let users choose groups of tools"},
    [MP_RULE_MORE] = {"more",
                      {REP, REP, REP},
                      false,
                      "this tool has more findings than are listed",
                      "repairs those as well",
                      "correct these first"},
};

/* ---- findings ---- */

void mp_findings_clear(struct mp_findings *found)
{
    for (size_t i = 0; i < found->n; i++)
        mp_free(found->list[i].path);
    mp_free(found->list);
    *found = (struct mp_findings){0};
}

/* Adds the pointer to a place, from the definition down. */
static void add_path(struct mp_str *out, const struct mp_at *at)
{
    struct mp_str name;

    if (!at)
        return;
    add_path(out, at->up);
    mp_str_addc(out, '/');
    if (!at->name && !at->key.len) {
        mp_str_addu(out, at->index);
        return;
    }
    mp_str_init(&name, at->key.len + 64);
    if (at->name)
        mp_str_adds(&name, at->name);
    else
        mp_str_add_view(&name, at->key);
    for (size_t i = 0; i < name.len && out->len <= MP_FINDING_PATH; i++)
        if (name.data[i] == '~' || name.data[i] == '/')
            mp_str_adds(out, name.data[i] == '~' ? "~0" : "~1");
        else
            mp_str_addc(out, name.data[i]);
    out->failed = out->failed || name.failed;
    mp_str_clear(&name);
}

/* give; NULL: no memory */
static char *path_of(const struct mp_at *at)
{
    struct mp_str path;

    mp_str_init(&path, MP_FINDING_PATH * 8);
    mp_str_adds(&path, "");
    add_path(&path, at);
    if (path.len > MP_FINDING_PATH) { /* whole characters */
        size_t n = MP_FINDING_PATH;
        while (n > 0 && ((unsigned char)path.data[n] & 0xc0) == 0x80)
            n--;
        path.len = n;
        path.data[n] = '\0';
        mp_str_adds(&path, "..");
    }
    char *taken = mp_str_take(&path);
    mp_str_clear(&path);
    return taken;
}

void mp_find(struct mp_findings *found, const struct mp_provider *provider,
             enum mp_rule rule, const struct mp_at *at)
{
    enum mcplug_severity severity = mp_rules[rule].is[provider - mp_providers];

    if (!found || found->failed || !severity)
        return;
    if (found->n == MP_FINDINGS) { /* the last one stands for the others */
        struct mp_finding *last = &found->list[found->n - 1];
        last->severity = last->severity < severity ? severity : last->severity;
        last->rule = mp_rules[rule].is_left_out ? rule : MP_RULE_MORE;
        last->path[0] = '\0';
        return;
    }
    char *path = path_of(at);
    if (!path || !mp_grow(&found->list, &found->cap, found->n + 1)) {
        found->failed = true;
        mp_free(path);
        return;
    }
    found->list[found->n++] = (struct mp_finding){rule, severity, path};
}
