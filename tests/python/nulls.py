"""NULL for each pointer that a public function takes, one at a time, all else being valid.

The functions are read from the headers, so that one that is added later is tried, too.
None may crash; what is not optional is refused with MCPLUG_EINVAL, NULL or, where a
function answers a question, no. Each runs in a child, which the next one goes on in.

Each is also called with all that is valid in a child of fork(), where those that are about
a host are refused in the same way, and the parent's host goes on.
"""
import ctypes
import json
import os
import re
import signal
import sys

from mcplug import M, check, example_server

# What may be NULL: of every function, of some, and whole functions, which then do nothing.
OPTIONAL = {"err", "why", "arg", "ready_arg", "options", "closed", "freed", "ready",
            "failed"}
OPTIONAL_IN = {
    "mcplug_settings_new": {"type"},
    "mcplug_call_tool": {"arguments"},
    "mcplug_request": {"params"},
    "mcplug_call_tool_wait": {"arguments", "out"},
    "mcplug_request_wait": {"params", "out"},
    "mcplug_subscribe": {"done"},
    "mcplug_unsubscribe": {"done"},
    "mcplug_result_json": {"len"},
    "mcplug_list_item": {"len"},
    "mcplug_input_refuse": {"message"},
    "mcplug_toolbox_call": {"name", "arguments"},
    "mcplug_toolbox_call_wait": {"name", "arguments", "out"},
    "mcplug_toolbox_warm_up": {"done"},
    "mcplug_toolbox_tool": {"len"},
    "mcplug_toolbox_json": {"len"},
    "mcplug_toolbox_find": {"server", "tool"},
    "mcplug_batch_size": {"wrong"},
    "mcplug_entry_add": {"file"},
    "mcplug_approvals_reset": {"name", "forgotten"},
    "mcplug_approvals_reset_all": {"forgotten"},
    "mcplug_json_check": {"line", "column"},
    "mcplug_expand": {"expansion"},
    "mcplug_spill_place": {"own"},
    "mcplug_entry_find_tool": {"tools"},  # a list without items
    "mcplug_rendering_text": {"len"},
    "mcplug_lint_tool": {"len"},
    "mcplug_rendering_json": {"len"},
    "mcplug_converted_data": {"len"},
    "mcplug_stored_each": {"dir"},
    "mcplug_stored_read": {"dir", "size"},
    "mcplug_stored_select": {"dir", "count"},
    "mcplug_stored_search": {"dir"},
    "mcplug_stored_remove": {"dir"},
}
# What they return instead of MCPLUG_EINVAL.
REFUSALS = {
    "mcplug_fd": -1, "mcplug_timeout": -1, "mcplug_list_find": -1,
    "mcplug_entry_find_tool": M.MCPLUG_TOOL_NONE,
    "mcplug_config_check": M.MCPLUG_ENTRY_NONE, "mcplug_entry_state": M.MCPLUG_ENTRY_NONE,
    "mcplug_result_answer": M.MCPLUG_ANSWER_UNKNOWN,
    "mcplug_config_count": 0, "mcplug_result_spills": 0, "mcplug_list_count": 0,
    "mcplug_toolbox_count": 0, "mcplug_result_is_error": 0, "mcplug_toolbox_find": 0,
    "mcplug_scope_find": 0, "mcplug_config_file": 0, "mcplug_config_problem_info": 0,
    "mcplug_entry_allows": 0, "mcplug_tool_matches": 0, "mcplug_config_key": 0,
    "mcplug_name_is_telling": 0, "mcplug_entry_prefix": 0, "mcplug_modules_get": 0,
    "mcplug_known_info": 0, "mcplug_block_next": 0, "mcplug_activity_text": 0,
    "mcplug_lint_finding": 0, "mcplug_activity_concerns": 0, "mcplug_rendering_part": 0, "mcplug_estimate_tokens": 0,
}
# Not tried with everything valid: it would not return, returns -1, or what it is about is
# not there.
WITHOUT_ALL = {"mcplug_run", "mcplug_timeout", "mcplug_result_spill",
               "mcplug_result_spill_read", "mcplug_result_spill_fd",
               "mcplug_result_write_string",
               "mcplug_block_write", "mcplug_entry_add", "mcplug_entry_remove",
               "mcplug_entry_disable", "mcplug_entry_enable", "mcplug_stored_read",
               "mcplug_stored_select", "mcplug_stored_search", "mcplug_stored_remove",
               "mcplug_convert", "mcplug_convert_wait"}
# What a child of fork() may do: these look at memory alone.
FORKED = {"mcplug_free", "mcplug_server_name", "mcplug_modules_new", "mcplug_listen",
          "mcplug_unlisten", "mcplug_activity_concerns", "mcplug_activity_text"}
