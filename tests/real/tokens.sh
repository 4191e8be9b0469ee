#!/bin/sh
# tokens.sh BUILDDIR: our estimate of tokens against tokenizers of others, in a table.
set -eu
. "$(dirname "$0")/kit.sh"
suite=tokens
[ ! -f "$build/Makefile" ] || make -s -C "$build" tests/real/tokens >/dev/null

mkdir "$tmp/texts"
"$node" "$src/tests/real/tokens.mjs" "$build/tests/real/tokens" "$build/mcplug" "$src" \
    "$tmp/texts" >"$tmp/out" 2>&1 || wrong "$(tail -n 3 "$tmp/out")"
cat "$tmp/out"
verdict "estimates are within 10 % of o200k and Llama 3, and none is off by a quarter"
