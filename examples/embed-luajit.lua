-- libmcplug in LuaJIT, by its FFI and without a callback into Lua: events are pulled.
--
--   luajit embed-luajit.lua COMMAND [ARGS..]
--
-- The server needs the tools `echo` and `sleep` of the example server. Where the library
-- is not installed, $LIBMCPLUG is its path.
local ffi = require "ffi"

-- What is used here of <mcplug/types.h> and <mcplug/mcplug.h>. Structs may end early: they
-- say how long they are.
ffi.cdef [[
typedef struct mcplug mcplug;
typedef struct mcplug_settings mcplug_settings;
typedef struct mcplug_server mcplug_server;
typedef struct mcplug_call mcplug_call;
typedef struct mcplug_result mcplug_result;
typedef struct mcplug_list mcplug_list;

struct mcplug_error {
    uint32_t struct_size; int32_t code, os_error, peer_status; char text[496];
};
struct mcplug_options {
    uint32_t struct_size; int32_t log_level; const char *client_name, *client_version;
    const char *const *plugin_dirs; const char *spill_dir; void *log, *log_arg;
    const char *const *user_plugin_dirs; const void *plugins;
    const char *helper_dir, *json; uint32_t events, reserved; void *free_arg;
};
struct mcplug_call_options {
    uint32_t struct_size, reserved; uint64_t timeout_ms;
};
enum { STATE, CHANGED, LOGGED, REMARK, PROGRESS, DONE, LOG };
struct mcplug_event {
    uint32_t struct_size, type; uint64_t dropped; const char *server; void *arg;
    mcplug_call *call; uint32_t state, kind; const char *text; size_t len;
    double progress, total; mcplug_result *result; mcplug_list *list;
    const struct mcplug_error *why;
};

mcplug *mcplug_new(const struct mcplug_options *options, struct mcplug_error *err);
void mcplug_free(mcplug *host);
const struct mcplug_event *mcplug_next_event(mcplug *host, int wait_ms);
mcplug_settings *mcplug_settings_new(const char *type);
void mcplug_settings_free(mcplug_settings *s);
int mcplug_settings_set(mcplug_settings *s, const char *name, const char *value);
int mcplug_settings_add(mcplug_settings *s, const char *name, const char *value);
int mcplug_open(mcplug *host, const mcplug_settings *settings, const void *options,
                void *ready, void *ready_arg, mcplug_server **out,
                struct mcplug_error *err);
mcplug_call *mcplug_call_tool(mcplug_server *server, const char *tool,
                              const char *arguments,
                              const struct mcplug_call_options *options, void *done,
                              void *arg, struct mcplug_error *err);
const char *mcplug_result_json(const mcplug_result *result, size_t *len);
const char *mcplug_state_name(int state);
const char *mcplug_error_name(int code);
]]
local lib = ffi.load(os.getenv "LIBMCPLUG" or "libmcplug.so.0")
local C = ffi.C

local function new(name)
    local s = ffi.new("struct " .. name)
    s.struct_size = ffi.sizeof(s)
    return s
end

local err = new "mcplug_error"

local function must(ok)
    if not ok or ok == ffi.NULL then
        io.stderr:write(ffi.string(err.text), "\n")
        os.exit(1)
    end
    return ok
end

local function open(host, command)
    local settings = lib.mcplug_settings_new "stdio"
    local server = ffi.new "mcplug_server *[1]"
    lib.mcplug_settings_set(settings, "command", command[1])
    for i = 2, #command do
        lib.mcplug_settings_add(settings, "args", command[i])
    end
    must(lib.mcplug_open(host, settings, nil, nil, nil, server, err) == 0)
    lib.mcplug_settings_free(settings)
    return server[0] -- closed with the host
end

if not arg[1] then
    io.stderr:write("usage: luajit ", arg[0], " COMMAND [ARGS..]\n")
    os.exit(2)
end

local options = new "mcplug_options"
options.events = bit.bor(bit.lshift(1, C.STATE), bit.lshift(1, C.DONE))
local host = must(lib.mcplug_new(options, err))
local server = open(host, arg)

-- Calls are known by a number, which their event brings back.
local waiting, made, running = {}, 0, 0

local function call(tool, arguments, timeout_ms, done)
    local o = new "mcplug_call_options"
    o.timeout_ms = timeout_ms
    made = made + 1
    must(lib.mcplug_call_tool(server, tool, arguments, o, nil,
                              ffi.cast("void *", made), err))
    waiting[made], running = done, running + 1
end

call("echo", '{"text":"hello"}', 0, function(result) print("echo", result) end)
call("sleep", '{"ms":60000}', 1000, function(_, why) print("sleep", why) end)

while running > 0 do
    local e = lib.mcplug_next_event(host, -1)
    if e.type == C.STATE then
        print(ffi.string(e.server), ffi.string(lib.mcplug_state_name(e.state)))
    elseif e.type == C.DONE then
        running = running - 1
        local done = waiting[tonumber(ffi.cast("intptr_t", e.arg))]
        if e.why ~= nil then
            done(nil, ffi.string(lib.mcplug_error_name(e.why.code)))
        else
            done(ffi.string(lib.mcplug_result_json(e.result, nil)))
        end
    end
end
lib.mcplug_free(host)
