#!/bin/sh
# docs.sh BUILDDIR: what doc/transports.md shows is what happens, with the servers that it
# names, as package.json has them. One line, PASS or FAIL, for each section. For run.sh.
# shellcheck disable=SC2016
set -eu
. "${0%/*}/kit.sh"
. "$src/tests/install/console.sh"
suite=doc/transports.md
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME

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
export PATH="$tmp/bin:$PATH" CLAUDE_CONFIG_DIR="$tmp/config" HOME="$tmp/home/me" TMPDIR="$tmp"
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
    follow "$dir" 9>&-
    verdict "$section"
done
exec 9>&-
