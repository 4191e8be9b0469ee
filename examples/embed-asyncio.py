#!/usr/bin/env python3
"""libmcplug inside asyncio, by ctypes and without a callback into Python.

    python3 embed-asyncio.py COMMAND [ARGS..]

The loop watches one descriptor, which is readable for time-outs too, and pulls events.
The server needs the tools `echo` and `sleep` of the example server. Where the library is
not installed, $LIBMCPLUG is its path.
"""
import asyncio
import ctypes as c
import json
import os
import sys

LOG, DONE = 6, 5  # enum mcplug_event_type


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("code", c.c_int32),
                ("os_error", c.c_int32), ("peer_status", c.c_int32),
                ("text", c.c_char * 496)]

    def __init__(self):
        super().__init__(struct_size=c.sizeof(Error))


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("log_level", c.c_int32),
                ("client_name", c.c_char_p), ("client_version", c.c_char_p),
                ("plugin_dirs", c.c_void_p), ("spill_dir", c.c_char_p),
                ("log", c.c_void_p), ("log_arg", c.c_void_p),
                ("user_plugin_dirs", c.c_void_p), ("plugins", c.c_void_p),
                ("helper_dir", c.c_char_p), ("json", c.c_char_p),
                ("events", c.c_uint32), ("reserved", c.c_uint32),
                ("free_arg", c.c_void_p)]


class CallOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32),
                ("timeout_ms", c.c_uint64)]


class Event(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("type", c.c_uint32),
                ("dropped", c.c_uint64), ("server", c.c_char_p), ("arg", c.c_void_p),
                ("call", c.c_void_p), ("state", c.c_uint32), ("kind", c.c_uint32),
                ("text", c.c_char_p), ("len", c.c_size_t),
                ("progress", c.c_double), ("total", c.c_double),
                ("result", c.c_void_p), ("list", c.c_void_p), ("why", c.POINTER(Error))]


lib = c.CDLL(os.environ.get("LIBMCPLUG", "libmcplug.so.0"))
for name, result in (("mcplug_new", c.c_void_p), ("mcplug_settings_new", c.c_void_p),
                     ("mcplug_call_tool", c.c_void_p), ("mcplug_result_json", c.c_char_p),
                     ("mcplug_next_event", c.POINTER(Event))):
    getattr(lib, name).restype = result


class Failed(Exception):
    pass


class Host:
    """Calls are coroutines; each ends with an event that has its number."""

    def __init__(self):
        err = Error()
        options = Options(struct_size=c.sizeof(Options), log_level=1,
                          events=1 << DONE | 1 << LOG)
        self.host = c.c_void_p(lib.mcplug_new(c.byref(options), c.byref(err)))
        if not self.host:
            raise Failed(err.text.decode())
        self.calls, self.made = {}, 0
        self.fd = lib.mcplug_fd(self.host)
        asyncio.get_running_loop().add_reader(self.fd, self.turn)

    def close(self):
        asyncio.get_running_loop().remove_reader(self.fd)
        lib.mcplug_free(self.host)

    def turn(self):
        """Does what is due, without waiting, and hands out what came of it."""
        while event := lib.mcplug_next_event(self.host, 0):
            e = event.contents
            if e.type == LOG:
                print("log:", e.text.decode(), file=sys.stderr)
                continue
            future = self.calls.pop(e.arg)
            if future.done():  # nobody waits for it any more
                continue
            if e.why:
                future.set_exception(Failed(e.why.contents.text.decode()))
            else:
                text = lib.mcplug_result_json(c.c_void_p(e.result), None)
                future.set_result(json.loads(text))

    def open(self, command, *args):
        err, server = Error(), c.c_void_p()
        settings = c.c_void_p(lib.mcplug_settings_new(b"stdio"))
        lib.mcplug_settings_set(settings, b"command", command.encode())
        for arg in args:
            lib.mcplug_settings_add(settings, b"args", arg.encode())
        failed = lib.mcplug_open(self.host, settings, None, None, None, c.byref(server),
                                 c.byref(err))
        lib.mcplug_settings_free(settings)
        if failed:
            raise Failed(err.text.decode())
        return server  # it is started by the first call, and closed with the host

    async def call(self, server, tool, arguments, timeout_ms=0):
        err, number = Error(), self.made + 1
        options = CallOptions(struct_size=c.sizeof(CallOptions), timeout_ms=timeout_ms)
        if not lib.mcplug_call_tool(server, tool.encode(), json.dumps(arguments).encode(),
                                    c.byref(options), None, c.c_void_p(number),
                                    c.byref(err)):
            raise Failed(err.text.decode())
        self.made = number
        self.calls[number] = asyncio.get_running_loop().create_future()
        return await self.calls[number]


async def main(command):
    host = Host()
    try:
        server = host.open(*command)
        many = [host.call(server, "echo", {"text": f"hello {n}"}) for n in range(10)]
        for result in await asyncio.gather(*many):
            print(result["content"][0]["text"])
        try:
            await host.call(server, "sleep", {"ms": 60000}, timeout_ms=200)
        except Failed as why:
            print("failed:", why)
    finally:
        host.close()


if len(sys.argv) < 2:
    sys.exit(f"usage: {sys.argv[0]} COMMAND [ARGS..]")
asyncio.run(main(sys.argv[1:]))
