#!/bin/sh
# runs.sh BUILDDIR: whole runs of `mcplug run`, with servers that others wrote doing the
# work, against models/script.mjs, which plays the APIs of models, and against aimock. One
# line, PASS or FAIL, for each test. For run.sh.
set -u
. "${0%/*}/kit.sh"
suite=runs
packages=$npm/node_modules/@modelcontextprotocol
mkdir -p "$XDG_CONFIG_HOME/mcplug"
cd "$tmp" || exit 99
cat >"$settings" <<END
{"mcpServers":{
"files":{"command":"$node","args":["$packages/server-filesystem/dist/index.js","$tmp/files"]},
"memory":{"command":"$node","args":["$packages/server-memory/dist/index.js"],
          "env":{"MEMORY_FILE_PATH":"$tmp/memory.jsonl"}},
"every":{"command":"$node","args":["$packages/server-everything/dist/index.js"]}}}
END
export ANTHROPIC_API_KEY=key-1 OPENAI_API_KEY=key-1 GEMINI_API_KEY=key-1

# play SCRIPT: starts the model with a script; its port is in $port, what it was asked in
# $tmp/journal.
play() {
    stop_playing
    printf '%s' "$1" >"$tmp/script.json"
    rm -f "$tmp/journal" "$tmp/port" "$tmp/hold"
    mkfifo "$tmp/hold"
    "$node" "$src/tests/real/models/script.mjs" --stdin "$tmp/script.json" \
        "$tmp/journal" <"$tmp/hold" >"$tmp/port" 2>"$tmp/player" &
    player=$!
    exec 9>"$tmp/hold"
    tries=0
    while [ ! -s "$tmp/port" ] && [ $((tries += 1)) -lt 300 ]; do sleep 0.1; done
    port=$(cat "$tmp/port")
    [ -n "$port" ] || wrong "no model: $(tail -n 2 "$tmp/player")"
}
stop_playing() {
    [ -n "${player:-}" ] || return 0
    exec 9>&-
    wait "$player"
    player=
}
trap 'stop_playing; rm -rf "$tmp"' EXIT

# run API WORDS..: its exit status is in $status
run() {
    api=$1
    shift
    case $api in anthropic | gemini) url=http://127.0.0.1:$port ;; *) url=http://127.0.0.1:$port/v1 ;; esac
    status=0
    mcplug run -m "$api/test-model" --set "url=$url" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null ||
        status=$?
}
ended() { # STATUS
    [ "$status" = "$1" ] || wrong "exit status $status, not $1: $(tail -c 300 "$tmp/err")"
}
has() { # FILE TEXT
    grep -qF -e "$2" "$tmp/$1" || wrong "no \"$2\" in $1: $(tail -c 400 "$tmp/$1")"
}

# ---- the work is done by servers of others ----

files=$tmp/files
edit='[
{"text":"I will write it. ","calls":[
 {"name":"mcp__files__write_file","arguments":{"path":"'$files'/a.txt","content":"one\ntwo\n"}},
 {"name":"mcp__files__list_directory","arguments":{"path":"'$files'"}}]},
{"calls":[{"name":"mcp__files__edit_file","arguments":{"path":"'$files'/a.txt","edits":[{"oldText":"two","newText":"2"}]}}]},
{"calls":[{"name":"mcp__files__read_text_file","arguments":{"path":"'$files'/a.txt"}}]},
{"text":"It says: {{last}}"}]'
for api in anthropic openai openai-chat gemini; do
    rm -rf "$files" && mkdir "$files"
    play "$edit"
    run $api --server files --yes 'Write a file, and edit it.'
    ended 0
    [ "$(cat "$files/a.txt")" = "$(printf 'one\n2')" ] || wrong "the file: $(cat "$files/a.txt")"
    has out 'I will write it.'
    has out 'It says: one'
    has err edit_file
    verdict "$api: a file is written, listed, edited and read"
done

play '[
{"calls":[{"name":"mcp__memory__create_entities","arguments":{"entities":[
 {"name":"Ada","entityType":"person","observations":["writes programs"]},
 {"name":"Engine","entityType":"machine","observations":["has wheels"]}]}}]},
{"calls":[{"name":"mcp__memory__create_relations","arguments":{"relations":[
 {"from":"Ada","to":"Engine","relationType":"programs"}]}}]},
{"calls":[{"name":"mcp__memory__read_graph","arguments":{}}]},
{"text":"Ada programs the Engine."}]'
run anthropic --server memory --yes 'Remember Ada.'
ended 0
has memory.jsonl '"relationType":"programs"'
has out 'Ada programs the Engine.'
verdict 'a graph is kept by the memory server'

