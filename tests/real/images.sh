#!/bin/sh
# images.sh BUILDDIR: the converter of images against sharp, in a table. ROUNDS=5 compares
# processor times too, the best of five; that takes minutes.
set -eu
. "$(dirname "$0")/kit.sh"
suite=images
if [ ! -f "$build/plugins/.libs/image.so" ]; then
    echo "SKIP: $suite: the module image was not built"
    exit 0
fi
[ ! -f "$build/Makefile" ] || make -s -C "$build" tests/real/images >/dev/null

mkdir "$tmp/images"
"$node" "$src/tests/real/images.mjs" "$build/tests/real/images" \
    "$build/plugins/.libs/image.so" "$MCPLUG_HELPER_PATH" "$tmp/images" >"$tmp/out" 2>&1 ||
    wrong "$(tail -n 3 "$tmp/out")"
cat "$tmp/out"
verdict "every step and size is that of sharp${ROUNDS:+, and the time at most 1.2 of its}"
