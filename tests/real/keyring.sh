#!/bin/sh
# keyring.sh BUILDDIR: the module keyring with a real keyring, GNOME's, in sessions of
# their own. One line, PASS or FAIL, for each test. MCPLUG_TEST_LONG=1 adds those in which
# nobody answers, which take a minute each. For run.sh.
# shellcheck disable=SC2016
set -eu
[ $# = 1 ] || { echo "usage: $0 BUILDDIR" >&2; exit 2; }
build=$(cd "$1" && pwd)
vault=${MCPLUG_TEST_VAULT:-$build/tests/real/vault}
export MCPLUG_PLUGIN_PATH="${MCPLUG_PLUGIN_PATH:-$build/plugins/.libs}"
[ -f "$MCPLUG_PLUGIN_PATH/keyring.so" ] || { echo "SKIP: keyring: not built"; exit 0; }
for tool in dbus-run-session dbus-send gnome-keyring-daemon secret-tool; do
    command -v $tool >/dev/null || { echo "FAIL: keyring: $tool is not installed"; exit 1; }
done

tmp=$(mktemp -d) && tmp=$(cd "$tmp" && pwd -P)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
mkdir -m 700 "$tmp/home" "$tmp/run" "$tmp/data" "$tmp/services"
unset DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS GNOME_KEYRING_CONTROL
export HOME="$tmp/home" XDG_RUNTIME_DIR="$tmp/run" XDG_DATA_HOME="$tmp/data"
export XDG_CONFIG_HOME="$tmp/home" XDG_CACHE_HOME="$tmp/home" LC_ALL=C.UTF-8 vault tmp
export XDG_STATE_HOME="$tmp/home" MCPLUG_HELPER_PATH="${MCPLUG_HELPER_PATH:-$build/helpers}"
export PATH="$build:$build/examples:$PATH"

# ---- sessions ----

# A bus that starts no service but those of the directory services.
cat >"$tmp/bus.conf" <<END
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir=$tmp/run</listen>
  <servicedir>$tmp/services</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
  <limit name="service_start_timeout">120000</limit>
</busconfig>
END

cat >"$tmp/lib" <<'END'
pid_of() { # BUS NAME
    dbus-send --print-reply=literal --dest=org.freedesktop.DBus /org/freedesktop/DBus \
        org.freedesktop.DBus.GetConnectionUnixProcessID "string:$1" 2>/dev/null |
        awk '{ print $2 }'
}
awaited() { # until the keyring is there, 10 s at most
    for _ in $(seq 100); do
        [ -z "$(pid_of org.freedesktop.secrets)" ] || return 0
        sleep 0.1
    done
}
unlocked() { # a keyring, made when there is none
    printf 'the password' | gnome-keyring-daemon --unlock --components=secrets && awaited
}
locked() { gnome-keyring-daemon --start --components=secrets && awaited; }
ask() { "$vault" keyring "$@" || echo "exit status $?"; }
# store NAME [SERVICE] <SECRET
store() { secret-tool store --label="$1" service "${2:-mcplug}" name "$1"; }
END

# session CODE: runs it within a session of its own. What the programs around it say goes
# to $tmp/noise; some of them may live on for a while, and have the files open.
session() {
    timeout 120 dbus-run-session --config-file="$tmp/bus.conf" -- \
        sh -c '. "$tmp/lib"; '"$1" >"$tmp/out" 2>"$tmp/noise" </dev/null
}

# test_session NAME SECONDS EXPECTED CODE: within that time, CODE in a session prints EXPECTED,
# where * stands for anything.
test_session() {
    began=$(date +%s)
    session "$4" || : # some of them end it by force
    said=$(cat "$tmp/out")
    judge "$1" "$2" "$3"
}
judge() {
    took=$(($(date +%s) - began))
    # shellcheck disable=SC2254
    case $said in
    $3) [ $took -gt "$2" ] || { echo "PASS: keyring: $1"; return; } ;;
    esac
    echo "FAIL: keyring: $1 ($took s: $said; $(tail -c 400 "$tmp/noise"))" | tr '\n' ' '
    echo
}

# ---- secrets ----

test_session 'a secret that secret-tool stored is found, by its name alone' 10 \
    'token: s3cret \$(x) "y"
key: another
with newline: a line
my na*me/"1": odd' '
    unlocked
    printf "%s" "s3cret \$(x) \"y\"" | store token
    printf another | store key
    echo "a line" | store "with newline"
    printf odd | store "my naïve name/\"1\""
    ask token key "with newline" "my naïve name/\"1\""'