# An estimate would say that it fits.
rm -rf "$files" && mkdir "$files"
awk 'BEGIN { for (i = 0; i < 6000; i++) printf "some words "; print "" }' >"$files/long.txt"
long='"turns":[{"calls":[{"name":"mcp__files__read_text_file","arguments":{"path":"'$files'/long.txt"}}]},
{"text":"{{result}}"}]'
for api in anthropic openai gemini; do
    play "{\"counts\":[{\"tokens\":25001}],$long}"
    run $api --server files --yes 'Read it.'
    ended 0
    has out 'exceeds the limit of 25000 tokens. It was saved whole.'
    [ "$(grep -cE 'count_tokens|input_tokens"?,|countTokens' "$tmp/journal")" -ge 1 ] || wrong "no count in the journal"
    play "{\"counts\":[{\"fault\":{\"status\":500}}],$long}"
    run $api --server files --yes 'Read it.'
    ended 0
    has out 'some words some words'
    has err 'did not count the tokens of a result, which is not cut'
    verdict "$api: the API counts a long result, and none is cut if it fails"
done

# ---- what goes wrong on the way ----

ten='{"name":"mcp__every__get_sum","arguments":{"a":0,"b":1}}'
for a in 1 2 3 4 5 6 7 8 9; do
    ten="$ten,{\"name\":\"mcp__every__get_sum\",\"arguments\":{\"a\":$a,\"b\":1}}"
done
for api in anthropic openai openai-chat gemini; do
    # Gemini has arguments as objects, and a word of its own for what is none
    case $api in gemini) arguments='{"mesage":"x"}' wrong='do not fit the tool' ;;
    *) arguments='"{\"message\": \"x"' wrong='are not a JSON object' ;; esac
    play '[
{"fault":{"status":429,"retry_after_ms":50,"message":"slow down"}},
{"fault":{"overloaded":true}},
{"calls":[{"name":"mcp__every__echo","arguments":'"$arguments"'},
          {"name":"nowhere","arguments":{}}]},
{"text":"Both failed: {{last}}"}]'
    run $api --server every 'Try.'
    ended 0
    has out 'Both failed: '
    has out "$wrong"
    has out 'A tool with the name nowhere was not found. Only use tools that are available in your given list of tools.'
    verdict "$api: 429, overload, malformed arguments and an unknown tool"

    play '[{"calls":['"$ten"']},{"text":"{{last}}"}]'
    run $api --server every --yes --json 'Ten.'
    ended 0
    [ "$("$node" -e '
        const lines = require("fs").readFileSync(0, "utf8").trim().split("\n").map(JSON.parse);
        const sums = lines.at(-1).text.match(/is \d+/g).join();
        process.stdout.write(`${lines.at(-1).calls} ${sums}`);
    ' <"$tmp/out")" = '10 is 1,is 2,is 3,is 4,is 5,is 6,is 7,is 8,is 9,is 10' ] ||
        wrong "not ten answers in order: $(tail -n 1 "$tmp/out")"
    verdict "$api: ten calls in one turn"

    play '[{"calls":[{"name":"search_tools","arguments":{"query":"read a file","limit":2}}]},
{"calls":[{"name":"search_tools","arguments":{"query":"knowledge graph","limit":2}}]},
{"text":"Found."}]'
    run $api --server files --server memory --tool-budget 1 'Look for tools.'
    ended 0
    [ "$("$node" -e '
        const requests = require("fs").readFileSync(0, "utf8").trim().split("\n").map(JSON.parse)
            .filter(({ body }) => body).map(({ body }) => body.tools.flatMap((tool) =>
                tool.functionDeclarations ?? tool).map(({ cache_control, ...tool }) => tool));
        const texts = requests.map((tools) => JSON.stringify(tools).slice(0, -1));
        const grows = texts.every((text, i) => !i || text.startsWith(texts[i - 1]));
        process.stdout.write(`${requests.map((tools) => tools.length)} ${grows}`);
    ' <"$tmp/journal")" = '1,3,5 true' ] || wrong 'definitions change or move from step to step'
    verdict "$api: tools that are found come last, and the others stay byte for byte"

    play '[{"text":"The first half of an answer that has a second one","fault":{"cut":{"events":8}}}]'
    run $api 'Say it.'
    [ "$status" != 0 ] || wrong "a cut answer is a success"
    has out 'The first'
    has err 'ended in the middle of the answer'
    verdict "$api: an answer that breaks off is told, and not asked for again"

    play '[{"text":"No.","stop":"refused"}]'
    run $api --json 'Do harm.'
    [ "$status" != 0 ] || wrong "a refusal is a success"
    has out '"end":"refused"'
    verdict "$api: a refusal is an end of its own"

    play '[{"fault":{"context":true}}]'
    run $api --json 'Too long.'
    has out '"end":"full"'
    verdict "$api: a context that is full is an end of its own"
done

# ---- the journal of aimock, and large contents ----

stop_playing
for program in runs-aimock runs-content; do
    mkdir "$tmp/$program"
    "$node" "$src/tests/real/models/$program.mjs" "$tmp/$program" 2>"$tmp/err" ||
        wrong "$(tail -n 3 "$tmp/err")"
    verdict "$program runs to its end"
done
