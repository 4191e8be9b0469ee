#!/bin/sh
# Runs a session with the n-th allocation failing, for every n, once and from there on.
#   torture.sh [--shallow K] [--jobs J] [--peer PEER] TORTURE FAILALLOC_SO SERVER [ARGS..]
# --shallow K tries every K-th n, beginning at a place that moves from day to day.
# --peer starts this program, which says its port, once for each job; SERVER is a URL
# then, with the word PORT in it.
# One line for each finding; exit 0: none.
set -u

shallow=1 jobs=4 peer=
while [ $# -gt 0 ]; do
    case $1 in
    --shallow) shallow=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --peer) peer=$2; shift 2 ;;
    *) break ;;
    esac
done
[ $# -ge 3 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 64; }

dir=$(mktemp -d) || exit 1
trap 'exec 9>&-; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
TORTURE=$1 FAILALLOC=$2
shift 2
export TORTURE FAILALLOC dir

# The peers run until nobody holds the other end of their stdin.
mkfifo "$dir/life" && exec 9<>"$dir/life" || exit 1
slot=0 waited=0
while [ -n "$peer" ] && [ $slot -lt "$jobs" ]; do
    "$peer" <"$dir/life" >"$dir/port.$slot" 9>&- &
    until [ -s "$dir/port.$slot" ]; do
        [ $((waited += 1)) -lt 100 ] || { echo "torture: $peer does not start"; exit 1; }
        sleep 0.05
    done
    slot=$((slot + 1))
done

# A session, in the environment given: run SERVER [ARGS..]
cat >"$dir/run" <<'END'
server=$1
shift
if [ -f "$dir/port.${SLOT:-0}" ]; then
    read -r port rest <"$dir/port.${SLOT:-0}"
    server=${server%%PORT*}$port${server#*PORT}
fi
LD_PRELOAD=$FAILALLOC exec "$TORTURE" "$server" "$@"
END

# How many there are depends a little on what happens first.
count=0
for _ in 1 2 3; do
    FAILALLOC_COUNT=$dir/count sh "$dir/run" "$@" 9>&- || {
        echo "torture: $1: not even a session without failures works (exit $?)"
        exit 1
    }
    read -r n <"$dir/count"
    [ "$n" -le "$count" ] || count=$n
done
first=$(($(date +%j | sed 's/^0*//') % shallow + 1))

# What one run made of it, in one word.
cat >"$dir/try" <<'END'
mode=$1 n=$2
shift 2
FAILALLOC_AT=$n FAILALLOC_MODE=$mode sh "$dir/run" "$@" >"$dir/out.$mode.$n" 2>&1
code=$?
case $code in
0) rm -f "$dir/out.$mode.$n"; exit 0 ;;
2) what="broken promise" ;;
3) what="memory left" ;;
4) what="descriptor left" ;;
5) what="process left" ;;
142) what=hung ;;
*) what="ended with $code" ;;
esac
echo "$mode $n: $what: $(tr '\n' ' ' <"$dir/out.$mode.$n" | cut -c1-200)" >>"$dir/findings"
END

: >"$dir/findings"
for mode in once forever; do
    seq "$first" "$shallow" "$count" |
        xargs --process-slot-var=SLOT -P "$jobs" -I "{n}" \
            sh "$dir/try" "$mode" "{n}" "$@" 2>/dev/null 9>&-
done
sort -k1,1 -k2,2n "$dir/findings"
runs=$((2 * ((count - first) / shallow + 1)))
echo "torture: $1: $count allocations, $runs runs, $(wc -l <"$dir/findings") findings"
[ ! -s "$dir/findings" ]
