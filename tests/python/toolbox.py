"""The toolbox as a binding sees it, against the example server."""
import ctypes
import json
import sys

from mcplug import M, Error, check, example_server, function, run


def settings():
    s = M.mcplug_settings_new(b"stdio")
    M.mcplug_settings_set(s, b"command", example_server())
    return s


class Box:
    """A host with a toolbox that has the example server, as "demo"."""

    def __init__(self):
        self.host = check(M.mcplug_new, None)
        self.box = check(M.mcplug_toolbox_new, self.host, None)
        s = settings()
        check(M.mcplug_toolbox_add, self.box, b"demo", s, None)
        M.mcplug_settings_free(s)

    def warm_up(self):
        seen = []

        @function(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        def done(_arg, _box, ready, failed):
            seen.append((ready, failed))
            M.mcplug_stop(self.host)

        check(M.mcplug_toolbox_warm_up, self.box, done, None)
        M.mcplug_run(self.host)
        assert seen == [(1, 0)], seen

    def call(self, name, arguments):
        record = M.struct("mcplug_record")
        seen = []

        @function(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(record))
        def done(_arg, _call, told):
            seen.append(json.loads(M.mcplug_record_json(told)))
            M.mcplug_stop(self.host)

        check(M.mcplug_toolbox_call, self.box, name, arguments, None, done, None)
        M.mcplug_run(self.host)
        return seen[0]

    def free(self):
        M.mcplug_free(self.host)


def the_tools_of_a_server_are_listed_and_called():
    box = Box()
    box.warm_up()
    names = [M.mcplug_toolbox_name(box.box, i)
             for i in range(M.mcplug_toolbox_count(box.box))]
    assert b"mcp__demo__add" in names, names
    told = box.call(b"mcp__demo__add", b'{"a":2,"b":40}')
    assert told["ok"] and json.loads(told["result"]) == {"sum": 42}, told
    box.free()


def a_tool_that_is_not_there_is_told_by_its_code():
    box = Box()
    try:
        box.call(b"nope", None)
    except Error as why:
        assert why.code == M.MCPLUG_ENOTSUP, why.code
    else:
        raise AssertionError("a tool that is not there was called")
    box.free()


def the_version_is_a_number_and_a_text():
    number = M.mcplug_version_number()
    parts = (number >> 16, number >> 8 & 255, number & 255)
    assert M.mcplug_version() == b"%d.%d.%d" % parts, (number, M.mcplug_version())
    assert parts == (M.MCPLUG_VERSION_MAJOR, M.MCPLUG_VERSION_MINOR,
                     M.MCPLUG_VERSION_PATCH), parts


sys.exit(run([
    the_version_is_a_number_and_a_text,
    the_tools_of_a_server_are_listed_and_called,
    a_tool_that_is_not_there_is_told_by_its_code,
]))
