#!/bin/sh
# models-sdk.sh BUILDDIR: official SDKs against models/script.mjs, which plays the APIs of
# models, to show that it answers as these do; and against aimock, which others wrote.
set -eu
. "$(dirname "$0")/kit.sh"
suite=models-sdk

mkdir "$tmp/scripts"
for program in wire.mjs sdk.mjs aimock-check.mjs; do
    "$node" "$src/tests/real/models/$program" "$tmp/scripts" >"$tmp/out" 2>"$tmp/err" ||
        wrong "$(tail -n 3 "$tmp/err")"
    cat "$tmp/out"
    [ ! -s "$tmp/wrong" ] || verdict "$program runs to its end"
done
