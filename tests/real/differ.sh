#!/bin/sh
# differ.sh BUILDDIR: our parsers against other people's. The documents are the same each
# time; DIFFER_SEED=n makes others, and an empty one takes them by chance and says which.
set -eu
. "$(dirname "$0")/kit.sh"
suite=differ
[ ! -f "$build/Makefile" ] || make -s -C "$build" tests/real/differ >/dev/null

against() { # KIND TEST
    "$node" "$src/tests/real/differ.mjs" "$build/tests/real/differ" "$1" \
        ${DIFFER_SEED-1} >"$tmp/out" 2>&1 || wrong "$(cat "$tmp/out")"
    verdict "$2"
}
against json "JSON is what JSON.parse says it is"
against url "an address leads where WHATWG and libcurl say it leads"
against sse "event streams have the events that eventsource-parser finds"
against args "arguments that were typed after a schema are valid for ajv"