HOSTS = {"mcplug*", "mcplug_server*", "mcplug_toolbox*", "mcplug_input*"}
# One that has something wrong with it.
TOOLS = b'[{"name":"x","inputSchema":{"anyOf":[{"type":"object"}]}}]'
# Texts that mean something; other names get the one below.
TEXTS = {
    "type": b"stdio", "tool": b"echo", "arguments": b'{"text":"x"}', "params": b"{}",
    "method": b"prompts/list", "json": b'{"command":"x"}', "entry": b'{"command":"x"}',
    "uri": b"demo://one", "result": b'{"action":"decline"}', "module": b"stdio",
    "pattern": b"e*", "text": b"plain",
}
TEXTS_IN = {
    ("mcplug_toolbox_call", "name"): b"mcp__demo__echo",
    ("mcplug_toolbox_call_wait", "name"): b"mcp__demo__echo",
    ("mcplug_toolbox_add", "name"): b"other",
    ("mcplug_toolbox_add_named", "name"): b"filed",
    ("mcplug_entry_add", "name"): b"fresh",
    ("mcplug_entry_check_new", "name"): b"fresh",
    ("mcplug_scope_find", "name"): b"user",
    ("mcplug_server_fact", "name"): b"pid",
    ("mcplug_entry_find_tool", "name"): b"mcp__filed__echo",
    ("mcplug_entry_find_qualified", "name"): b"mcp__filed__echo",
    ("mcplug_name_is_telling", "name"): b"API_KEY",
    ("mcplug_list_find", "name"): b"echo",
    ("mcplug_lint_new", "provider"): b"anthropic",
    ("mcplug_lint_new", "tools"): TOOLS,
}


FORK = -1  # in place of the number of a parameter


def functions():
    """Of each its result, its name, and its parameters as (type, name)."""
    for result, name, words in re.findall(
            r"MCPLUG_API\s+([^;()]*?)\b(mcplug_\w+)\s*\((.*?)\);", M.text, re.S):
        words = re.sub(r"\w+\s*\(\*(\w+)\)\s*\([^()]*\)", r"callback_fn *\1", words)
        parameters = [re.match(r"(.*?)(\w+)(\[\w+\])?$", " ".join(one.split())).groups()
                      for one in words.split(",") if one.strip() != "void"]
        yield " ".join(result.split()), name, [
            ((kind.replace("const ", "").strip() + ("*" if size else "")).replace(" ", ""),
             parameter) for kind, parameter, size in parameters]


