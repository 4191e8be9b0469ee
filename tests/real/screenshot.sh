#!/bin/sh
# screenshot.sh BUILDDIR: pages of a browser, as @playwright/mcp has Debian's chromium draw
# them: what a model gets, what is saved, and what a terminal shows, which must be what the
# command chafa draws. One line, PASS or FAIL, for each test. For run.sh.
set -u
. "${0%/*}/kit.sh"
suite=screenshot
chromium=$(command -v chromium) || {
    echo "SKIP: $suite: chromium is not installed"
    exit 0
}
for module in image chafa; do
    if [ ! -f "$build/plugins/.libs/$module.so" ]; then
        echo "SKIP: $suite: the module $module was not built"
        exit 0
    fi
done
mkdir -p "$XDG_CONFIG_HOME/mcplug" "$tmp/server"
cd "$tmp" || exit 99
unset MAX_MCP_OUTPUT_TOKENS ENABLE_MCP_LARGE_OUTPUT_FILES
unset NO_COLOR COLORTERM TERM_PROGRAM LC_TERMINAL

# ---- the pages, and a server for each, which opens it ----

cat >"$tmp/long.html" <<'END'
<!doctype html><meta charset="utf-8"><title>long</title>
<style>
body { margin: 0; width: 1280px; height: 3000px; overflow-x: hidden; font: 20px sans-serif;
    background: linear-gradient(#ffe, #369) }
p { margin: 0 40px; height: 50px }
</style>
<script>
for (let i = 1; i <= 60; i++)
    document.body.append(Object.assign(document.createElement("p"),
        { textContent: `Line ${i} of sixty, and some words that make it longer.` }));
</script>
END
cat >"$tmp/noise.html" <<'END'
<!doctype html><meta charset="utf-8"><title>noise</title>
<style>body { margin: 0 } canvas { display: block }</style>
<canvas width="1280" height="1800"></canvas>
<script>
const canvas = document.querySelector("canvas"), to = canvas.getContext("2d");
const pixels = to.createImageData(canvas.width, canvas.height), { data } = pixels;
for (let i = 0, n = 1; i < data.length; i++) {
    n = (Math.imul(n, 1664525) + 1013904223) | 0;
    data[i] = i % 4 == 3 ? 255 : n >>> 24;
}
to.putImageData(pixels, 0, 0);
</script>
END
cat >"$tmp/open.cjs" <<'END'
exports.default = ({ page }) => page.goto(process.env.PAGE);
END

server() { # NAME: an entry
    printf '"%s":{"command":"%s","env":{"PAGE":"file://%s","TMPDIR":"%s"},"args":["%s"' \
        "$1" "$node" "$tmp/$1.html" "$tmp/server" "$npm/node_modules/@playwright/mcp/cli.js"
    printf ',"%s"' --headless --isolated --no-sandbox --executable-path "$chromium" \
        --allow-unrestricted-file-access --init-page "$tmp/open.cjs" \
        --output-dir "$tmp/out" --viewport-size 1280x800
    printf ']}'
}
printf '{"mcpServers":{%s,%s}}' "$(server long)" "$(server noise)" >"$settings"

# ---- what a model gets ----

# shoot COMMAND..: what is printed is in $tmp/exact; the server's own file is $file
shoot() {
    rm -rf "$tmp/out"
    began=$(date +%s%N)
    "$@" >"$tmp/exact" 2>"$tmp/err" </dev/null ||
        wrong "$*: exit code $?: $(tail -c 300 "$tmp/err")"
    seconds=$(awk -v ns="$(($(date +%s%N) - began))" 'BEGIN { printf "%.1f", ns / 1e9 }')
    set -- "$tmp"/out/page-*
    file=$1
    [ $# = 1 ] && [ -f "$file" ] || wrong "the server has not made one file: $*"
}
call() { # PAGE WORDS..
    page=$1
    shift
    shoot mcplug call "$page" browser_take_screenshot scale=css --timeout 60s "$@"
}
# look FILE: "FORMAT WIDTH HEIGHT BYTES" of an image that can be decoded whole
look() {
    (cd "$npm" && "$node" -e '
        const sharp = require("sharp"), [, file] = process.argv;
        const image = sharp(file, { failOn: "warning" });
        image.metadata().then(async ({ format, width, height }) => {
            await image.raw().toBuffer();
            console.log(format, width, height, require("fs").statSync(file).size);
        });
    ' "$1" 2>/dev/null) || echo 'none 0 0 0'
}
# model FORMAT WIDTH HEIGHT PAGE WORDS..: what a model gets, which is put into $tmp/model
model() {
    expected="$1 $2 $3"
    shift 3
    call "$@" --for-model --json
    "$node" -e '
        const parts = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const images = parts.filter((p) => p.type == "image");
        if (images.length != 1 || !/^image\/(png|jpeg|gif|webp)$/.test(images[0].mimeType))
            process.exit(1);
        process.stdout.write(Buffer.from(images[0].data, "base64"));
    ' <"$tmp/exact" >"$tmp/model" 2>/dev/null ||
        wrong "$page: no image for a model: $(head -c 300 "$tmp/exact")"
    was=$(look "$file")
    got=$(look "$tmp/model")
    echo "$page: $was, a model gets $got ($seconds s)"
    [ "${got% *}" = "$expected" ] || wrong "$page: $was is $got, not $expected"
    [ "${got##* }" -le 3932160 ] || wrong "$page: too many bytes: $got"
}

model png 853 2000 long fullPage=true
[ "${was% *}" = 'png 1280 3000' ] || wrong "the page is $was, so this test sees nothing"
verdict 'a page of 3000 pixels is 2000 high for a model'

model png 1280 1800 noise fullPage=true
[ "${was##* }" -gt 3932160 ] || wrong "the page is $was, so this test sees nothing"
verdict 'a page of 7 MB has fewer colours for a model'

model jpeg 1280 800 noise type=jpeg
cmp -s "$file" "$tmp/model" || wrong "a model gets another image"
verdict 'a page within the limits is given as it is'

ENABLE_MCP_LARGE_OUTPUT_FILES=0
export ENABLE_MCP_LARGE_OUTPUT_FILES
model jpeg 284 400 noise fullPage=true --max-tokens 1500
[ "${got##* }" -le 4500 ] || wrong "three quarters of 1500 tokens are left, not $got"
unset ENABLE_MCP_LARGE_OUTPUT_FILES
verdict 'where few tokens are left, a page is as small as they are'

# ---- what is saved, and drawn ----

call long fullPage=true -o "$tmp/saved/"
cmp -s "$file" "$tmp/saved/image-1.png" || wrong "what is saved is another: $(ls "$tmp/saved")"
call noise fullPage=true -o "$tmp/saved.png"
cmp -s "$file" "$tmp/saved.png" || wrong "what is saved is another"
verdict 'a page is saved exactly'

# A terminal of 80 x 60 cells has 640 x 640 pixels for an image: 40 rows, two thirds.
terminal() { python3 "$src/tests/real/terminal.py" "$@"; } # ANSWER COMMAND..
# Below its note, and above what the command says last.
drawing() { perl -0777 -ne 'print $1 if /\[image\/png, \d+ bytes\]\n(.*?)\n+(mcplug: [^\n]*\n)*\z/s'; }

# ours ANSWER BEGINS: what `call` draws, which begins so, is in $tmp/ours. Where the machine
# is so busy that the terminal does not answer in time, once more.
ours() {
    for _ in 1 2 3 4 5; do
        shoot terminal "$1" mcplug call long browser_take_screenshot scale=css fullPage=true \
            --no-progress --timeout 60s
        drawing <"$tmp/exact" >"$tmp/ours"
        case $(head -c 8 "$tmp/ours") in "$2"*) return ;; esac
    done
    wrong "it is not drawn as the terminal takes it: $(head -c 40 "$tmp/ours" | od -An -c)"
}
# theirs FORMAT COLUMNSxROWS: what the command chafa draws of the same pixels
theirs() {
    rm -f "$tmp/pam" "$tmp/pixels.png"
    mcplug convert "$file" --to image/x-portable-arbitrarymap --max-side 640 -o "$tmp/pam" \
        2>"$tmp/err" || wrong "no pixels: $(cat "$tmp/err")"
    (cd "$npm" && "$node" -e '
        const sharp = require("sharp"), [, from, to] = process.argv;
        const pam = require("fs").readFileSync(from), end = pam.indexOf("ENDHDR\n") + 7;
        const n = (name) => +pam.toString("latin1", 0, end).match(name + " ([0-9]+)")[1];
        sharp(pam.subarray(end), { raw: { width: n("WIDTH"), height: n("HEIGHT"),
            channels: n("DEPTH") } }).png().toFile(to);
    ' "$tmp/pam" "$tmp/pixels.png" 2>/dev/null) || wrong "no PNG of the pixels"
    # shellcheck disable=SC2016
    terminal '' env -i PATH="$PATH" sh -c 'exec chafa -f "$1" -c full -s "$2" --stretch \
        --threads 1 "$3" >"$4"' sh "$1" "$2" "$tmp/pixels.png" "$tmp/raw" >"$tmp/err" ||
        wrong "chafa: $(cat "$tmp/err")"
    perl -0777 -pe 's/\n+\z//' "$tmp/raw" >"$tmp/theirs"
}
same() { # WHAT
    echo "$1: $(stat -c %s "$tmp/ours") bytes ($seconds s)"
    cmp -s "$tmp/ours" "$tmp/theirs" ||
        wrong "$1: $(stat -c %s "$tmp/ours") bytes, of chafa $(stat -c %s "$tmp/theirs")"
}

if ! chafa --version 2>/dev/null | grep -q 'version 1\.1[2-9]' || ! command -v python3 >/dev/null; then
    echo "SKIP: $suite: chafa 1.12 and python3 are not installed, so nothing is drawn"
else
    escape=$(printf '\033')
    ours "${escape}_Gi=31;OK$escape\\$escape[?62;4c" "${escape}_Ga=T"
    cells=$(sed -nE '1s/.*,c=([0-9]+),r=([0-9]+),.*/\1x\2/p' "$tmp/ours" | head -n 1)
    [ "$cells" = 34x40 ] || wrong "it has the cells $cells"
    theirs kitty "$cells"
    same kitty
    verdict 'Kitty is shown what chafa draws'
    ours "$escape[?62;4c" "${escape}P"
    theirs sixels "$cells"
    same sixel
    verdict 'a terminal with sixels is shown what chafa draws'
fi

# ---- what stays ----

# Processes of the servers; the browser is no child of ours.
left() { grep -lzsFx -e "TMPDIR=$tmp/server" /proc/[0-9]*/environ; }
n=0
while left >"$tmp/left" && [ $n -lt 100 ]; do
    sleep 0.1
    n=$((n + 1))
done
[ ! -s "$tmp/left" ] || wrong "$(cat "$tmp/left")"
verdict 'no browser is left'
