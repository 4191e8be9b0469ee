"""Events that are pulled, as a binding does it: no callback runs in Python."""
import ctypes
import json
import select
import sys

from mcplug import M, Error, check, example_server, function, run


def bits(*names):
    return sum(1 << getattr(M, "MCPLUG_EVENT_" + name) for name in names)


class Host:
    """With the example server."""

    def __init__(self, *events):
        options = M.struct("mcplug_options")(events=bits(*events))
        self.host = check(M.mcplug_new, ctypes.byref(options))
        self.server = ctypes.c_void_p()

    def open(self):
        s = M.mcplug_settings_new(b"stdio")
        M.mcplug_settings_set(s, b"command", example_server())
        options = M.struct("mcplug_server_options")(name=b"demo", arg=7)
        check(M.mcplug_open, self.host, s, ctypes.byref(options), None, None,
              ctypes.byref(self.server))
        M.mcplug_settings_free(s)

    def call(self, tool, arguments, number, timeout_ms=0):
        options = M.struct("mcplug_call_options")(timeout_ms=timeout_ms)
        return check(M.mcplug_call_tool, self.server, tool,
                     json.dumps(arguments).encode(), ctypes.byref(options), None, number)

    def next(self, wait_ms=-1):
        event = M.mcplug_next_event(self.host, wait_ms)
        return M.struct("mcplug_event").from_address(event) if event else None

    def free(self):
        M.mcplug_free(self.host)


def text_of(event):
    return json.loads(M.mcplug_result_json(event.result, None))["content"][0]["text"]


def calls_end_as_events_with_their_number():
    host = Host("DONE")
    host.open()
    calls = {n: host.call(b"echo", {"text": f"number {n}"}, n) for n in range(1, 21)}
    for _ in range(20):
        event = host.next()
        assert event.type == M.MCPLUG_EVENT_DONE and not event.why
        assert event.call == calls.pop(event.arg)
        assert text_of(event) == f"number {event.arg}"
        assert ctypes.string_at(event.server) == b"demo"
    assert not calls and host.next(0) is None
    host.free()


def states_come_with_the_arg_of_the_server_and_before_the_end_of_a_call():
    host = Host("STATE", "DONE")
    host.open()
    host.call(b"echo", {"text": "x"}, 1)
    states = []
    while (event := host.next()).type == M.MCPLUG_EVENT_STATE:
        assert event.arg == 7
        states.append(M.mcplug_state_name(event.state))
    assert states == [b"starting", b"ready"], states
    host.free()


def a_listener_hears_how_calls_end_until_it_leaves():
    host = Host("DONE")
    host.open()
    heard = []

    @function(None, ctypes.c_void_p, ctypes.c_void_p)
    def on_activity(_arg, at):
        activity = M.struct("mcplug_activity").from_address(at)
        heard.append((M.mcplug_outcome_name(activity.outcome), activity.call))

    listener = M.mcplug_listen(host.host, M.MCPLUG_ACTIVITY_ENDED, M.MCPLUG_LOG_TRACE,
                               on_activity, None)
    for tool in (b"echo", b"no such tool"):
        host.call(tool, {"text": "x"}, 1)
        host.next()
    assert heard == [(b"ok", 1), (b"peer_error", 2)], heard
    M.mcplug_unlisten(listener)
    host.call(b"echo", {"text": "x"}, 1)
    host.next()
    assert len(heard) == 2, heard
    host.free()


def a_time_out_is_kept_by_watching_the_descriptor_alone():
    host = Host("DONE")
    host.open()
    host.call(b"sleep", {"ms": 60000}, 1, timeout_ms=300)
    poll = select.epoll()
    poll.register(M.mcplug_fd(host.host), select.EPOLLIN)
    event = None
    while not event:
        poll.poll()
        event = host.next(0)
    why = M.struct("mcplug_error").from_address(event.why)
    assert why.code == M.MCPLUG_ETIMEDOUT, why.text
    host.free()


def with_a_thread_of_the_library_this_one_pulls():
    host = Host("DONE")
    host.open()
    made = []

    @function(None, ctypes.c_void_p)
    def make(_arg):
        made.extend(host.call(b"echo", {"text": "x"}, n) for n in range(1, 101))

    check(M.mcplug_start_thread, host.host)
    assert M.mcplug_fd(host.host) == -1
    M.mcplug_post(host.host, make, None)
    seen = sorted(host.next().arg for _ in range(100))
    assert seen == list(range(1, 101)), seen
    assert host.next(20) is None
    host.free()


def a_call_needs_done_where_its_end_is_not_wanted():
    host = Host("STATE")
    host.open()
    try:
        host.call(b"echo", {}, 1)
        assert False
    except Error as why:
        assert why.code == M.MCPLUG_EINVAL, why
    host.free()


sys.exit(run([
    calls_end_as_events_with_their_number,
    states_come_with_the_arg_of_the_server_and_before_the_end_of_a_call,
    a_listener_hears_how_calls_end_until_it_leaves,
    a_time_out_is_kept_by_watching_the_descriptor_alone,
    with_a_thread_of_the_library_this_one_pulls,
    a_call_needs_done_where_its_end_is_not_wanted,
]))
