#!/bin/sh
# html.sh BUILDDIR: real documents as text, by our converter and by w3m. Nearly every word
# that w3m shows must be in our text, in the same order. HTML_DOCS="FILE.." compares those
# instead of what is installed.
set -eu
HOME_WAS=$HOME
. "$(dirname "$0")/kit.sh"
suite=html
if ! command -v w3m >/dev/null; then
    echo "SKIP: html: w3m is not installed"
    exit 0
fi
[ ! -f "$build/Makefile" ] || make -s -C "$build" tests/real/document >/dev/null

# The largest document of each package or book, so that not all are from one hand.
documents() {
    find /usr/share/doc "${RUSTUP_HOME:-$HOME_WAS/.rustup}"/toolchains/stable*/share/doc/rust/html \
        -name '*.html' -size +7k -size -1000k -printf '%s\t%p\n' 2>/dev/null | sort -rn |
        awk -F '\t' '{ hand = $2; sub(/.*\/doc\/(rust\/html\/)?/, "", hand); sub(/\/.*/, "", hand)
            if (!seen[hand]++) print $2 }' | head -n "${HTML_COUNT:-20}"
}

# Words, one on each line, and characters of scripts without spaces; not the addresses of
# links, which w3m does not show.
words() { perl -CSD -ne 'print "$&\n" while /[\p{Han}\p{Hiragana}\p{Katakana}]|(?:(?![\p{Han}\p{Hiragana}\p{Katakana}])[\p{L}\p{N}])+/g'; }
ours() { perl -CSD -pe 's/^Title: .*// if $. == 1; s/\]\([^)\s]*\)/] /g; s/\[(image|field|button|choice)(?=[:\]])/[/g'; }

n=0
for file in ${HTML_DOCS:-$(documents)}; do
    if ! "$build/tests/real/document" html text/html "$file" >"$tmp/ours" 2>"$tmp/said"; then
        wrong "$file: $(tail -n 1 "$tmp/said")"
        continue
    fi
    w3m -dump -cols 4000 -I UTF-8 -O UTF-8 -T text/html "$file" 2>/dev/null | words >"$tmp/theirs.words"
    ours <"$tmp/ours" | words >"$tmp/ours.words"
    all=$(wc -l <"$tmp/theirs.words")
    lost=$(diff --minimal "$tmp/theirs.words" "$tmp/ours.words" | grep -c '^<' || true)
    echo "$file: $all words, $lost not in ours: $(awk -v a="$all" -v l="$lost" 'BEGIN { printf "%.2f", a ? 100 * (a - l) / a : 100 }') %"
    [ $((lost * 50)) -le "$all" ] || wrong "$file: $lost of $all words"
    n=$((n + 1))
done
[ $n -ge 10 ] || [ -n "${HTML_DOCS:-}" ] || wrong "only $n documents were found"
verdict "98 % of the words that w3m shows, in the same order"
