#!/bin/sh
# run.sh SRCDIR OUTDIR SOURCE...: builds every tests/fuzz/fuzz_NAME.c with the SOURCEs, all
# instrumented, and runs each for $RUNS executions. Seeds are read from
# tests/fuzz/corpus/NAME, words from tests/fuzz/NAME.dict; what is found on the way is kept
# in OUTDIR/corpus/NAME, a failing input in OUTDIR. $ONLY: names of the ones wanted.
set -eu

src=$1 out=$2
shift 2
mkdir -p "$out"
out=$(cd "$out" && pwd)
flags="-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
jobs=$(getconf _NPROCESSORS_ONLN)

# ---- the sources, as one archive ----

export CC CPPFLAGS flags src out
if ! [ -f "$out/core.a" ] ||
    [ -n "$(find "$src/core" "$src/cli" "$src/plugins" "$src/include" -newer "$out/core.a" -name '*.[ch]')" ]; then
    rm -f "$out/core.a"
    printf '%s\n' "$@" | grep '\.c$' | xargs -P "$jobs" -I{} sh -c '
        object=$out/$(echo "{}" | tr / -).o
        eval "$CC $CPPFLAGS $flags -fsanitize=fuzzer-no-link -c \"\$src/{}\" -o \"\$object\""'
    ar cr "$out/core.a" "$out"/*.c.o
fi

# ---- the targets ----

names=
for file in "$src"/tests/fuzz/fuzz_*.c; do
    [ -f "$file" ] || continue
    name=$(basename "$file" .c)
    name=${name#fuzz_}
    case " ${ONLY:-$name} " in *" $name "*) ;; *) continue ;; esac
    names="$names $name"
    eval "$CC $CPPFLAGS $flags -fsanitize=fuzzer \"\$file\" -o \"\$out/fuzz_$name\"" \
        "\"\$out/core.a\" $LIBS"
done

failed=0
for name in $names; do
    mkdir -p "$out/corpus/$name"
    set -- "$out/corpus/$name"
    [ -d "$src/tests/fuzz/corpus/$name" ] && set -- "$@" "$src/tests/fuzz/corpus/$name"
    [ -f "$src/tests/fuzz/$name.dict" ] && set -- "$@" "-dict=$src/tests/fuzz/$name.dict"
    printf 'fuzz %s: ' "$name"
    if "$out/fuzz_$name" -runs="$RUNS" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$out/$name-" "$@" >"$out/$name.log" 2>&1; then
        echo "$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$name.log") executions, no finding"
    else
        echo "FAILED, see $out/$name.log"
        tail -40 "$out/$name.log"
        failed=$((failed + 1))
    fi
done
[ -n "$names" ] || echo "fuzz: no targets"
exit $((failed != 0))
