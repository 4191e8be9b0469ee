/* The tools of our own, which a model gets beside those of servers. */
#include "toolbox/toolbox.h"

const char *const mp_own_names[MP_OWN_TOOLS] = {"list-resources", "read-resource",
                                                "read_result", "search_result"};

#define RESULT                                                                           \
    "\"result\":{\"type\":\"string\",\"description\":\"The name of the file, or its "    \
    "path, as the answer that was too long named it.\"}"

const char *const mp_own_tools[MP_OWN_TOOLS] = {
    "{\"name\":\"list-resources\",\"description\":\"Lists the resources that servers "
    "have: for each the server, the URI, and its "
    "description.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"server\":{"
    "\"type\":\"string\",\"description\":\"Only resources of this "
    "server.\"}}},\"annotations\":{\"readOnlyHint\":true}}",
    "{\"name\":\"read-resource\",\"description\":\"Reads one resource of a "
    "server.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"server\":{\"type\":"
    "\"string\",\"description\":\"The name of the server, as list-resources shows "
    "it.\"},\"uri\":{\"type\":\"string\",\"description\":\"The URI of the "
    "resource.\"}},\"required\":[\"server\",\"uri\"]},\"annotations\":{\"readOnlyHint\":"
    "true}}",
    "{\"name\":\"read_result\",\"description\":\"Reads a part of a tool's result that "
    "was "
    "too long and was saved to a file: bytes of it, or with a path values of its JSON. "
    "Narrow the path, or go on at a later offset, for more.\",\"inputSchema\":{\"type\":"
    "\"object\",\"properties\":{" RESULT
    ",\"path\":{\"type\":\"string\",\"description\":\"Of JSON: .items[3].name, "
    ".items[0:10], .items[].id, .[\\\"a key\\\"]\"},\"offset\":{\"type\":\"integer\","
    "\"minimum\":0,\"description\":\"The first byte to read of the file, or of what the "
    "path leads to.\"},\"length\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
    "\"How many bytes.\"}},\"required\":[\"result\"]},\"annotations\":{\"readOnlyHint\":"
    "true}}",
    "{\"name\":\"search_result\",\"description\":\"Finds text in a tool's result that "
    "was "
    "too long and was saved to a file. Each match comes with its line, the line's number "
    "and its offset, which read_result takes.\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{" RESULT
    ",\"text\":{\"type\":\"string\",\"description\":\"What to find: plain text, no "
    "pattern.\"},\"ignore_case\":{\"type\":\"boolean\"},\"offset\":{\"type\":\"integer\","
    "\"minimum\":0,\"description\":\"The byte to begin at.\"}},\"required\":[\"result\","
    "\"text\"]},\"annotations\":{\"readOnlyHint\":true}}",
};
