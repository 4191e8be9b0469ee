#!/bin/sh
# ssh.sh BUILDDIR: the locator ssh with OpenSSH, its client and a server of our own on
# loopback, which lets in whoever runs this, with a key made for it. One line, PASS or
# FAIL, for each test. For run.sh.
# shellcheck disable=SC2016
set -eu
[ $# = 1 ] || { echo "usage: $0 BUILDDIR" >&2; exit 2; }
build=$(cd "$1" && pwd)
mcplug=$build/mcplug server=$build/examples/mcplug-example-server
export MCPLUG_PLUGIN_PATH="${MCPLUG_PLUGIN_PATH:-$build/plugins/.libs}"
export MCPLUG_HELPER_PATH="${MCPLUG_HELPER_PATH:-$build/helpers}"
"$mcplug" plugins ssh >/dev/null 2>&1 || { echo "SKIP: ssh: not built"; exit 0; }
PATH="$PATH:/usr/sbin:/sbin"
for tool in ssh sshd ssh-keygen; do
    command -v $tool >/dev/null || { echo "FAIL: ssh: $tool is not installed"; exit 1; }
done

tmp=$(mktemp -d) && tmp=$(cd "$tmp" && pwd -P)
daemon=
trap '[ -z "$daemon" ] || kill $daemon; rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
export XDG_CONFIG_HOME="$tmp/config" XDG_STATE_HOME="$tmp/state" XDG_CACHE_HOME="$tmp/cache"
unset SSH_AUTH_SOCK SSH_ASKPASS DISPLAY
mkdir -p "$tmp/config/mcplug"
user=$(id -un)

# ---- the server ----

# As root it wants the directory that its service makes.
[ "$(id -u)" != 0 ] || mkdir -p -m 755 /run/sshd
for key in host user stranger; do
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$tmp/$key"
done
cp "$tmp/user.pub" "$tmp/authorized"
start() { # on some port that is free
    for port in $(seq $((20000 + $$ % 20000)) 97 60000 | head -n 20); do
        cat >"$tmp/sshd_config" <<END
ListenAddress 127.0.0.1
Port $port
HostKey $tmp/host
AuthorizedKeysFile $tmp/authorized
PidFile $tmp/sshd.pid
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
PrintMotd no
END
        rm -f "$tmp/sshd.pid"
        "$(command -v sshd)" -D -e -f "$tmp/sshd_config" 2>"$tmp/sshd.log" &
        daemon=$!
        for _ in $(seq 100); do
            [ ! -s "$tmp/sshd.pid" ] || return 0
            kill -0 $daemon 2>/dev/null || break
            sleep 0.1
        done
        kill $daemon 2>/dev/null || :
        wait $daemon || :
        daemon=
    done
    echo "FAIL: ssh: sshd does not start: $(cat "$tmp/sshd.log")"
    exit 1
}
start
echo "[127.0.0.1]:$port $(cut -d ' ' -f 1,2 "$tmp/host.pub")" >"$tmp/known"
: >"$tmp/known-none"

# ---- tests ----

cat >"$tmp/words" <<END
#!/bin/sh
printf '%s\0' "\$@" >"$tmp/told"
pwd >"$tmp/pwd"
echo \$\$ >"$tmp/pid"
exec "$server"
END
chmod 755 "$tmp/words"
mkdir "$tmp/far away"

# entry MEMBERS [ADDRESS]: "s" has these beside $command; ADDRESS instead of our server
command=$tmp/words
entry() {
    cat >"$tmp/config/mcplug/settings.json" <<END
{"mcpServers": {"s": {"type": "ssh", "command": "$command",
  ${2:-"\"host\": \"$user@127.0.0.1\", \"port\": $port, \"identityFile\": \"$tmp/user\",
  \"sshOptions\": [\"UserKnownHostsFile=$tmp/known\", \"GlobalKnownHostsFile=/dev/null\",
    \"IdentitiesOnly=yes\"]"}${1:+, $1}}}}
END
}
# judge NAME EXPECTED SAID: * stands for anything
judge() {
    # shellcheck disable=SC2254
    case $3 in
    $2) echo "PASS: ssh: $1" ;;
    *) echo "FAIL: ssh: $1 ($3)" | tr '\n' ' ' && echo ;;
    esac
}
call() { timeout 60 "$mcplug" "$@" 2>&1 </dev/null || echo "exit status $?"; }
gone() { # PID: within ten seconds
    for _ in $(seq 100); do
        kill -0 "$1" 2>/dev/null || { echo gone; return; }
        sleep 0.1
    done
    echo "$1 lives"
}

