#!/bin/sh
# converters.sh BUILDDIR [RUNS [KIND...]]: broken files for the converters image, html and
# pdf, through mcplug-worker. What it finds is kept in BUILDDIR/fuzz/converters. Needs
# ImageMagick. SEED=n makes other files. See converters.c.
set -eu
[ $# -ge 1 ] || { echo "usage: $0 BUILDDIR [RUNS [KIND...]]" >&2; exit 2; }
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
runs=${2:-1000}
shift; [ $# = 0 ] || shift
out=$build/fuzz/converters
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
mkdir -p "$out"
make -s -C "$build" tests/fuzz/converters >/dev/null
export MCPLUG_PLUGIN_PATH="$build/plugins/.libs" MCPLUG_HELPER_PATH="$build/helpers"

# ---- what the files are made of ----

cd "$tmp"
mkdir png jpeg gif webp pdf
convert -size 40x30 plasma:red-blue png/colour.png
convert png/colour.png -alpha set -channel A -evaluate set 50% png/alpha.png
convert png/colour.png -colors 16 png8:png/palette.png
convert png/colour.png -depth 16 png/deep.png
convert png/colour.png -interlace PNG png/interlaced.png
convert png/colour.png -monochrome png/bits.png
convert png/colour.png jpeg/colour.jpg
convert png/colour.png -colorspace Gray jpeg/grey.jpg
convert png/colour.png -colorspace CMYK jpeg/cmyk.jpg
convert png/colour.png -interlace JPEG jpeg/progressive.jpg
convert png/colour.png gif/still.gif
convert -delay 10 png/colour.png \( png/colour.png -negate \) gif/moving.gif
convert png/colour.png webp/lossy.webp
convert png/colour.png -define webp:lossless=true webp/lossless.webp
convert gif/moving.gif webp/moving.webp
text='BT /F1 12 Tf 20 100 Td (Hello World) Tj 0 -20 Td [(a) -200 (b)] TJ ET'
cat >pdf/plain.pdf <<END
%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>> endobj
4 0 obj <</Length ${#text}>> stream
$text
endstream endobj
5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj
trailer <</Root 1 0 R>>
END

# ---- the runs ----

failed=0
try() { # KIND MIME WANT FILE...
    case " ${kinds:-$1} " in *" $1 "*) ;; *) return 0 ;; esac
    mime=$2 want=$3
    shift 3
    "$build/tests/fuzz/converters" "$mime" "$want" "$runs" "${SEED:-1}" "$out" "$@" || failed=1
}
kinds=$*
try image image/png - png/*
try image image/jpeg - jpeg/*
try image image/gif - gif/*
try image image/webp - webp/*
try html text/html text/plain "$src"/tests/fuzz/corpus/html/*
try pdf application/pdf text/plain pdf/*
exit $failed
