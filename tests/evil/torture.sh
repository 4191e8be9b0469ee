#!/bin/sh
# Runs a session with the n-th allocation failing, for every n, once and from there on.
#   torture.sh [--shallow K] [--jobs J] TORTURE FAILALLOC_SO SERVER [ARGS..]
# --shallow K tries every K-th n, beginning at a place that moves from day to day.
# One line for each finding; exit 0: none.
set -u

shallow=1 jobs=4
while [ $# -gt 0 ]; do
    case $1 in
    --shallow) shallow=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    *) break ;;
    esac
done
[ $# -ge 3 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 64; }

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
TORTURE=$1 FAILALLOC=$2
shift 2
export TORTURE FAILALLOC dir

LD_PRELOAD=$FAILALLOC FAILALLOC_COUNT=$dir/count TORTURE_VERBOSE=1 "$TORTURE" "$@" || {
    echo "torture: not even a session without failures works (exit $?)"
    exit 1
}
count=$(cat "$dir/count")
first=$(($(date +%j | sed 's/^0*//') % shallow + 1))

# What one run made of it, in one word.
cat >"$dir/try" <<'END'
mode=$1 n=$2
shift 2
LD_PRELOAD=$FAILALLOC FAILALLOC_AT=$n FAILALLOC_MODE=$mode "$TORTURE" "$@" \
    >"$dir/out.$mode.$n" 2>&1
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
        xargs -P "$jobs" -I "{n}" sh "$dir/try" "$mode" "{n}" "$@" 2>/dev/null
done
sort -k1,1 -k2,2n "$dir/findings"
runs=$((2 * ((count - first) / shallow + 1)))
echo "torture: $count allocations, $runs runs, $(wc -l <"$dir/findings") findings"
[ ! -s "$dir/findings" ]
