#!/bin/sh
# build.sh SRCDIR OUTDIR: compiles the modules of the tests with $CC $CFLAGS.
#   wrong_NAME.so   wrong.c, once per `#define W_NAME` in it
#   unruly_NAME.so  unruly.c, once per `#define U_NAME` in it
#   asked_NAME.so  asked.c, once per `#define A_NAME` in it
#   converts_NAME.so  converts.c, once per `#define C_NAME` in it
#   other.so        good.c under another name
#   old.so          old.c with the headers of ABI 1.0
#   old_N.so        old_N.c with the headers of ABI 1.N
#   chain-*.so      chain.c: modules that use each other's services
#   needs*.so       needs.c: a library that lacks a function, and who needs it
#   NAME.so         every other NAME.c
# shellcheck disable=SC2086
set -eu

compile() { # NAME FLAGS.. FILE
    as=$1
    shift
    $CC $CFLAGS "$@" -I../../include -D_GNU_SOURCE -fPIC -shared -o "$out/$as.so"
}

umask 022 # files that others may write are not loaded
mkdir -p "$2"
chmod go-w "$2"
out=$(cd "$2" && pwd)
cd "$1/tests/modules"

for name in $(sed -n 's/^#define W_\([a-z_0-9]*\) .*/\1/p' wrong.c); do
    compile "wrong_$name" "-DWRONG=$name" wrong.c
done
for name in $(sed -n 's/^#define U_\([a-z_0-9]*\) .*/\1/p' unruly.c); do
    compile "unruly_$name" "-DUNRULY=$name" unruly.c
done
for name in $(sed -n 's/^#define A_\([a-z_0-9]*\) .*/\1/p' asked.c); do
    compile "asked_$name" "-DASKED=$name" asked.c
done
for name in $(sed -n 's/^#define C_\([a-z_0-9]*\) .*/\1/p' converts.c); do
    compile "converts_$name" "-DCONVERTS=$name" converts.c
done
for name in $(sed -n 's/^#define M_\([a-z_0-9]*\) .*/\1/p' models.c); do
    compile "models_$name" "-DMODELS=$name" models.c
done
compile other '-DGOOD_NAME="other"' '-DGOOD_FEATURE="mirror"' '-DGOOD_SCHEME="mirror"' good.c
compile old -Iabi-1.0 old.c
for file in old_*.c; do
    minor=${file#old_} minor=${minor%.c}
    compile "old_$minor" "-Iabi-1.$minor" "$file"
done
chain() { # NAME USES FLAGS..
    as=$1 uses=$2
    shift 2
    compile "$as" "-DCHAIN_NAME=\"$as\"" "-DCHAIN_USES=\"$uses\"" "$@" chain.c
}
chain chain-two chain
chain chain-three chain-two -DCHAIN_EARLY
chain chain-newer chain -DCHAIN_WANTS=2
chain chain-self chain-self
chain chain-lost chain-nowhere
chain chain-ping chain-pong
chain chain-pong chain-ping
chain chain-egg chain-hen -DCHAIN_EARLY
chain chain-hen chain-egg -DCHAIN_EARLY
compile needs_lib -DLIBRARY needs.c -Wl,-z,lazy
compile needs needs.c "$out/needs_lib.so"
compile needs_path needs.c "$out/needs_lib.so" -Wl,-rpath,/nowhere
for file in *.c; do
    case $file in
    wrong.c | unruly.c | asked.c | converts.c | models.c | needs.c | old.c | old_*.c) ;;
    *) compile "${file%.c}" "$file" ;;
    esac
done
