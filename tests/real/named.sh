#!/bin/sh
# named.sh BUILDDIR: servers by name, with the programs of package.json: from adding the
# first one to twenty at a time, those of an editor, a project and another program. One
# line, PASS or FAIL, for each test. For run.sh.
# shellcheck disable=SC2016
set -u
. "${0%/*}/kit.sh"
suite='by name'
everything=@modelcontextprotocol/server-everything
pids=''
stop() { # what listens
    for pid in $pids; do kill "$pid" 2>/dev/null; done
    exec 9>&-
    wait
    pids=''
}
trap 'stop; rm -rf "$tmp"' EXIT

mkdir -p "$tmp/bin" "$tmp/project/src/deep" "$tmp/tmp/gemini/ide"
chmod -R go-w "$tmp"
export PATH="$tmp/bin:$PATH" CLAUDE_CONFIG_DIR="$tmp/editors" TMPDIR="$tmp/tmp"
unset CLAUDE_CODE_SSE_PORT GEMINI_CLI_IDE_SERVER_PORT QWEN_CODE_IDE_SERVER_PORT
cd "$tmp/project" || exit 99

# npx -y PACKAGE ..: the package that is installed already, with the Node that is.
"$node" -e '
    const [npm, node] = process.argv.slice(1);
    console.log("#!/bin/sh\ncase $2 in");
    for (const name of Object.keys(require(`${npm}/package.json`).dependencies)) {
        const { bin } = require(`${npm}/node_modules/${name}/package.json`);
        if (bin)
            console.log(`${name}) script=${name}/${Object.values(bin)[0] ?? bin} ;;`);
    }
    console.log(`*) echo "no such package" >&2; exit 1 ;;\nesac\nshift 2`);
    console.log(`exec "${node}" "${npm}/node_modules/$script" "$@"`);
' "$npm" "$node" >"$tmp/bin/npx" && chmod +x "$tmp/bin/npx"

# ---- servers that listen, started at once, waited for when they are needed ----

# All of them read from this, so that they end with this script, whatever ends it.
mkfifo "$tmp/hold" && exec 9<>"$tmp/hold"

# Tells the headers that a test sent. Where MCPLUG_TEST_TOKEN is set, who lacks it is refused.
cat >"$tmp/tell.cjs" <<'END'
const fs = require('node:fs');
const http = require('node:http');
const token = process.env.MCPLUG_TEST_TOKEN;
process.stdin.on('close', () => process.exit()).resume(); // the test is over
const emit = http.Server.prototype.emit;
http.Server.prototype.emit = function (event, request, response, ...rest) {
    if (event !== 'request' && event !== 'upgrade')
        return emit.call(this, event, request, response, ...rest);
    const { authorization, 'x-tenant': tenant } = request.headers;
    fs.writeSync(2, `test: sent ${authorization}, ${tenant}\n`);
    if (!token || authorization === `Bearer ${token}`)
        return emit.call(this, event, request, response, ...rest);
    response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
    return true;
};
END

