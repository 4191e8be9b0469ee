/* client.c - the client that the official conformance suite judges: libmcplug's public
 * API as an embedder uses it. A suite starts it with
 *
 *   MCP_CONFORMANCE_SCENARIO   what is to be done
 *   MCP_CONFORMANCE_CONTEXT    data for it, JSON; not always
 *   the last argument          URL of the server
 *
 * and `run` with MCPLUG_COMMAND, which does what is about skills.
 *
 * Exit status: 0 done, 1 something failed, 2 wrong use, 3 no such scenario. The revision
 * that the suite names is not looked at: the library finds out by itself.
 */
#include "client_kit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the scenarios --------------------------------------------------------- */

/* The server has no capabilities, so that lists are empty without a request. */
static int initialize(struct client *c)
{
    return client_ping(c);
}

static int tools_call(struct client *c)
{
    json_t *tools = NULL;
    json_t *arguments = json_pack("{s:i,s:i}", "a", 5, "b", 3);

    int r = client_list(c, MCPLUG_TOOLS, &tools);
    if (r == 0 && !client_find(tools, "add_numbers"))
        r = client_fail("add_numbers is not in the list");
    if (r == 0)
        r = client_call(c, "add_numbers", arguments, "8");
    json_decref(arguments);
    json_decref(tools);
    return r;
}

/* The question comes on the stream for what belongs to no request, and is lost if that is
 * not open yet; the list gives it the time that it has with any host. */
static int elicitation_defaults(struct client *c)
{
    json_t *tools = NULL;

    int r = client_list(c, MCPLUG_TOOLS, &tools);
    if (r == 0)
        r = client_call(c, "test_client_elicitation_defaults", NULL, NULL);
    if (r == 0 && c->questions != 1)
        r = client_fail("the server had %u questions, not 1", c->questions);
    json_decref(tools);
    return r;
}

/* The answer comes on another stream than the one on which it was asked for. */
static int sse_retry(struct client *c)
{
    json_t *tools = NULL;

    int r = client_list(c, MCPLUG_TOOLS, &tools);
    if (r == 0)
        r = client_call(c, "test_reconnection", NULL, "Reconnection test completed");
    json_decref(tools);
    return r;
}

/* Nothing but that there are requests; see `initialize` about the list. */
static int request_metadata(struct client *c)
{
    int r = client_ping(c);

    if (r == 0)
        r = client_call(c, "any_tool", NULL, NULL);
    return r;
}

static void on_between(void *arg, mcplug_call *call, mcplug_result *result,
                       const struct mcplug_error *why)
{
    static const char yes[] = "{\"action\":\"accept\",\"content\":{\"confirmed\":true}}";
    struct client *c = arg;
    (void)call, (void)result;

    if (why)
        client_fail("%s: %s", c->while_held, why->text);
    else
        c->while_held_ended = 1;
    if (mcplug_input_answer(c->held, yes) != MCPLUG_OK)
        client_fail("the question takes no answer");
    c->held = NULL;
}

/* Keeps the question until another call has been made and answered. */
static void hold(void *arg, mcplug_server *server, mcplug_input *input,
                 const char *params, size_t len)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct client *c = arg;
    (void)params, (void)len;

    c->held = input;
    if (!mcplug_call_tool(server, c->while_held, NULL, NULL, on_between, c, &err)) {
        client_fail("%s: %s", c->while_held, err.text);
        c->held = NULL;
        mcplug_input_refuse(input, -32603, err.text);
    }
}

/* A call that is asked something comes in two rounds. Between those of the first stands
 * an unrelated one, which must know nothing of it. */
