# Commands that a manual shows, and whether they do what it says; tests read this file
# with `.`. They define wrong() MESSAGE, and same() FILE, which prints the file with
# everything evened out that differs from run to run.
# shellcheck shell=sh

# commands DIR PATTERN <TEXT: of blocks ```console, every command that matches as DIR/N.sh
# and what is shown behind it as DIR/N.out; lines that end with a backslash go on.
commands() {
    mkdir -p "$1" && awk -v dir="$1" -v pattern="$2" '
    /^```/ { inside = $0 == "```console"; file = ""; next }
    !inside { next }
    /^\$ / || more {
        if (!more) {
            sub(/^\$ /, "")
            name = sprintf("%s/%03d", dir, ++n)
            file = $0 ~ pattern ? name ".sh" : ""
        }
        more = /\\$/
        if (file) { print > file; printf "" > (name ".out") }
        next
    }
    file && $0 != "..." { print > (name ".out") }'
}

# follow DIR: runs what commands() found, in one shell, then compares.
follow() {
    cat >"$1/all" <<'END'
awaited() { # PORT or SOCKET: until somebody listens there, for 20 s at most
    for _ in $(seq 200); do
        case $1 in
        /*) [ ! -S "$1" ] || return 0 ;;
        *) ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || return 0 ;;
        esac
        sleep 0.1
    done
}
END
    for file in "$1"/*.sh; do
        [ -f "$file" ] || { wrong "no commands in ${1##*/}"; return; }
        one=${file%.sh}
        echo "{ $(cat "$file")"
        echo "} >$one.got 2>&1; echo \$? >$one.code; started=\"\$started \$!\""
        where=$(tr '\n' ' ' <"$file" |
            sed -nE 's/.*(PORT=|--port |--socket unix:)([^ ]+).*& *$/\2/p')
        [ -z "$where" ] || echo "awaited $where"
    done >>"$1/all"
    echo 'kill $started 2>/dev/null; true' >>"$1/all" # servers that nobody called
    timeout 90 bash "$1/all" </dev/null || wrong "${1##*/}: stuck or broken"
    for file in "$1"/*.sh; do
        one=${file%.sh}
        same "$one.got" >"$one.same"
        case $(head -n 1 "$one.out") in
        mcplug:* | FAIL*) fails=1 ;;
        *) fails=0 ;;
        esac
        [ "$(cat "$one.code")" = 0 ] && code=0 || code=1
        [ $code -eq $fails ] ||
            wrong "$(cat "$file"): exit code $(cat "$one.code"): $(cat "$one.got")"
        same "$one.out" | while IFS= read -r line; do
            grep -qxF -e "$line" "$one.same" || echo "$line"
        done >"$one.lacks"
        [ ! -s "$one.lacks" ] ||
            wrong "$(cat "$file"): not printed: $(cat "$one.lacks"): instead: $(cat "$one.got")"
    done
}
