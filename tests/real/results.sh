#!/bin/sh
# results.sh BUILDDIR: awkward results of servers that others wrote: images, sound, links,
# embedded and annotated blocks, the same data twice, PDF. What people get, what is saved,
# and what a model gets. One line, PASS or FAIL, for each test. For run.sh.
set -u
. "${0%/*}/kit.sh"
suite=results
store=$XDG_CACHE_HOME/mcplug/results
packages=$npm/node_modules/@modelcontextprotocol
everything=$packages/server-everything/dist/index.js
mkdir -p "$tmp/files" "$XDG_CONFIG_HOME/mcplug"
cd "$tmp" || exit 99
unset MAX_MCP_OUTPUT_TOKENS ENABLE_MCP_LARGE_OUTPUT_FILES

cat >"$settings" <<END
{"mcpServers":{
"every":{"command":"$node","args":["$everything"]},
"files":{"command":"$node","args":["$packages/server-filesystem/dist/index.js","$tmp/files"]},
"pdf":{"command":"$node","args":["$packages/server-pdf/dist/index.js","--stdio","$tmp/files/a.pdf"]}}}
END

# call WORDS..: what is printed is in $tmp/out, with STORE and TIME in what is kept.
call() {
    mcplug call "$@" >"$tmp/exact" 2>"$tmp/err" </dev/null ||
        wrong "call $*: exit code $?: $(tail -c 300 "$tmp/err")"
    sed -E -e "s:$store:STORE:g" -e 's/-[0-9]{13}([.-])/-TIME\1/g' "$tmp/exact" >"$tmp/out"
}
printed() { # standard input is exactly what was printed
    cat >"$tmp/expected"
    cmp -s "$tmp/expected" "$tmp/out" || wrong "$(diff "$tmp/expected" "$tmp/out" | head -c 400)"
}
has() { # TEXT: in what was printed
    grep -qF -e "$1" "$tmp/out" || wrong "no \"$1\" in: $(head -c 400 "$tmp/out")"
}
kept() { # the file that was named
    sed -n 's/^Path: //p; s/^Saved to \(.*\) ([0-9]* bytes)\.$/\1/p' "$tmp/exact"
}
same() { # FILE FILE
    cmp -s "$1" "$2" || wrong "$1 and $2 differ"
}
# member NAME: the value of the first such member of a block, as it came
member() {
    "$node" -e '
        const { content } = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const all = content.flatMap((b) => [b, b.resource ?? {}]);
        process.stdout.write(all.find((b) => process.argv[1] in b)[process.argv[1]]);
    ' "$1" <"$tmp/exact"
}

# ---- server-everything ----

call every get-tiny-image --json
member data | base64 -d >"$tmp/logo.png"
call every get-tiny-image
printed <<'END'
Here's the image you requested:
[image/png, 4033 bytes]
The image above is the MCP logo.
END
call every get-tiny-image -o "$tmp/saved/"
same "$tmp/logo.png" "$tmp/saved/image-1.png"
[ "$(head -c 4 "$tmp/logo.png" | tail -c 3)" = PNG ] || wrong "no PNG"
call every get-tiny-image --for-model
printed <<'END'
Here's the image you requested:
[image/png, 20 x 20 pixels, about 1 tokens]
The image above is the MCP logo.
END
call every get-tiny-image --for-model --json
"$node" -e '
    const parts = JSON.parse(require("fs").readFileSync(0, "utf8"));
    process.stdout.write(parts[1].data);
' <"$tmp/exact" | base64 -d | cmp -s - "$tmp/logo.png" || wrong "a model gets another image"
verdict 'an image'

call every get-annotated-message messageType=error includeImage=true
printed <<'END'
Error: Operation failed
[image/png, 4033 bytes]
END
call every get-annotated-message messageType=error includeImage=true --for-model
echo 'Error: Operation failed' | printed # the image is for people
call every get-annotated-message messageType=success --for-model
echo '[The result is meant for the user alone.]' | printed
verdict 'messages for people and for models'

call every get-resource-links count=2
printed <<'END'
Here are 2 resource links to resources available in this server:
Resource link: demo://resource/dynamic/blob/1 (text/plain)
Resource link: demo://resource/dynamic/text/2 (text/plain)
END
call every get-resource-links count=2 --for-model
printed <<'END'
Here are 2 resource links to resources available in this server:
Resource link: demo://resource/dynamic/blob/1 (Blob Resource 1, text/plain)
Resource link: demo://resource/dynamic/text/2 (Text Resource 2, text/plain)
END
verdict links

