# What tests of the command share; they read this file with `.`. It makes $dir, private
# places for everything that the command keeps, and notes in $failed that something did. What
# cannot be tried here is skipped, see lacks() and with(), and summary() says so.
# shellcheck shell=sh

# Whoever runs the tests may ignore signals, as nohup(1) does, and shells for what is in the
# background. A shell can't undo that.
if [ -z "${KIT_SIGNALS-}" ] && env --default-signal=HUP,INT,QUIT,TERM true 2>/dev/null; then
    KIT_SIGNALS=default exec env --default-signal=HUP,INT,QUIT,TERM \
        "$(readlink /proc/$$/exe)" "$0" "$@"
fi

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
: "${MCPLUG:=$MCPLUG_BUILD/mcplug}" "${SERVER:=$MCPLUG_BUILD/examples/mcplug-example-server}"
export HOME="$dir/home" XDG_CONFIG_HOME="$dir/home/config" XDG_STATE_HOME="$dir/home/state" \
    XDG_CACHE_HOME="$dir/home/cache"
export MCPLUG_PLUGIN_PATH="${MCPLUG_PLUGIN_PATH:-$MCPLUG_BUILD/plugins/.libs}"
export MCPLUG_HELPER_PATH="${MCPLUG_HELPER_PATH:-$MCPLUG_BUILD/helpers}"
export MCPLUG_MODULE_PACKAGES="${MCPLUG_MODULE_PACKAGES:-$MCPLUG_BUILD/conf/module-packages}"
mkdir -p "$HOME"
failed=0 checks=0 skipped='' there=''
settings=$XDG_CONFIG_HOME/mcplug/settings.json

wrong() { # MESSAGE
    failed=1
    : >"$dir/failed" # behind a pipe, $failed is that of another shell
    echo "FAIL: $*"
}

# has FILE TEXT: the text is part of it; with an empty text, it is empty.
has() {
    if [ -z "$2" ]; then [ ! -s "$1" ]; else grep -qF -e "$2" "$1"; fi
}

# expect CODE 'PART OF STDOUT' 'PART OF STDERR' COMMAND...: an empty part means that there
# is nothing at all, a single . that it does not matter.
expect() {
    code=$1 out=$2 err=$3
    shift 3
    checks=$((checks + 1))
    "$@" >"$dir/out" 2>"$dir/err" </dev/null
    got=$?
    why=
    [ $got -eq "$code" ] || why="exit code $got, not $code"
    [ "$out" = . ] || has "$dir/out" "$out" || why="$why; stdout is not \"$out\""
    [ "$err" = . ] || has "$dir/err" "$err" || why="$why; stderr is not \"$err\""
    [ -z "$why" ] && return
    wrong "$*: $why"
    sed 's/^/  out: /' "$dir/out"
    sed 's/^/  err: /' "$dir/err"
}

# m CODE OUT ERR WORDS...: the same with the command.
m() {
    code=$1 out=$2 err=$3
    shift 3
    expect "$code" "$out" "$err" "$MCPLUG" "$@"
}

# at_terminal ANSWER WORDS...: the command with a terminal, at which somebody types ANSWER
# when a question is shown, or, if that is no word, when anything is; what it shows goes to
# $dir/out, the exit code to $got.
at_terminal() {
    answer=$1
    shift
    line=
    for word; do
        line="$line '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"
    done
    rm -f "$dir/ended"
    : >"$dir/out"
    case $answer in [a-z]* | '') shown='\[y/N[/a]*\] ' ;; *) shown=. ;; esac
    {
        until [ -e "$dir/ended" ] || grep -q "$shown" "$dir/out"; do sleep 0.05; done
        printf '%s\n' "$answer"
        until [ -e "$dir/ended" ]; do sleep 0.05; done
    } | {
        script -qec "stty -echo; exec '$MCPLUG'$line" /dev/null >"$dir/out" 2>&1
        echo $? >"$dir/ended"
    }
    got=$(cat "$dir/ended")
}

servers() { # standard input: the members of mcpServers
    { printf '{"mcpServers":{\n' && cat && printf '}}\n'; } >"$settings"
}

script_of() { # NAME: standard input becomes a program
    cat >"$dir/$1" && chmod 755 "$dir/$1"
}

wait_for() { # COMMAND...: until it succeeds, for ten seconds
    checks=$((checks + 1))
    tries=0
    while ! "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || { wrong "it never came to: $*"; return 1; }
        sleep 0.05
    done
}

gone() { # FILE: none of the processes whose numbers it has is there
    while read -r pid; do
        kill -0 "$pid" 2>/dev/null && return 1
    done <"$1"
    return 0
}

same() { # FILE FILE WHAT
    checks=$((checks + 1))
    cmp -s "$1" "$2" || { wrong "$3"; diff "$1" "$2" | sed 's/^/  /'; }
}

lacks() { # THING COMMAND...: it is missing, as COMMAND says; asked once
    case "$there " in *" $1 "*) return 1 ;; esac
    case "$skipped " in *" $1 "*) return 0 ;; esac
    thing=$1
    shift
    if "$@" >/dev/null 2>&1; then
        there="$there $thing"
        return 1
    fi
    skipped="$skipped $thing"
}

with() { # TRANSPORT COMMAND...: unless no module offers it, as where none was built
    lacks "$1" "$MCPLUG" plugins "$1" && return
    shift
    "$@"
}

summary() {
    [ $failed = 0 ] && [ ! -e "$dir/failed" ] || exit 1
    [ $checks = 0 ] || echo "$checks checks passed"
    [ -z "$skipped" ] && exit 0
    echo "skipped what needs:$skipped"
    exit 77
}
