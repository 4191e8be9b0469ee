"""The toolbox as a binding sees it, against the example server."""
import ctypes
import json
import sys

from mcplug import M, Error, check, example_server, function, run


def settings(**members):
    s = M.mcplug_settings_new(None)
    entry = {"command": example_server().decode(), **members}
    check(M.mcplug_settings_json, s, json.dumps(entry).encode())
    return s


class Record:
    """Of one call."""

    def __init__(self, pointer):
        self.pointer = pointer
        self.json = json.loads(M.mcplug_record_json(pointer))
        self.ok = M.struct("mcplug_record").from_address(pointer).ok

    def drop(self):
        M.mcplug_record_unref(self.pointer)


class Box:
    """A host with a toolbox that has the example server, as "demo"."""

    def __init__(self):
        self.host = check(M.mcplug_new, None)
        self.box = check(M.mcplug_toolbox_new, self.host, None)
        s = settings()
        check(M.mcplug_toolbox_add, self.box, b"demo", s, None)
        M.mcplug_settings_free(s)

    def warm_up(self):
        ready, failed = ctypes.c_size_t(9), ctypes.c_size_t(9)
        check(M.mcplug_toolbox_warm_up_wait, self.box, ctypes.byref(ready),
              ctypes.byref(failed))
        assert (ready.value, failed.value) == (1, 0), (ready, failed)

    def call(self, name, arguments):
        record = ctypes.c_void_p()
        check(M.mcplug_toolbox_call_wait, self.box, name, arguments, None,
              ctypes.byref(record))
        return Record(record.value)

    def free(self):
        M.mcplug_free(self.host)


def the_tools_of_a_server_are_listed_and_called():
    box = Box()
    box.warm_up()
    names = [M.mcplug_toolbox_name(box.box, i)
             for i in range(M.mcplug_toolbox_count(box.box))]
    assert b"mcp__demo__add" in names, names
    told = box.call(b"mcp__demo__add", b'{"a":2,"b":40}')
    M.mcplug_toolbox_free_wait(box.box)
    box.free()
    assert told.ok and json.loads(told.json["result"]) == {"sum": 42}, told.json
    told.drop()