class World:
    """What functions are about. It is built as it is asked for, once for each case."""

    def __init__(self):
        self.kept = []
        self.made = {}
        self.question = None

    def get(self, what):
        if what not in self.made:
            self.made[what] = getattr(self, what)()
        return self.made[what]

    def keep(self, value):
        self.kept.append(value)
        return value

    def callback(self, result=None):
        return ctypes.cast(self.keep(ctypes.CFUNCTYPE(result)(
            lambda: None if result is None else 1)), ctypes.c_void_p).value

    def host(self):
        return check(M.mcplug_new, None)

    def settings(self):
        s = M.mcplug_settings_new(b"stdio")
        M.mcplug_settings_set(s, b"command", example_server())
        return s

    def server(self):
        def on_question(_arg, _server, question, _params, _len):
            self.question = self.question or question

        handler = self.keep(ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
            ctypes.c_size_t)(on_question))
        options = self.keep(M.struct("mcplug_server_options")(elicit=handler))
        out = ctypes.c_void_p()
        check(M.mcplug_open_wait, self.get("host"), self.get("settings"),
              ctypes.byref(options), ctypes.byref(out))
        return out.value

    def call(self):
        return M.mcplug_call_ref(check(
            M.mcplug_call_tool, self.get("server"), b"sleep", b'{"ms":60000}', None,
            self.callback(), None))

    def input(self):
        check(M.mcplug_call_tool, self.get("server"), b"ask_name", None, None,
              self.callback(), None)
        while not self.question:
            M.mcplug_turn(self.get("host"), 1)
        return self.question

    def result(self):
        out = ctypes.c_void_p()
        check(M.mcplug_call_tool_wait, self.get("server"), b"echo", b'{"text":"x"}', None,
              ctypes.byref(out))
        return out.value

    def list(self):
        out = ctypes.c_void_p()
        check(M.mcplug_get_list_wait, self.get("server"), M.MCPLUG_TOOLS, None,
              ctypes.byref(out))
        return out.value

    def toolbox(self):
        box = check(M.mcplug_toolbox_new, self.get("host"), None)
        check(M.mcplug_toolbox_add, box, b"demo", self.get("settings"), None)
        check(M.mcplug_toolbox_warm_up_wait, box, None, None)
        return box

    def record(self):
        out = ctypes.c_void_p()
        check(M.mcplug_toolbox_call_wait, self.get("toolbox"), b"mcp__demo__echo",
              b'{"text":"x"}', None, ctypes.byref(out))
        return out.value

    def rendering(self):
        out = ctypes.c_void_p()
        check(M.mcplug_render_wait, self.get("host"), self.get("result"), None,
              ctypes.byref(out))
        return out.value

    def converted(self):
        out = ctypes.c_void_p()
        where = ctypes.create_string_buffer(os.environb[b"MCPLUG_TEST_MODULES"])
        dirs = (ctypes.c_void_p * 2)(ctypes.addressof(where), None)
        host = check(M.mcplug_new, ctypes.byref(M.struct("mcplug_options")(plugin_dirs=dirs)))
        options = M.struct("mcplug_convert_options")(mime=b"x-test/trial", want=b"text/plain")
        check(M.mcplug_convert_wait, host, b"x", 1, ctypes.byref(options), ctypes.byref(out))
        M.mcplug_free(host)
        return out.value

    def config(self):
        entry = {"command": example_server().decode(), "env": {"A": "${MCPLUG_NOT_SET}"}}
        text = self.keep(ctypes.create_string_buffer(
            json.dumps({"mcpServers": {"filed": entry}}).encode()))
        more = self.keep((ctypes.c_void_p * 2)(ctypes.addressof(text), None))
        options = self.keep(M.struct("mcplug_config_options")(more=more))
        return check(M.mcplug_config_load, ctypes.byref(options))

    def entry(self):
        return M.mcplug_entry_find(self.get("config"), b"filed")

    def known(self):
        out = ctypes.c_void_p()
        check(M.mcplug_open_named_wait, self.get("host"), self.get("config"), b"filed",
              None, ctypes.byref(out))
        while not (known := M.mcplug_known_new(self.get("entry"))):
            M.mcplug_turn(self.get("host"), 1)
        return known

    def lint(self):
        out = ctypes.c_void_p()
        check(M.mcplug_lint_new, b"anthropic", b"server", TOOLS, len(TOOLS),
              ctypes.byref(out))
        return out.value

    def modules(self):
        return check(M.mcplug_modules_new, self.get("host"))

    def listener(self):
        return M.mcplug_listen(self.get("host"), M.MCPLUG_ACTIVITY_ALL, 3,
                               self.callback(), None)

    def filled(self, name):
        """A struct that is to be filled, or begins as this."""
        if name == "mcplug_bytes":
            text = self.keep(ctypes.create_string_buffer(b'[{"type":"text","text":"x"}]'))
            size, rest = ctypes.sizeof(text) - 1, (ctypes.c_size_t * 2)()
            rest[:] = ctypes.addressof(text), size
            return self.keep(rest)
        if name == "mcplug_block":
            return self.keep((ctypes.c_uint32 * 64)(64 * 4))
        return self.keep(M.struct(name)())

    def value(self, function, kind, name, size):
        """A valid argument; of `size` the text is that long."""
        if kind == "void*" and name in OPTIONAL:
            return None
        if kind in ("void*", "int*", "size_t*", "uint64_t*", "char**", "enummcplug_scope*") or \
                kind.endswith("**") or (kind == "char*" and name == "out"):
            return ctypes.cast(self.keep(ctypes.create_string_buffer(1 << 16)),
                               ctypes.c_void_p).value
        if kind == "char*":
            text = TEXTS_IN.get((function, name), TEXTS.get(name, b"filed"))
            size.append(len(text))
            if function == "mcplug_text_free":
                place = M.so["mcplug_spill_place"]
                place.restype = ctypes.c_void_p
                return place(ctypes.c_size_t(0), None)
            return self.keep(ctypes.create_string_buffer(text)).value
        if kind.endswith("_fn*"):
            return self.callback(ctypes.c_int if name in ("write",) or
                                 function == "mcplug_packages_each" else None)
        if kind == "mcplug*":
            return self.get("host")
        if kind.startswith("struct"):
            name = kind[6:-1]
            if name == "mcplug_record":
                return self.get("record")
            return ctypes.cast(ctypes.pointer(self.filled(name)), ctypes.c_void_p).value
        return self.get(kind[len("mcplug_"):-1])

    def end(self, function):
        if "host" in self.made and function != "mcplug_free":
            M.mcplug_free(self.made["host"])



def is_pointer(kind):
    return kind.endswith("*")


def cases():
    for result, name, parameters in functions():
        for i, (kind, _) in enumerate(parameters):
            if is_pointer(kind):
                yield result, name, parameters, i
        if name not in WITHOUT_ALL:
            yield result, name, parameters, None
        if any(kind in HOSTS for kind, _ in parameters) and name not in FORKED:
            yield result, name, parameters, FORK