# listen NAME PACKAGE ARGS..: its log is $tmp/NAME.log.
listen() {
    name=$1 package=$2
    shift 2
    script=$(sed -n "s|^$package) script=\(.*\) ;;\$|\1|p" "$tmp/bin/npx")
    PORT=0 "$node" --require "$src/tests/real/listen.cjs" --require "$tmp/tell.cjs" \
        "$npm/node_modules/$script" "$@" <"$tmp/hold" >"$tmp/$name.log" 2>&1 9>&- &
    pids="$pids $!"
}
# editor DIALECT TOKEN
editor() {
    "$node" "$src/tests/real/fake-ide.mjs" --dialect "$1" --token "$2" --dir "$tmp/editors" \
        --workspace "$tmp/project" <"$tmp/hold" >"$tmp/editor-$1.log" 2>&1 9>&- &
    pids="$pids $!"
}
port_of() { # NAME: waits for 20 s at most
    for _ in $(seq 200); do
        port=$(sed -nE 's/^(test: port )?([0-9]+)$/\2/p' "$tmp/$1.log" 2>/dev/null | head -n 1)
        [ -z "$port" ] || { echo "$port"; return; }
        sleep 0.1
    done
    echo 1 # where nobody listens
}
guard='guard-0123456789abcdef'
MCPLUG_TEST_TOKEN=$guard listen guarded $everything streamableHttp
guarded_pid=${pids##* }
listen http $everything streamableHttp
listen sse $everything sse
listen ws supergateway --stdio "exec npx -y $everything" --outputTransport ws --port 0
editor nvim nvim-token-0123456789
editor sse sse-token-0123456789

# ---- tests ----

now() { date +%s%N | cut -b -13; } # ms
seconds() { echo "$(($1 / 1000)).$(($1 % 1000 / 100))"; }

# has FILE TEXT: the text is part of it; if the text is empty, so is the file.
has() {
    if [ -z "$2" ]; then [ ! -s "$1" ]; else grep -qF -e "$2" "$1"; fi
}
# m CODE 'PART OF STDOUT' 'PART OF STDERR' WORDS..: the command; . stands for anything.
# Everything that it prints is added to $tmp/seen.
m() {
    code=$1 out=$2 err=$3
    shift 3
    mcplug "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    [ $got = "$code" ] || wrong "$*: exit code $got: $(tail -c 300 "$tmp/err")"
    [ "$out" = . ] || has "$tmp/out" "$out" || wrong "$*: stdout: $(tail -c 300 "$tmp/out")"
    [ "$err" = . ] || has "$tmp/err" "$err" || wrong "$*: stderr: $(tail -c 300 "$tmp/err")"
    [ "$(wc -c <"$tmp/out")" -gt 1000000 ] || cat "$tmp/out" "$tmp/err" >>"$tmp/seen"
}
# line PATTERN: one line of what was printed is like this.
line() { grep -qxE -e "$1" "$tmp/out" || wrong "no line $1 in: $(tail -c 400 "$tmp/out")"; }
unseen() { # WORD..: never printed, and in no file that it wrote
    for word; do
        ! grep -qF -e "$word" "$tmp/seen" || wrong "$word was printed"
        ! grep -rqF -e "$word" "$settings" "$XDG_CACHE_HOME" 2>/dev/null ||
            wrong "$word was written"
    done
}

# ---- the first server ----

began=$(now)
m 0 "Added stdio server \"everything\" to the user scope: $settings" '' \
    add everything -- npx -y $everything
m 0 . '' list
line 'everything +connected +mcp-servers/everything [0-9.]+, 2025-11-25 \(legacy\), [0-9]+ tools, [0-9.]+m?s'
m 0 'echo message:string' '' tools everything
m 0 'Message to echo' '' tools everything echo
m 0 'Echo: hello' '' call everything echo message=hello
m 0 'Echo: hello' '' call mcp__everything__echo message=hello
m 2 '' 'messag' call everything echo messag=hello
m 0 '"command": "npx"' '' get everything
line 'State: +pending'
m 0 Disabled '' disable everything
m 3 '' '`mcplug enable everything`' call everything echo message=hello
m 0 . '' list
line 'everything +disabled .*'
m 0 Enabled '' enable everything
m 0 'Echo: again' '' call everything echo message=again
m 0 Removed '' remove everything
m 2 '' 'there is no server "everything"' call everything echo message=hello
m 0 '' 'No server is configured yet.' list
took=$(($(now) - began))
[ $took -lt 120000 ] || wrong "it took $(seconds $took) s"
verdict "the first server: add, list, tools, call, get, disable, enable, remove"
echo "the first server: $(seconds $took) s"

# ---- over the network ----

http=http://127.0.0.1:$(port_of http)/mcp
sse=http://127.0.0.1:$(port_of sse)/sse
ws=ws://127.0.0.1:$(port_of ws)/message
guarded=http://127.0.0.1:$(port_of guarded)/mcp
m 0 'Added http server "http"' '' add http "$http"
m 0 . '' add http-said --transport http "$http"
m 0 . '' add sse "$sse"
m 0 'Added sse server "sse-said"' '' add sse-said "$sse" -t sse
m 0 . '' add ws "$ws"
m 0 'Added websocket server "ws-said"' '' add ws-said "$ws" --transport websocket
MCP_SERVER_CONNECTION_BATCH_SIZE=6 m 0 . '' list
for name in http http-said sse sse-said ws ws-said; do
    line "$name +connected +mcp-servers/everything .*, 2025-11-25 \(legacy\), [0-9]+ tools, .*"
done
for name in http http-said sse sse-said ws ws-said; do
    m 0 "Echo: $name" '' call $name echo "message=$name"
done
verdict 'Streamable HTTP, HTTP+SSE and WebSocket, by URL alone and with --transport'

for url in "$http" "$sse" "$ws"; do
    case $url in
    ws:*) name=ws ;;
    */sse) name=sse ;;
    *) name=http ;;
    esac
    m 0 . '' add "$name-sent" "$url" -H 'Authorization: Bearer ${NAMED_TOKEN}' \
        -H 'X-Tenant: ${NAMED_TENANT:-acme}'
    before=$(wc -l <"$tmp/$name.log")
    NAMED_TOKEN=s3cret-$name m 0 'Echo: x' . call -vv "$name-sent" echo message=x
    tail -n +$((before + 1)) "$tmp/$name.log" | grep '^test: sent' >"$tmp/sent"
    grep -qxF "test: sent Bearer s3cret-$name, acme" "$tmp/sent" || wrong "$name: not sent"
    ! grep -vxF "test: sent Bearer s3cret-$name, acme" "$tmp/sent" >"$tmp/without" ||
        wrong "$name: a request without them: $(cat "$tmp/without")"
    m 0 '${NAMED_TOKEN}' '' get "$name-sent"