call every get-resource-reference resourceType=Text resourceId=1 --for-model
has 'Resource: demo://resource/dynamic/text/1'
has 'Resource 1: This is a plaintext resource created at'
call every get-resource-reference resourceType=Blob resourceId=2 --for-model
has '[Binary resource: demo://resource/dynamic/blob/2 (text/plain)]'
has 'Saved to STORE/mcp-every-get_resource_reference-TIME-2.txt ('
grep -q 'Resource 2: This is a base64 blob' "$(kept)" || wrong "the blob is another"
verdict 'embedded texts and blobs'

call every gzip-file-as-resource name=x.gz data=data:text/plain,hello outputType=resource --for-model
printed <<'END'
[Binary resource: demo://resource/session/x.gz (application/gzip)]
Saved to STORE/mcp-every-gzip_file_as_resource-TIME-x.gz (25 bytes).
END
[ "$(gzip -dc <"$(kept)")" = hello ] || wrong "the file that was compressed is another"
[ "$(stat -c %a "$(kept)")" = 600 ] || wrong "it is not private"
call every gzip-file-as-resource name=x.gz data=data:text/plain,hello outputType=resourceLink --for-model
echo 'Resource link: demo://resource/session/x.gz (x.gz, application/gzip)' | printed
verdict 'a file made on the way'

call every get-structured-content 'location=New York' --structured
cp "$tmp/out" "$tmp/structured"
call every get-structured-content 'location=New York' --for-model
same "$tmp/structured" "$tmp/out"
verdict 'structured content that the text repeats is given once'

# ---- server-filesystem, which repeats its blocks in structured content ----

cp "$tmp/logo.png" "$tmp/files/logo.png"
{ # a second of sound
    printf 'RIFF\144\037\000\000WAVEfmt \020\000\000\000\001\000\001\000\100\037\000\000'
    printf '\100\037\000\000\001\000\010\000data\100\037\000\000'
    head -c 8000 /dev/zero | tr '\000' '\200'
} >"$tmp/files/a.wav"
head -c 5000 "$node" >"$tmp/files/x.bin"
call files read_media_file path="$tmp/files/logo.png" --for-model
echo '[image/png, 20 x 20 pixels, about 1 tokens]' | printed
call files read_media_file path="$tmp/files/logo.png" -o "$tmp/again.png"
same "$tmp/logo.png" "$tmp/again.png"
call files read_media_file path="$tmp/files/a.wav"
echo '[audio/wav, 8044 bytes]' | printed
call files read_media_file path="$tmp/files/a.wav" -o "$tmp/saved/"
same "$tmp/files/a.wav" "$tmp/saved/audio-1.wav"
call files read_media_file path="$tmp/files/a.wav" --for-model
printed <<'END'
[audio/wav, 8044 bytes]
Saved to STORE/mcp-files-read_media_file-TIME.wav (8044 bytes).
END
same "$tmp/files/a.wav" "$(kept)"
call files read_media_file path="$tmp/files/x.bin" --for-model
printed <<END
[Binary resource: file://$tmp/files/x.bin (application/octet-stream)]
Saved to STORE/mcp-files-read_media_file-TIME-x.bin (5000 bytes).
END
same "$tmp/files/x.bin" "$(kept)"
verdict 'media of files, once, and exact'

yes 'a line' | head -n 30000 >"$tmp/files/long.txt"
call files read_text_file path="$tmp/files/long.txt" --for-model
has 'The result has 210,000 characters, which exceeds the limit of 25000 tokens.'
has 'Format: text'
same "$tmp/files/long.txt" "$(kept)"
verdict 'a long text, which structured content repeats, is kept once'

# ---- server-pdf ----

cat >"$tmp/make.mjs" <<END
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
const { PDFDocument } = createRequire('$packages/server-pdf/')('@cantoo/pdf-lib');
const pdf = await PDFDocument.create();
pdf.addPage([300, 200]).drawText('A page', { x: 20, y: 100, size: 20 });
writeFileSync('$tmp/files/a.pdf', await pdf.save());
END
"$node" "$tmp/make.mjs" || wrong "cannot make a PDF"
size=$(stat -c %s "$tmp/files/a.pdf")
call pdf list_pdfs --for-model
has "file://$tmp/files/a.pdf"
call pdf display_pdf url="$tmp/files/a.pdf" --for-model
has "\"totalBytes\":$size" # which the text does not say
call pdf read_pdf_bytes url="$tmp/files/a.pdf" --structured
"$node" -e '
    const { bytes } = JSON.parse(require("fs").readFileSync(0, "utf8"));
    process.stdout.write(Buffer.from(bytes, "base64"));
' <"$tmp/exact" | cmp -s - "$tmp/files/a.pdf" || wrong "the PDF is another"
call pdf read_pdf_bytes url="$tmp/files/a.pdf" --for-model
has "\"bytes\":\"[Base64, "
verdict 'a PDF, whose data is no text for a model'