def refused(result, name, returned):
    """What is wrong with that, when it should have been; or None."""
    if result == "void":
        return None
    if "*" in result:
        return None if returned is None else "it returns a pointer"
    wanted = REFUSALS.get(name, M.MCPLUG_EINVAL)
    return None if returned == wanted else f"it returns {returned}, expected {wanted}"


def in_child(world, function):
    """What function() returns in a child of fork(), and what became of the parent."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        wrong = function()
        M.mcplug_free(world.get("host"))
        os._exit(1 if wrong else 0)
    _, status = os.waitpid(child, 0)
    out = ctypes.c_void_p()
    check(M.mcplug_call_tool_wait, world.get("server"), b"echo", b'{"text":"x"}', None,
          ctypes.byref(out))
    M.mcplug_result_unref(out)
    return f"after fork() it is not refused: {status:#x}" if status else None


def call(world, case, event=None):
    """Makes the call; what is wrong with what it returns, or None."""
    result, name, parameters, null = case
    function, sizes, values = M.so[name], [], []  # one whose arguments are not checked
    function.restype = getattr(M, name).restype
    for i, (kind, parameter) in enumerate(parameters):
        if null != FORK and i == null:
            values.append(ctypes.c_void_p(None))
        elif event and kind == "structmcplug_activity*":
            values.append(ctypes.c_void_p(event))
        elif is_pointer(kind):
            value = world.value(name, kind, parameter, sizes)
            values.append(value if isinstance(value, bytes) else ctypes.c_void_p(value))
        elif kind == "size_t" and parameter in ("len", "size"):
            values.append(ctypes.c_size_t(sizes[-1] if sizes else 4096))
        elif kind in ("size_t", "uint64_t"):
            values.append(ctypes.c_size_t(0))
        elif kind == "enummcplug_kind" or kind == "uint32_t":
            values.append(ctypes.c_uint(1))
        elif kind == "enummcplug_scope":
            values.append(ctypes.c_uint(M.MCPLUG_SCOPE_USER))
        else:
            values.append(ctypes.c_uint(0))
    if null == FORK:
        return in_child(world, lambda: refused(result, name, function(*values)))
    returned = function(*values)
    if null is None:  # so that it was the NULL that was refused, elsewhere
        return "it is refused" if returned == M.MCPLUG_EINVAL and result == "int" else None
    parameter = parameters[null][1]
    optional = parameter in OPTIONAL or parameter in OPTIONAL_IN.get(name, ())
    if optional or name == "mcplug_batch_size":
        return None
    return refused(result, name, returned)


def run_case(case):
    world = World()
    if any(kind == "structmcplug_activity*" for kind, _ in case[2]) and \
            (case[3] in (None, FORK) or case[2][case[3]][0] != "structmcplug_activity*"):
        found = []  # an event is valid inside of its listener

        def on_event(_arg, event):
            if not found:
                found.append(call(world, case, event))

        listener = world.keep(ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
            on_event))
        world.get("server")
        M.mcplug_listen(world.get("host"), M.MCPLUG_ACTIVITY_ALL, 3,
                        ctypes.cast(listener, ctypes.c_void_p), None)
        check(M.mcplug_ping_wait, world.get("server"), None)
        wrong = found[0]
    else:
        wrong = call(world, case)
    world.end(case[1])
    return wrong


def shown(case):
    if case[3] == FORK:
        return f"{case[1]} after fork()"
    null = "nothing" if case[3] is None else case[2][case[3]][1]
    return f"{case[1]}: {null} NULL"


def main():
    everything, first, failed = list(cases()), 0, 0
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    everything = [case for case in everything if only in case[1]]
    while first < len(everything):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            for i, case in enumerate(everything[first:], first):
                os.write(writer, f"{i}\n".encode())
                signal.alarm(30)
                try:
                    wrong = run_case(case)
                except Exception as why:  # pylint: disable=broad-except
                    wrong = f"the test itself fails: {why!r}"
                if wrong:
                    os.write(writer, f"{i} {wrong}\n".encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as lines:
            told = [line.split(None, 1) for line in lines]
        _, status = os.waitpid(child, 0)
        for line in told:
            if len(line) > 1 and line[1].strip():
                print("failed", shown(everything[int(line[0])]) + ":", line[1].strip())
                failed += 1
        last = int(told[-1][0]) if told else first
        if os.WIFSIGNALED(status):
            print("failed", shown(everything[last]) + ": signal", os.WTERMSIG(status))
            failed += 1
        first = last + 1
    print(len(everything) - failed, "passed,", failed, "failed")
    return 1 if failed or not everything else 0


sys.exit(main())
