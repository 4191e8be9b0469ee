#!/bin/sh
# big-results.sh BUILDDIR: results that are larger than memory should be: a text, a text
# that is JSON, one of Base64, and a blob, through the command and a toolbox. They are
# exact, the host stays small, and so does what reads the files that they are kept in. One
# line, PASS or FAIL, for each test. For run.sh. They have 64 MB; with BIG=1 it is 2 GB,
# and 500 MB of Base64, which takes 6 GB of disk.
set -u
. "${0%/*}/kit.sh"
suite='big results'
server=$build/bench/result-server
results=$build/bench/mcplug-results
if [ -n "${BIG-}" ]; then
    bytes=2000000000 data=500000000
else
    bytes=64000000 data=64000000
fi
host_kb=$((64 * 1024)) reader_kb=$((20 * 1024))
unset MAX_MCP_OUTPUT_TOKENS ENABLE_MCP_LARGE_OUTPUT_FILES
cd "$tmp" || exit 99
# Files of that size are not for a file system in memory.
if [ -n "${BIG-}" ] && [ "$(stat -f -c %T "$tmp")" = tmpfs ]; then
    echo "SKIP: $suite: $tmp is in memory; TMPDIR names another place"
    exit 0
fi

expected() { # TOOL BYTES: the checksum of such a text
    "$server" --expect "$1" "$2" | sha256sum
}
same() { # CHECKSUM FILE
    [ "$1" = "$(sha256sum <"$2")" ] || wrong "${2##*/} is not exact"
}
# below LIMIT FILE: the memory that the figures in a file have; they are added to $told
below() {
    kb=$(sed -n 's/.*"peak_kb":\([0-9]*\).*/\1/p' "$2")
    ms=$(sed -n 's/.*"ms":\([0-9]*\).*/\1/p' "$2")
    [ -n "$kb" ] && [ "$kb" -lt "$1" ] || wrong "${kb:-unknown} kB, not below $1: $(head -c 300 "$2")"
    told="$told${told:+, }$((${ms:-0} / 1000)).$((${ms:-0} % 1000 / 100)) s, $((${kb:-0} / 1024)) MB"
}
verdict_of() { # TEST: with what was told
    verdict "$1: $told"
    told=
}
told=
run() { # WORDS..: the command, its output in $tmp/out, its figures in $tmp/figures
    "$results" --run mcplug "$@" >"$tmp/out" 2>"$tmp/figures" </dev/null ||
        wrong "$*: $(head -c 300 "$tmp/figures")"
}

# ---- the command ----

text=$(expected text $bytes)
"$results" --run mcplug call text bytes=$bytes --raw -- "$server" 2>"$tmp/figures" | sha256sum >"$tmp/sum"
[ "$text" = "$(cat "$tmp/sum")" ] || wrong "the text is not exact"
below $host_kb "$tmp/figures"
verdict_of 'call prints a text'

run call --for-model text bytes=$bytes -- "$server"
below $host_kb "$tmp/figures"
path=$(sed -n 's/^Path: //p' "$tmp/out")
same "$text" "${path:-/dev/null}"
mcplug results rm --all >/dev/null
verdict_of 'call --for-model keeps a text'

blob=$("$server" --expect blob $data | base64 -d | sha256sum)
run call blob bytes=$data -o "$tmp/blob" -- "$server"
below $host_kb "$tmp/figures"
same "$blob" "$tmp/blob"
rm -f "$tmp/blob"
verdict_of 'call -o saves a blob'

run call --for-model blob bytes=$data -- "$server"
below $host_kb "$tmp/figures"
if [ $((data / 4 * 3)) -gt $((50 << 20)) ]; then
    grep -q 'Not saved: it has more than 50 MiB' "$tmp/out" || wrong "$(head -c 300 "$tmp/out")"
    [ -z "$(ls "$XDG_CACHE_HOME/mcplug/results")" ] || wrong "a part of it is left"
else
    same "$blob" "$(sed -n 's/^Saved to \(.*\) ([0-9]* bytes)\.$/\1/p' "$tmp/out")"
fi
mcplug results rm --all >/dev/null
verdict_of 'call --for-model of a blob'

# ---- a toolbox, twice over one connection, and a short call behind it ----

box() { # TOOL BYTES CHECKSUM
    "$results" -n 2 "$1" "$2" "$server" >"$tmp/figures" 2>&1 </dev/null || wrong "failed"
    below $host_kb "$tmp/figures"
    path=$(sed -n 's/.*"stored":"\([^"]*\)".*/\1/p' "$tmp/figures")
    same "$3" "${path:-/dev/null}"
}
box text $bytes "$text"
verdict_of 'a toolbox keeps texts, and the session goes on'
mcplug results rm --all >/dev/null
box base64 $data "$(expected base64 $data)"
mcplug results rm --all >/dev/null
verdict_of 'a toolbox keeps Base64, and the session goes on'

# ---- reading what is kept ----

run call --for-model json bytes=$bytes -- "$server"
below $host_kb "$tmp/figures"
path=$(sed -n 's/^Path: //p' "$tmp/out")
name=${path##*/}
same "$(expected json $bytes)" "${path:-/dev/null}"
case $name in *.json) ;; *) wrong "it is not known as JSON: $name" ;; esac
verdict_of 'call --for-model keeps JSON'

size=$(stat -c %s "$path")
last=$(tail -c 200 "$path" | sed -n 's/.*"id":\([0-9]*\).*/\1/p' | tail -n 1)
at=$((last - 1000000000 + 1))
run results show "$name" --path ".[$at].name"
[ "$(cat "$tmp/out")" = "\"item $last\"" ] || wrong "the last name: $(head -c 300 "$tmp/out")"
below $reader_kb "$tmp/figures"
verdict_of 'a path to the last element'
run results show "$name" --path '.[].id'
[ "$(wc -l <"$tmp/out") $(tail -n 1 "$tmp/out")" = "$((at + 1)) $last" ] || wrong "ids"
below $reader_kb "$tmp/figures"
verdict_of 'a path to every element'
run results grep "item $last" "$name"
grep -q "item $last" "$tmp/out" && [ "$(wc -l <"$tmp/out")" -eq 1 ] || wrong "$(head -c 300 "$tmp/out")"
below $reader_kb "$tmp/figures"
verdict_of 'a text at the end is found'
run results grep -i "ITEM $last" "$name"
below $reader_kb "$tmp/figures"
verdict_of 'the same in either case'
run results show "$name" --offset $((size - 10))
[ "$(cat "$tmp/out")" = "$(tail -c 10 "$path")" ] || wrong "the last bytes"
below $reader_kb "$tmp/figures"
verdict_of 'the last bytes'
mcplug results rm --all >/dev/null
