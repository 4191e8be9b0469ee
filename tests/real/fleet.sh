#!/bin/sh
# fleet.sh BUILDDIR: eight servers of four packages at once, in a toolbox and with the
# command, and what is known of them when none runs. One line, PASS or FAIL, for each test.
# For run.sh.
# shellcheck disable=SC2016
set -u
. "${0%/*}/kit.sh"
suite=fleet
mkdir -p "$XDG_CONFIG_HOME/mcplug" "$tmp/servers"
chmod -R go-w "$tmp"
cd "$tmp" || exit 99

figure() { sed -n "s/.*\\b$1=\\([0-9]*\\).*/\\1/p" "$tmp/figures"; }
# Everything that was started has our HOME; grep and this shell do not.
none_left() {
    for _ in $(seq 50); do
        left=$(env -i PATH="$PATH" grep -lsF "HOME=$tmp/home" /proc/[0-9]*/environ)
        [ -n "$left" ] || return
        sleep 0.1
    done
    wrong "left behind: $left"
}

# Each start leaves a line.
cat >"$tmp/start" <<END
#!/bin/sh
echo "\$*" >>"$tmp/started"
exec "\$@"
END
chmod +x "$tmp/start"
: >"$tmp/started"
"$node" "$src/bench/fleet-config.mjs" --only everything,filesystem,memory,thinking "$npm" \
    "$tmp/servers" 8 | "$node" -e '
        const file = JSON.parse(require("fs").readFileSync(0, "utf8"));
        for (const entry of Object.values(file.mcpServers)) {
            entry.args.unshift(entry.command);
            entry.command = process.argv[1];
        }
        console.log(JSON.stringify(file));' "$tmp/start" >"$settings"
starts() { wc -l <"$tmp/started"; }

# ---- in a toolbox ----

[ ! -f "$build/Makefile" ] || make -s -C "$build" bench/fleet >/dev/null
"$build/bench/fleet" --batch 8 "$settings" >"$tmp/figures" 2>"$tmp/err" ||
    wrong "exit code $?: $(tail -c 300 "$tmp/err")"
[ "$(figure servers),$(figure failed),$(figure left)" = 8,0,0 ] || wrong "$(cat "$tmp/figures")"
tools=$(figure tools)
[ "${tools:-0}" -gt 60 ] || wrong "$tools tools"
[ "$(figure helpers)" = 8 ] || wrong "$(figure helpers) helpers"
# With fifty of them it is 8 MB; sanitizers take more.
[ "$(figure rss_kb)" -lt 65536 ] || wrong "$(figure rss_kb) kB of memory"
[ "$(starts)" = 8 ] || wrong "$(starts) starts"
none_left
verdict 'eight servers are ready in a toolbox, each started once, and then all gone'

# ---- with the command ----

MCP_SERVER_CONNECTION_BATCH_SIZE=8 "$build/mcplug" list --json >"$tmp/out" 2>"$tmp/err" ||
    wrong "exit code $?: $(tail -c 300 "$tmp/err")"
counted=$("$node" -e '
    const { servers } = JSON.parse(require("fs").readFileSync(0, "utf8"));
    const up = servers.filter(({ state }) => state === "connected");
    console.log(up.length, up.reduce((sum, { tools }) => sum + tools, 0));' <"$tmp/out")
[ "$counted" = "8 $tools" ] || wrong "list: $counted, not 8 $tools"
none_left
verdict 'the command finds the same tools as the toolbox'

# ---- with none of them ----

: >"$tmp/started"
counted=$("$build/mcplug" tools --json | "$node" -e '
    const all = JSON.parse(require("fs").readFileSync(0, "utf8"));
    console.log(new Set(all.map(({ server }) => server)).size, all.length);')
[ "$counted" = "8 $tools" ] || wrong "tools: $counted, not 8 $tools"
"$build/mcplug" search read file >"$tmp/out" 2>&1 || wrong "search: exit code $?"
[ "$(grep -c 'read_text_file' "$tmp/out")" -ge 2 ] || wrong "search: $(head -c 300 "$tmp/out")"
"$node" "$src/bench/fleet-tools.mjs" "$build" "$npm" --queries >"$tmp/out" 2>&1 ||
    wrong "search_tools: $(tail -c 600 "$tmp/out")"
grep -q 'search_tools: [0-9]* queries' "$tmp/out" || wrong "search_tools: $(tail -c 300 "$tmp/out")"
"$build/mcplug" __complete 3 -- mcplug call memory-2 '' >"$tmp/out" 2>&1
grep -q '^create_entities' "$tmp/out" || wrong "completion: $(head -c 300 "$tmp/out")"
[ "$(starts)" = 0 ] || wrong "started: $(cat "$tmp/started")"
none_left
verdict 'their tools are listed, searched, also by models, and completed with no process started'