test_session 'a secret is still there in the next session, and so are changed ones' 10 \
    'key: changed' '
    unlocked
    printf changed | store key
    ask key'
test_session 'a secret that is not there is refused, and the message tells how to make one' \
    10 'absent: EREFUSED: keyring: there is no secret "absent" (create it with: secret-tool store *' '
    unlocked
    ask absent'
test_session "another program's secret of that name is not taken" 10 \
    'theirs: EREFUSED: keyring: there is no secret "theirs"*' '
    unlocked
    printf x | store theirs other
    ask theirs'
test_session 'what would not fit a header is refused' 10 \
    'two: ECONFIG: keyring: the secret "two" is not one line of UTF-8 text' '
    unlocked
    printf "a\nb" | store two
    ask two'
test_session 'eight at once, and signals, threads and descriptors are as before' 10 \
    'key: changed
key: changed
token: s3cret*
absent: EREFUSED: *
key: changed
key: changed
key: changed
key: changed
key: changed' '
    unlocked
    ask key key token absent key key key key key'

# ---- servers by name ----

mkdir -m 700 "$tmp/home/mcplug"
cat >"$tmp/home/mcplug/settings.json" <<END
{"mcpServers": {
  "mine": {"command": "mcplug-example-server", "env": {"TOKEN": "\${keyring:api token}"}},
  "lost": {"command": "mcplug-example-server", "env": {"TOKEN": "\${keyring:nowhere}"}}
}}
END
test_session "a server's variable is the secret, which is shown by nothing else" 20 \
    'env: s3cret-by-name
get: "TOKEN": "${keyring:api token}"
shown: 0
lost: exit status 3 for: *there is no secret "nowhere"*' '
    unlocked
    printf s3cret-by-name | store "api token"
    echo "env: $(mcplug call mine env name=TOKEN)"
    echo "get: $(mcplug get mine | grep -o "\"TOKEN\": \".*\"")"
    {
        mcplug get mine
        mcplug get mine --json
        mcplug list
        mcplug list --json
        mcplug config
        mcplug doctor
        mcplug tools mine -vv --log-file "$tmp/home/log"
        cat "$tmp/home/log" "$tmp/home/mcplug/settings.json"
        grep -r "" "$tmp/home/mcplug"
    } >"$tmp/shown" 2>&1
    echo "shown: $(grep -c s3cret-by-name "$tmp/shown")"
    why=$(mcplug call lost env name=TOKEN 2>&1) || echo "lost: exit status $? for: $why"'

# ---- nobody to ask ----

test_session 'a locked keyring without anybody to unlock it is refused' 10 \
    'key: EREFUSED: keyring: the keyring is locked, and was not unlocked for "key"
key: EREFUSED: *' '
    locked
    ask key key'
test_session 'a session without a keyring is refused' 10 \
    'key: EREFUSED: keyring: this desktop session has no keyring service, *' '
    ask key'
test_session 'nothing is written to stderr' 10 '' '
    ask key 2>&1 >/dev/null'

began=$(date +%s)
said=$(. "$tmp/lib" && DISPLAY=:77 ask key 2>&1)
judge 'without a session it is refused, and none is started' 5 \
    'key: EREFUSED: keyring: no desktop session here (no D-Bus session bus), *'
began=$(date +%s)
said=$(. "$tmp/lib" && DBUS_SESSION_BUS_ADDRESS="unix:path=$tmp/none" ask key 2>&1)
judge 'a session that is over is refused' 5 \
    'key: EREFUSED: keyring: the desktop session cannot be asked for "key": Could not *'

# A prompter that is started and never comes up.
cat >"$tmp/services/prompter.service" <<END
[D-BUS Service]
Name=org.gnome.keyring.SystemPrompter
Exec=/bin/sleep 30
END
test_session 'a session that ends while somebody is asked does not end the program' 20 \
    'key: EREFUSED: keyring: *' '
    locked
    bus=$(pid_of org.freedesktop.DBus)
    { sleep 2 && kill "$bus"; } &
    ask key'
if [ "${MCPLUG_TEST_LONG:-0}" = 1 ]; then
    test_session 'a prompt that never comes up is waited for, but not for ever' 60 \
        'key: E*: keyring: the keyring is locked, and was not unlocked for "key"*' '
        locked
        ask key'
    test_session 'a keyring that stops while somebody is asked is not waited for' 60 \
        'key: ETIMEDOUT: keyring: no answer for "key" within *' '
        locked
        daemon=$(pid_of org.freedesktop.secrets)
        { sleep 2 && kill -STOP "$daemon"; } &
        ask key
        kill -CONT "$daemon"'
fi