entry ''
judge 'a server is started, and answers' hello "$(call call s echo text=hello)"
judge 'it has ended with the connection' gone "$(gone "$(cat "$tmp/pid")")"
judge 'it starts in the home directory' "$(cd && pwd -P)" "$(cat "$tmp/pwd")"

entry '"args": ["it'\''s", "a b", "two\nlines", "$HOME `id` $(id)", "back\\slash\\", "",
  "ünïcødé ☃", "*", "~", "!x", "--", "\"q\"", "a=b", "#", "\t", "\u0001\u007f", "'\'\''"],
  "cwd": "'"$tmp/far away"'", "env": {"A": "it'\''s $HOME \"x\" \\ ünï", "EMPTY": ""}'
judge 'a variable arrives as it is' "it's \$HOME \"x\" \\\\ ünï" "$(call call s env name=A)"
judge 'an empty variable is set' '' "$(call call s env name=EMPTY)"
printf '%s\0' "it's" 'a b' 'two
lines' '$HOME `id` $(id)' 'back\slash\' '' 'ünïcødé ☃' '*' '~' '!x' '--' '"q"' 'a=b' \
    '#' '	' "$(printf '\001\177')" "''" >"$tmp/want"
judge 'words that need quoting arrive as they are' '' "$(cmp "$tmp/want" "$tmp/told" 2>&1)"
judge 'it starts in the directory that was asked for' "$tmp/far away" "$(cat "$tmp/pwd")"

entry ''
mkfifo "$tmp/hold"
"$mcplug" call s sleep ms=600000 >/dev/null 2>&1 <"$tmp/hold" &
host=$!
exec 9>"$tmp/hold"
rm -f "$tmp/pid"
for _ in $(seq 200); do [ ! -s "$tmp/pid" ] || break; sleep 0.1; done
sleep 0.5
kill -KILL $host
wait $host 2>/dev/null || :
exec 9>&-
judge 'it ends when the host is killed' gone "$(gone "$(cat "$tmp/pid")")"

entry '"cwd": "/no/such/dir"'
judge 'a directory that is not there is told of' '*/no/such/dir*exit status 3' \
    "$(call ping s)"
command=/no/such/program
entry ''
judge 'a program that is not there is told of' '*/no/such/program*exit status 3' \
    "$(call ping s)"

# ---- who is not let in ----
entry '' "\"host\": \"$user@127.0.0.1\", \"port\": $port, \"identityFile\": \"$tmp/user\",
  \"sshOptions\": [\"UserKnownHostsFile=$tmp/known-none\", \"GlobalKnownHostsFile=/dev/null\"]"
judge 'an unknown host key is told of, and nobody is asked' \
    '*Host key verification failed*exit status 3' "$(call ping s)"
entry '' "\"host\": \"$user@127.0.0.1\", \"port\": $port, \"identityFile\": \"$tmp/stranger\",
  \"sshOptions\": [\"UserKnownHostsFile=$tmp/known\", \"IdentitiesOnly=yes\"]"
judge 'a key that is not known there is told of, and no password asked for' \
    '*Permission denied*exit status 3' "$(call ping s)"
entry '' "\"host\": \"127.0.0.1\", \"port\": 1"
judge 'a port where nobody listens is told of' '*Connection refused*exit status 3' \
    "$(call ping s)"
entry '' "\"host\": \"127.0.0.1\", \"program\": \"no-such-ssh\""
judge 'a client that is not there is told of' '*"no-such-ssh": No such file*exit status 3' \
    "$(call ping s)"