static int request_state(struct client *c)
{
    json_t *tools = NULL;

    int r = client_list(c, MCPLUG_TOOLS, &tools);
    c->elicit = hold;
    c->while_held = "test_mrtr_unrelated";
    if (r == 0)
        r = client_call(c, "test_mrtr_echo_state", NULL, "echo-state-ok");
    if (r == 0 && !c->while_held_ended)
        r = client_fail("%s has not ended", c->while_held);
    c->elicit = NULL;
    if (r == 0)
        r = client_call(c, "test_mrtr_no_state", NULL, "no-state-ok");
    if (r == 0)
        r = client_call(c, "test_mrtr_no_result_type", NULL, "no-result-type-test-ok");
    if (r == 0 && c->questions != 2)
        r = client_fail("the server had %u questions, not 2", c->questions);
    json_decref(tools);
    return r;
}

/* Calls all there are, with whatever arguments they take. */
static int call_listed(struct client *c, const json_t *tools)
{
    json_t *tool;
    size_t i;
    int r = 0;

    json_array_foreach(tools, i, tool)
    {
        json_t *arguments = client_fill(json_object_get(tool, "inputSchema"));
        const char *name = json_string_value(json_object_get(tool, "name"));
        if (r == 0 && name)
            r = client_call(c, name, arguments, NULL);
        json_decref(arguments);
    }
    return r;
}

/* One request for each item of a list, by its `key`. */
static int request_listed(struct client *c, enum mcplug_kind kind, const char *method,
                          const char *key)
{
    json_t *items = NULL;
    json_t *item;
    size_t i;

    int r = client_list(c, kind, &items);
    if (r == 0 && json_array_size(items) == 0)
        r = client_fail("nothing to do %s with", method);
    json_array_foreach(items, i, item)
    {
        json_t *params = json_pack("{s:O}", key, json_object_get(item, key));
        if (r == 0)
            r = client_request(c, method, params, NULL);
        json_decref(params);
    }
    json_decref(items);
    return r;
}

static int standard_headers(struct client *c)
{
    json_t *tools = NULL;

    int r = client_list(c, MCPLUG_TOOLS, &tools);
    if (r == 0 && json_array_size(tools) == 0)
        r = client_fail("no tools");
    if (r == 0)
        r = call_listed(c, tools);
    if (r == 0)
        r = request_listed(c, MCPLUG_RESOURCES, "resources/read", "uri");
    if (r == 0)
        r = request_listed(c, MCPLUG_PROMPTS, "prompts/get", "name");
    json_decref(tools);
    return r;
}

/* The calls of the context, as they are. */
static int custom_headers(struct client *c)
{
    const json_t *calls = json_object_get(c->context, "toolCalls");
    json_t *tools = NULL;
    json_t *call;
    size_t i;

    int r = client_list(c, MCPLUG_TOOLS, &tools);
    if (r == 0 && json_array_size(calls) == 0)
        r = client_fail("no toolCalls in MCP_CONFORMANCE_CONTEXT");
    json_array_foreach(calls, i, call)
    {
        const char *name = json_string_value(json_object_get(call, "name"));
        if (r == 0 && !client_find(tools, name ? name : ""))
            r = client_fail("%s is not in the list", name);
        if (r == 0)
            r = client_call(c, name, json_object_get(call, "arguments"), NULL);
    }
    json_decref(tools);
    return r;
}

/* The library is to leave out what is invalid: whatever it lists is called. */
static int invalid_tool_headers(struct client *c)
{
    json_t *tools = NULL;

    int r = client_list(c, MCPLUG_TOOLS, &tools);
    if (r == 0 && !client_find(tools, "valid_tool"))
        r = client_fail("valid_tool is not in the list");
    if (r == 0)
        r = call_listed(c, tools);
    json_decref(tools);
    return r;
}

/* That a schema is read does not mean that what it refers to is. */
static int ref_no_deref(struct client *c)
{
    json_t *tools = NULL;

    int r = client_list(c, MCPLUG_TOOLS, &tools);
    if (r == 0 && !client_find(tools, "lookup_user"))
        r = client_fail("lookup_user is not in the list");
    json_decref(tools);
    return r;
}

