#!/bin/sh
# podman.sh BUILDDIR: the locator docker with podman, and an image that has the example
# server and nothing else. One line, PASS or FAIL, for each test; SKIP where this machine
# can't run containers. For run.sh.
set -eu
[ $# = 1 ] || { echo "usage: $0 BUILDDIR" >&2; exit 2; }
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
mcplug=$build/mcplug
export MCPLUG_PLUGIN_PATH="${MCPLUG_PLUGIN_PATH:-$build/plugins/.libs}"
export MCPLUG_HELPER_PATH="${MCPLUG_HELPER_PATH:-$build/helpers}"
"$mcplug" plugins docker >/dev/null 2>&1 || { echo "SKIP: docker: not built"; exit 0; }
command -v podman >/dev/null || { echo "SKIP: docker: podman is not installed"; exit 0; }

image=localhost/mcplug-test-$$
tmp=$(mktemp -d) && tmp=$(cd "$tmp" && pwd -P)
trap 'podman rmi -f "$image" >/dev/null 2>&1; rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
export XDG_CONFIG_HOME="$tmp/config" XDG_STATE_HOME="$tmp/state" XDG_CACHE_HOME="$tmp/cache"
mkdir -p "$tmp/config/mcplug" "$tmp/root/tmp" "$tmp/shared"

"${CC:-cc}" -static -D_GNU_SOURCE -I"$src/include" -o "$tmp/root/server" \
    "$src"/examples/server/*.c -ljansson -lm 2>"$tmp/log" ||
    { echo "SKIP: docker: no static server: $(grep -m 1 error "$tmp/log")"; exit 0; }
tar -C "$tmp/root" -cf "$tmp/root.tar" .
podman import "$tmp/root.tar" "$image" >"$tmp/log" 2>&1 &&
    podman run --rm --init -- "$image" /server --help >"$tmp/log" 2>&1 || {
    echo "SKIP: docker: podman can't run a container here: $(tail -n 1 "$tmp/log")"
    exit 0
}

cat >"$tmp/config/mcplug/settings.json" <<END
{"mcpServers": {"s": {"type": "docker", "program": "podman", "image": "$image",
  "args": ["/server"], "env": {"A": "it's \$HOME"}, "network": "none",
  "mounts": ["$tmp/shared:/shared:ro"]}}}
END
judge() { # NAME EXPECTED SAID
    if [ "$2" = "$3" ]; then echo "PASS: docker: $1"; else echo "FAIL: docker: $1 ($3)"; fi
}
call() { timeout 60 "$mcplug" "$@" 2>&1 </dev/null || echo "exit status $?"; }
containers() { podman ps -a --filter "ancestor=$image" --format '{{.Names}}'; }
none_left() { # within twenty seconds
    for _ in $(seq 100); do
        [ -n "$(containers)" ] || { echo none; return; }
        sleep 0.2
    done
    containers
}

judge 'a server in a container answers' hello "$(call call s echo text=hello)"
judge 'its variables are those of the entry' "it's \$HOME" "$(call call s env name=A)"
judge 'its container goes with it' none "$(none_left)"
mkfifo "$tmp/hold"
"$mcplug" call s sleep ms=600000 >/dev/null 2>&1 <"$tmp/hold" &
host=$!
exec 9>"$tmp/hold"
for _ in $(seq 100); do [ -z "$(containers)" ] || break; sleep 0.2; done
judge 'its container has a name of ours' mcplug "$(containers | sed 's/-[0-9a-f]\{16\}$//')"
kill -KILL $host
wait $host 2>/dev/null || :
exec 9>&-
judge 'its container goes when the host is killed' none "$(none_left)"
