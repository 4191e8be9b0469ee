#!/bin/sh
# pdf.sh BUILDDIR: real documents as text, by our converter and by pdftotext. Nearly every
# word must be in both, in the same order. PDF_DOCS="FILE.." compares those instead of what
# is installed and of manual pages that groff makes.
set -eu
# shellcheck disable=SC1091
. "$(dirname "$0")/kit.sh"
# shellcheck disable=SC2034
suite=pdf
if ! command -v pdftotext >/dev/null; then
    echo "SKIP: pdf: pdftotext is not installed"
    exit 0
fi
[ ! -f "$build/Makefile" ] || make -s -C "$build" tests/real/document >/dev/null

# Installed ones are copied, for some are compressed and have spaces in their names.
documents() {
    find /usr/share/doc \( -name '*.pdf' -o -name '*.pdf.gz' \) 2>/dev/null | sort | head -n 20 |
        while read -r file; do
            name=$(basename "${file%.gz}" | tr ' ' -)
            case $file in *.gz) gzip -dc "$file" ;; *) cat "$file" ;; esac >"$tmp/$name"
            echo "$tmp/$name"
        done
    if groff -Tpdf </dev/null >/dev/null 2>&1; then
        for page in bash gcc find tar sed curl; do
            man -Tpdf "$page" >"$tmp/$page.1.pdf" 2>/dev/null && echo "$tmp/$page.1.pdf"
        done
    fi
}

words() { perl -CSD -ne 'print "$&\n" while /[\p{L}\p{N}]+/g'; }
ours() { grep -v '^--- page [0-9]* of [0-9]* ---$\|^\[This page has no text\.\]$'; }
lost_of() { diff --minimal "$1" "$2" | grep -c '^<' || true; } # A B: words of A not in B

n=0
for file in ${PDF_DOCS:-$(documents)}; do
    if ! "$build/tests/real/document" pdf application/pdf "$file" >"$tmp/ours" 2>"$tmp/said"; then
        wrong "$file: $(tail -n 1 "$tmp/said")"
        continue
    fi
    pdftotext -enc UTF-8 "$file" - 2>/dev/null >"$tmp/theirs"
    words <"$tmp/theirs" >"$tmp/theirs.words"
    ours <"$tmp/ours" | words >"$tmp/ours.words"
    all=$(wc -l <"$tmp/theirs.words")
    lost=$(lost_of "$tmp/theirs.words" "$tmp/ours.words")
    more=$(lost_of "$tmp/ours.words" "$tmp/theirs.words")
    echo "$(basename "$file"): $(sed -n 's/.*: pages: //p' "$tmp/said") pages, $all words, $lost not in ours: $(awk -v a="$all" -v l="$lost" 'BEGIN { printf "%.2f", a ? 100 * (a - l) / a : 100 }') %, $more only in ours"
    [ $((lost * 50)) -le "$all" ] || wrong "$file: $lost of $all words"
    n=$((n + 1))
done
[ $n -ge 10 ] || [ -n "${PDF_DOCS:-}" ] || wrong "only $n documents were found"
verdict "98 % of the words of pdftotext, in the same order"