def a_record_may_be_kept_after_its_callback():
    box = Box()
    box.warm_up()
    seen = []

    @function(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    def done(_arg, _call, record):
        seen.append(M.mcplug_record_ref(record))
        M.mcplug_stop(box.host)

    check(M.mcplug_toolbox_call, box.box, b"mcp__demo__fail", b"{}", None, done, None)
    M.mcplug_run(box.host)
    box.free()
    told = Record(seen[0])
    assert not told.ok and told.json["kind"] == "mcp", told.json
    told.drop()


def a_server_can_be_removed():
    box = Box()
    box.warm_up()
    assert M.mcplug_toolbox_count(box.box) > 0
    seen = []

    @function(None, ctypes.c_void_p)
    def closed(arg):
        seen.append(arg)
        M.mcplug_stop(box.host)

    check(M.mcplug_toolbox_remove, box.box, b"demo", closed, 7)
    assert M.mcplug_toolbox_count(box.box) == 0
    M.mcplug_run(box.host)
    assert seen == [7], seen
    box.free()


def the_tools_are_ready_for_a_request_in_every_format():
    box = Box()
    box.warm_up()
    of = {}
    for name in ("MCP", "OPENAI", "OPENAI_RESPONSES", "ANTHROPIC"):
        length = ctypes.c_size_t()
        text = M.mcplug_toolbox_json(box.box, getattr(M, "MCPLUG_FORMAT_" + name),
                                     ctypes.byref(length))
        assert len(text) == length.value
        of[name] = json.loads(text)
        assert len(of[name]) == M.mcplug_toolbox_count(box.box), name
    for mcp, chat, responses, anthropic in zip(*of.values()):
        schema = mcp["inputSchema"]
        assert chat["type"] == responses["type"] == "function"
        plain = chat["function"]
        assert mcp["name"] == plain["name"] == responses["name"] == anthropic["name"]
        assert plain["parameters"] == responses["parameters"] == anthropic["input_schema"]
        assert plain["parameters"]["type"] == "object"
        assert plain["parameters"]["properties"] == schema.get("properties", {})
        assert plain["description"] == responses["description"] == anthropic["description"]
        assert responses["strict"] is False
        assert set(anthropic) == {"name", "description", "input_schema"}
    box.free()


def read_whole(result, size):
    cursor = M.struct("mcplug_cursor")()
    piece = ctypes.create_string_buffer(size)
    whole = b""
    while True:
        n = M.mcplug_result_read(result, ctypes.byref(cursor), piece, size)
        assert n >= 0, n
        if n == 0:
            return whole
        whole += piece.raw[:n]


def a_result_of_any_size_is_read_whole():
    host = check(M.mcplug_new, None)
    s = settings()
    options = M.struct("mcplug_server_options")(once=1, max_memory=1 << 20)
    server, result = ctypes.c_void_p(), ctypes.c_void_p()
    check(M.mcplug_open_wait, host, s, ctypes.byref(options), ctypes.byref(server))
    check(M.mcplug_call_tool_wait, server, b"big", b'{"bytes":5000000}', None,
          ctypes.byref(result))
    assert M.mcplug_result_spills(result) == 1
    for size in (1 << 16, 1 << 23):
        text = json.loads(read_whole(result, size))["content"][0]["text"]
        assert len(text) == 5000000, len(text)
    M.mcplug_result_unref(result)
    M.mcplug_settings_free(s)
    M.mcplug_free(host)


def parts_of(content):
    part = M.struct("mcplug_part")()
    parts = []
    while M.mcplug_rendering_part(content, len(parts), ctypes.byref(part)):
        text = ctypes.string_at(part.text, part.len)
        parts.append((part.kind, text, part.mime, part.tokens))
    return parts


def a_result_is_rendered_for_a_model():
    host = check(M.mcplug_new, None)
    s = settings()
    server = ctypes.c_void_p()
    check(M.mcplug_open_wait, host, s, None, ctypes.byref(server))
    kept = []
    for size in (4000, 5000000):
        result, content = ctypes.c_void_p(), ctypes.c_void_p()
        check(M.mcplug_call_tool_wait, server, b"big", b'{"bytes":%d}' % size, None,
              ctypes.byref(result))
        options = M.struct("mcplug_render_options")(max_tokens=1000, no_files=1, tail=25,
                                                    server=b"demo", tool=b"big")
        check(M.mcplug_render_wait, host, result, ctypes.byref(options),
              ctypes.byref(content))
        kept.append(M.mcplug_rendering_ref(content))
        M.mcplug_rendering_unref(content)
        M.mcplug_result_unref(result)
    M.mcplug_settings_free(s)
    M.mcplug_free(host)  # which they do not need
    for content, size in zip(kept, (4000, 5000000)):
        info = M.struct("mcplug_rendering_info")()
        M.mcplug_rendering_info(content, ctypes.byref(info))
        parts = parts_of(content)
        assert info.characters == size, info.characters
        assert info.stored is None and bool(info.is_cut) == (size > 4000), size
        assert info.tokens == sum(tokens for _, _, _, tokens in parts), info.tokens
        assert all(kind == M.MCPLUG_PART_TEXT and mime is None for kind, _, mime, _ in parts)
        text = b"\n".join(text for _, text, _, _ in parts)
        assert M.mcplug_rendering_text(content, None) == text
        assert (b"characters left out" in text) == (size > 4000), text[-400:]
        blocks = json.loads(M.mcplug_rendering_json(content, None))
        assert [b["text"].encode() for b in blocks] == [text for _, text, _, _ in parts]
        M.mcplug_rendering_unref(content)


def options_and_settings_are_json():
    options = M.struct("mcplug_options")(json=b'{"clientName":"snake"}')
    host = check(M.mcplug_new, ctypes.byref(options))
    box = check(M.mcplug_toolbox_new, host, None)
    s = settings(args=["--era", "modern"], env={"FROM_JSON": "yes"})
    kept = M.struct("mcplug_server_options")(json=b'{"toolsAllowed":["env","meta"]}')
    check(M.mcplug_toolbox_add, box, b"demo", s, ctypes.byref(kept))
    M.mcplug_settings_free(s)
    check(M.mcplug_toolbox_warm_up_wait, box, None, None)
    tools = json.loads(M.mcplug_toolbox_json(box, M.MCPLUG_FORMAT_MCP, None))
    names = [tool["name"] for tool in tools if tool["name"].startswith("mcp__")]
    assert names == ["mcp__demo__env", "mcp__demo__meta"], names
    for tool, arguments, wanted in ((b"env", b'{"name":"FROM_JSON"}', "yes"),
                                    (b"meta", b"{}", "snake")):
        record = ctypes.c_void_p()
        check(M.mcplug_toolbox_call_wait, box, b"mcp__demo__" + tool, arguments, None,
              ctypes.byref(record))
        told = Record(record.value)
        assert wanted in told.json["result"], told.json
        told.drop()
    M.mcplug_free(host)


def what_is_wrong_with_json_is_named():
    host = check(M.mcplug_new, None)
    s = settings()
    server = ctypes.c_void_p()
    kept = M.struct("mcplug_server_options")(json=b'{"timeout":5}')
    for call, args, wanted in (
            (M.mcplug_settings_json, (s, b'{"queue":"x"}'), "queue"),
            (M.mcplug_open_wait, (host, s, ctypes.byref(kept), ctypes.byref(server)),
             "timeouts"),
            (M.mcplug_new, (ctypes.byref(M.struct("mcplug_options")(json=b'{"x":1}')),),
             "clientName")):
        try:
            check(call, *args)
        except Error as why:
            assert why.code == M.MCPLUG_ECONFIG and wanted in str(why), why
        else:
            raise AssertionError("taken: " + wanted)
    M.mcplug_settings_free(s)
    M.mcplug_free(host)


def a_question_tells_the_call_it_belongs_to():
    host = check(M.mcplug_new, None)
    box = check(M.mcplug_toolbox_new, host, None)
    asked, ended = [], []

    @function(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p,
              ctypes.c_size_t)
    def elicit(_arg, _server, question, _params, _len):
        asked.append(M.mcplug_input_call(question))
        M.mcplug_input_answer(question, b'{"action":"accept","content":{"name":"Ann"}}')

    @function(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    def done(_arg, _call, record):
        ended.append(json.loads(M.mcplug_record_json(record))["result"])
        M.mcplug_stop(host)

    options = M.struct("mcplug_server_options")(elicit=elicit)
    s = settings(args=["--era", "modern"])
    check(M.mcplug_toolbox_add, box, b"demo", s, ctypes.byref(options))
    M.mcplug_settings_free(s)
    check(M.mcplug_toolbox_warm_up_wait, box, None, None)
    call = check(M.mcplug_toolbox_call, box, b"mcp__demo__ask_name", None, None, done, None)
    M.mcplug_run(host)
    assert asked == [call], (asked, call)
    assert "Hello, Ann" in ended[0], ended
    M.mcplug_free(host)


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
    a_record_may_be_kept_after_its_callback,
    a_server_can_be_removed,
    the_tools_are_ready_for_a_request_in_every_format,
    a_result_of_any_size_is_read_whole,
    a_result_is_rendered_for_a_model,
    options_and_settings_are_json,
    what_is_wrong_with_json_is_named,
    a_question_tells_the_call_it_belongs_to,
    a_tool_that_is_not_there_is_told_by_its_code,
]))