done
m 0 . '' add guarded "$guarded" -H 'Authorization: Bearer ${NAMED_TOKEN}'
NAMED_TOKEN=$guard m 0 'Echo: in' '' call guarded echo message=in
m 3 '' 'Set the following environment variables: NAMED_TOKEN' call guarded echo message=x
unseen s3cret- $guard
verdict 'headers with ${VAR} reach the server with every request, and no output'

# ---- an editor ----

: >"$tmp/seen"
guarded_port=${guarded##*127.0.0.1:} guarded_port=${guarded_port%/mcp}
companion=$tmp/tmp/gemini/ide/gemini-ide-server-$guarded_pid-$guarded_port.json
printf '{"port":%s,"workspacePath":"%s","authToken":"%s","ideInfo":{"displayName":"%s"}}' \
    "$guarded_port" "$tmp/project" $guard 'Some Editor' >"$companion"
port_of editor-nvim >/dev/null && port_of editor-sse >/dev/null
m 0 'Added ws-ide server "ide"' '' add ide --transport ws-ide
m 0 'Added sse-ide server "ide-sse"' '' add ide-sse -t sse-ide --set 'ideName=visual studio code'
m 0 'Added http-ide server "ide-http"' '' add ide-http --transport http-ide
m 0 'getDiagnostics [uri:string]' '' tools ide
m 0 "\"rootPath\":\"$tmp/project\"" . call ide getWorkspaceFolders -vv
m 0 'executeCode' . tools ide-sse -vv
m 0 "Opened file: $tmp/project/a.c" '' call ide-sse openFile "filePath=$tmp/project/a.c"
m 0 'echo message:string' '' tools ide-http
m 0 'Echo: editor' . call ide-http echo message=editor -vv --log-file "$tmp/log"
m 0 . '' list ide ide-sse ide-http
line 'ide +connected +fake Neovim 1.0.0, 2024-11-05 \(legacy\), .*'
line 'ide-sse +connected +fake Visual Studio Code .*'
line 'ide-http +connected +mcp-servers/everything .*'
for words in 'get ide' 'get ide-sse --json' ide 'ide --json' 'ide -vv' config \
    'list ide ide-sse ide-http --json'; do
    # shellcheck disable=SC2086
    m 0 . . $words
done
{ mcplug doctor 2>&1; cat "$tmp/log"; } >>"$tmp/seen" # it may well find something
unseen nvim-token sse-token $guard
has "$tmp/seen" 'Some Editor' || wrong 'an editor is not listed'
m 0 . '' add ide-none -t ws-ide --set ideName=Emacs
m 3 '' 'no editor' tools ide-none
verdict 'editors of three kinds, whose tokens are never shown'

# ---- twenty of them ----

# What takes Node a while on a busy machine is no fault of the entry's.
entry() { # NAME JSON
    printf '%s"%s": %s' "$comma" "$1" "$2"
    comma=,
}
program() { # NAME PACKAGE ARGUMENT
    entry "$1" "{\"command\":\"npx\",\"args\":[\"-y\",\"$2\",\"$3\"],\"timeouts\":{\"connect\":\"30s\"}}"
}
{
    comma=''
    printf '{"mcpServers":{'
    program everything $everything stdio
    program files @modelcontextprotocol/server-filesystem "$tmp/project"
    program memory @modelcontextprotocol/server-memory ''
    program thinking @modelcontextprotocol/server-sequential-thinking ''
    entry http "{\"type\":\"http\",\"url\":\"$http\"}"
    entry sse "{\"url\":\"$sse\"}"
    entry ws "{\"url\":\"$ws\",\"timeouts\":{\"connect\":30000}}"
    for i in 1 2 3 4; do
        entry "example$i" '{"command":"mcplug-example-server"}'
        entry "slow$i" '{"command":"sh","args":["-c","sleep 0.8; exec mcplug-example-server"]}'
    done
    entry absent '{"command":"mcplug-no-such-program"}'
    entry exits '{"command":"sh","args":["-c","echo DATABASE_URL is not set >&2; exit 7"]}'
    entry refused '{"url":"http://127.0.0.1:1/mcp"}'
    entry login "{\"url\":\"$guarded\"}"
    entry mute '{"command":"sh","args":["-c","while read -r line; do :; done"]}'
    echo '}}'
} >"$settings"
export MCP_TIMEOUT=3000
began=$(now)
m 3 . '' list
by_three=$(($(now) - began))
[ "$(grep -cE '^[a-z0-9]+ +connected ' "$tmp/out")" = 15 ] ||
    wrong "not 15 connected: $(cat "$tmp/out")"
for name in everything files memory thinking http sse ws example1 slow4; do
    line "$name +connected +.*, 20[0-9-]+ \((legacy|modern)\), [0-9]+ tools?, [0-9.]+m?s"
done
line 'absent +failed .*"mcplug-no-such-program": No such file or directory'
line 'exits +failed .*status 7.*'
line '  .*DATABASE_URL is not set'
line 'refused +failed .*refused.*'
line 'login +needs-auth .*401.*'
line 'mute +failed .*timed out after 3000ms'
verdict 'list: 15 of 20 are connected, and what is wrong with 5 is told'

by_one=0 by_ten=0
for size in 1 10; do
    began=$(now)
    MCP_SERVER_CONNECTION_BATCH_SIZE=$size m 3 . '' list --json
    by_one=$by_ten by_ten=$(($(now) - began))
    "$node" -e '
        const { servers } = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const bad = { absent: "failed", exits: "failed", refused: "failed",
            login: "needs-auth", mute: "failed" };
        const check = (ok, what) => ok || (console.log(what), process.exitCode = 1);
        check(servers.length === 20, `${servers.length} servers`);
        for (const { name, state, reason, era, revision, tools, ms, server } of servers) {
            check(state === (bad[name] ?? "connected"), `${name} ${state} ${reason}`);
            if (state === "connected")
                check(/^(legacy|modern)$/.test(era) && /^20/.test(revision) && tools > 0 &&
                    ms > 0 && server.name && server.version, `${name} lacks something`);
            else
                check(typeof reason === "string" && reason, `${name} has no reason`);
        }' <"$tmp/out" >"$tmp/why" 2>&1 || wrong "batches of $size: $(tail -c 500 "$tmp/why")"
done
unset MCP_TIMEOUT
verdict 'list --json: valid, with exactly these states'
[ $((by_ten * 10)) -lt $((by_one * 7)) ] || wrong 'batches of 10 are not faster'
[ $((by_three * 10)) -lt $((by_one * 9)) ] || wrong 'batches of 3 are not faster'
echo "20 servers: one by one $(seconds $by_one) s," \
    "by 3 $(seconds $by_three) s, by 10 $(seconds $by_ten) s"
verdict 'list: in batches, far below the sum'

# ---- a project ----

# typed ANSWER WORDS..: at a terminal; what it shows goes to $tmp/out.
typed() {
    answer=$1
    shift
    { sleep 0.3; printf '%s\n' "$answer"; sleep 0.2; } |
        script -qec "stty -echo; exec mcplug $*" /dev/null >"$tmp/out" 2>&1
    got=$?
}
rm -f "$settings"
echo 'from the project' >note.txt
project() { # FOLDER
    echo "{\"mcpServers\":{\"files\":{\"command\":\"npx\",\"args\":[\"-y\",
        \"@modelcontextprotocol/server-filesystem\",\"$1\"]}}}" >"$tmp/project/.mcp.json"
}
project .
m 3 '' 'has not been approved' tools files
m 3 . '' list
line 'files +needs-approval .*'
typed n approve files
m 3 '' 'has not been approved' tools files
typed y approve files
[ $got = 0 ] || wrong "approve: exit code $got"
has "$tmp/out" '@modelcontextprotocol/server-filesystem' || wrong 'approve does not show it'
cd src/deep || exit 99
m 0 'from the project' '' call files read_text_file "path=$tmp/project/note.txt"
m 1 . 'outside' call files read_text_file path=/etc/hostname
project /
m 3 '' 'has changed since it was approved' call files read_text_file path=/etc/hostname
m 3 . '' list
line 'files +needs-approval .*'
project .
m 0 'from the project' '' call files read_text_file "path=$tmp/project/note.txt"
cd "$tmp/project" || exit 99
rm .mcp.json
verdict "a project's server is approved once, used from below, and refused once changed"

# ---- secrets ----

: >"$tmp/seen"
printf 'from-a-f1le\n' >"$HOME/secret"
m 0 . '' add secrets -e 'IN_FILE=${file:~/secret}' -e 'IN_COMMAND=${cmd:printf %s-%s from c0mmand}' \
    -e 'OTHER=${NAMED_UNSET:-default}' -- npx -y $everything
m 0 '${file:~/secret}' '' get secrets
m 0 '"cmd:printf' '' get secrets --json # the entry itself shows no command
m 0 . . tools secrets -vv --log-file "$tmp/log2"
cat "$tmp/log2" >>"$tmp/seen"
unseen from-a-f1le from-c0mmand
m 0 . '' call secrets get-env
for part in '"IN_FILE": "from-a-f1le"' '"IN_COMMAND": "from-c0mmand"' '"OTHER": "default"'; do
    has "$tmp/out" "$part" || wrong "the server has no $part"
done
verdict '${file:..} and ${cmd:..} reach the environment of a server, and no output'

# ---- another program's ----

: >"$tmp/seen"
mkdir -p "$XDG_CONFIG_HOME/Claude"
cat >"$XDG_CONFIG_HOME/Claude/claude_desktop_config.json" <<END
{
  "globalShortcut": "",
  "mcpServers": {
    "desktop": {
      "command": "npx",
      "args": ["-y", "$everything"],
      "env": {"API_KEY": "hunter2-of-the-desktop"}
    }
  }
}
END
m 0 claude-desktop . import
m 0 . 'Nothing was changed' import claude-desktop
m 2 '' 'there is no server "desktop"' call desktop echo message=x
m 0 desktop . import claude-desktop --yes
! grep -qF hunter2 "$tmp/seen" || wrong 'a secret was printed'
m 0 'Echo: imported' '' call desktop echo message=imported
m 0 '"API_KEY": "hunter2-of-the-desktop"' '' call desktop get-env
m 0 . '' list desktop secrets
line 'desktop +connected .*'
verdict 'import: a server of Claude Desktop'

# ---- a long answer ----

m 0 . '' add files -- npx -y @modelcontextprotocol/server-filesystem "$tmp/project"
head -c 15000000 /dev/urandom | base64 -w 76 | head -c 20000000 >long.txt
m 0 . '' call --raw files read_text_file "path=$tmp/project/long.txt"
cmp -s "$tmp/out" long.txt || wrong "$(wc -c <"$tmp/out") bytes, or others"
left="$(ls -A "$tmp/tmp") $(ls -A "$XDG_CACHE_HOME/mcplug")"
[ "$left" = 'gemini known' ] || wrong "left over: $left"
verdict 'an answer of 20 MB is passed on to the byte'

# ---- the end ----

# Everything that was started has our TMPDIR; this shell was not started with it.
stop
for _ in $(seq 50); do
    left=$(env -u TMPDIR grep -lF "TMPDIR=$tmp/tmp" /proc/[0-9]*/environ 2>/dev/null)
    [ -n "$left" ] || break
    sleep 0.1
done
[ -z "$left" ] || wrong "$(for file in $left; do tr '\0' ' ' <"${file%environ}cmdline"; echo; done)"
verdict 'no process is left behind'