/* The schema goes back as it came. */
static int schema_preservation(struct client *c)
{
    json_t *tools = NULL;
    json_t *arguments = NULL;

    int r = client_list(c, MCPLUG_TOOLS, &tools);
    if (r == 0) {
        const json_t *tool = client_find(tools, "json_schema_2020_12_tool");
        arguments = json_pack("{s:O}", "schema", json_object_get(tool, "inputSchema"));
        if (!arguments)
            r = client_fail("json_schema_2020_12_tool is not in the list");
    }
    if (r == 0)
        r = client_call(c, "json_schema_echo", arguments, "echoed");
    json_decref(arguments);
    json_decref(tools);
    return r;
}

/* A list is no reason to read a file. */
static int skills_no_prefetch(struct client *c)
{
    int code = -1;

    int r = client_command(c, (const char *[]){"skills", NULL}, &code);
    return r == 0 && code != 0 ? client_fail("exit status %d", code) : r;
}

/* The command must refuse the skill, and keep nothing of it. */
static int skills_verify(struct client *c)
{
    char dir[] = "/tmp/mcplug-conformance-XXXXXX";
    int code = -1;

    if (!mkdtemp(dir))
        return client_fail("%s: %s", dir, strerror(errno));
    int r = client_command(
        c, (const char *[]){"skill", "pdf-processing", "--output", dir, NULL}, &code);
    if (r == 0 && code != 4)
        r = client_fail("exit status %d, not 4", code);
    if (rmdir(dir) != 0)
        r = client_fail("%s: %s", dir, strerror(errno));
    return r;
}

static const struct scenario {
    const char *name;
    unsigned asks;
    int (*run)(struct client *c);
} scenarios[] = {
    {"initialize", 0, initialize},
    {"tools_call", 0, tools_call},
    {"elicitation-sep1034-client-defaults", ASKS_ELICIT, elicitation_defaults},
    {"sse-retry", 0, sse_retry},
    {"request-metadata", ASKS_ELICIT | ASKS_SAMPLE | ASKS_ROOTS, request_metadata},
    {"sep-2322-client-request-state", ASKS_ELICIT, request_state},
    {"http-standard-headers", 0, standard_headers},
    {"http-custom-headers", 0, custom_headers},
    {"http-invalid-tool-headers", 0, invalid_tool_headers},
    {"json-schema-ref-no-deref", 0, ref_no_deref},
    {"json-schema-2020-12-preservation", 0, schema_preservation},
    {"sep-2640-client-no-prefetch", RUNS_COMMAND, skills_no_prefetch},
    {"sep-2640-client-verify-digest", RUNS_COMMAND, skills_verify},
    {"sep-2640-client-verify-frontmatter", RUNS_COMMAND, skills_verify},
    {"sep-2640-client-verify-size", RUNS_COMMAND, skills_verify},
};

/* ---- the program ----------------------------------------------------------- */

static const struct scenario *find_scenario(const char *name)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenarios[i].name, name) == 0)
            return &scenarios[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const char *name = getenv("MCP_CONFORMANCE_SCENARIO");
    const char *context = getenv("MCP_CONFORMANCE_CONTEXT");
    struct client c = {0};

    if (argc < 2 || !name) {
        client_fail("usage: MCP_CONFORMANCE_SCENARIO=NAME %s URL", argv[0]);
        return 2;
    }
    const struct scenario *scenario = find_scenario(name);
    if (!scenario) {
        client_fail("no such scenario: %s", name);
        return 3;
    }
    if (context && !(c.context = json_loads(context, 0, NULL))) {
        client_fail("MCP_CONFORMANCE_CONTEXT is not JSON");
        return 2;
    }
    c.url = argv[argc - 1];
    int r = scenario->asks & RUNS_COMMAND ? 0 : client_open(&c, c.url, scenario->asks);
    if (r == 0)
        r = scenario->run(&c);
    client_close(&c);
    return r == 0 ? 0 : 1;
}
