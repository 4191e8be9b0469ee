#!/bin/sh
# Checks what the compiler does not: who includes whom, sizes, layout. One line per
# finding; run from the top of the sources. Variables: CC, CXX, CLANG_FORMAT.
# shellcheck disable=SC2046,SC2086,SC2129
set -u

folders=$(ls -d include core cli plugins helpers examples bench tests 2>/dev/null)
found=$(mktemp) sizes=$(mktemp)
trap 'rm -f "$found" "$sizes"' EXIT

# Every C file, but what others wrote.
sources() {
    find "$@" -name node_modules -prune -o -type f -name '*.[ch]' -print | sort
}

# ---- who includes whom: only downwards ----
awk '
BEGIN {
    # A folder may include itself and every folder of a lower level.
    n = split("base:0 loop:1 json:1 plugin:2 rpc:3 config:3 session:4 convert:5 connect:5 registry:6 content:7 toolbox:8 run:9 api:10 cli:11", levels, " ")
    for (i = 1; i <= n; i++) {
        split(levels[i], pair, ":")
        level[pair[1]] = pair[2]
    }
    # What the command may share of the inside: text, JSON, paths, names of files, images, values of options, and
    # JSON for code that is shared with modules. All else it has from the public headers.
    n = split("base/batch.h base/buf.h base/error.h base/mem.h base/nearest.h base/option.h base/path.h " \
        "base/sha256.h base/stderr_hint.h base/tally.h base/text.h json/scan.h json/schema.h json/skip.h " \
        "json/walk.h content/filename.h content/image.h plugin/services.h", helpers, " ")
    for (i = 1; i <= n; i++)
        shared[helpers[i]] = 1
    # And import, which reads files and values as the configuration does.
    exceptions = "cli/import/import.c:config/file.h " \
        "cli/import/import.c:config/jsontext.h cli/import/text.c:config/expand.h " \
        "cli/import/toml.h:config/jsontext.h"
    n = split(exceptions, list, " ")
    for (i = 1; i <= n; i++)
        exception[list[i]] = 1
}
function finding(text) { printf "%s:%d: %s\n", FILENAME, FNR, text }

FNR == 1 {
    n = split(FILENAME, part, "/")
    top = part[1]
    folder = top == "core" ? part[2] : top
    if (top == "core" && !(folder in level))
        finding("core/" folder " has no level in tests/lint/lint.sh")
}
!/^[ \t]*#[ \t]*include[ \t]*[<"]/ { next }
{
    quoted = $0 ~ /include[ \t]*"/
    name = $0
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*$/, "", name)
    to = name
    sub(/\/.*$/, "", to)
    free = top == "tests" || top == "bench"
}
# libwebsockets runs on libuv, so its module does.
name == "uv.h" && folder != "loop" && FILENAME !~ /^plugins\/websocket\// && !free {
    finding("uv.h belongs to core/loop")
}
name == "jansson.h" && top != "cli" && top != "examples" && !free &&
        FILENAME !~ /^core\/json\/schema\.[ch]$/ {
    finding("jansson.h belongs to core/json/schema")
}
# There is one reader of addresses, that of the modules, and one way to keep descriptors
# away from 0, 1 and 2; one encoder of Base64.
top == "core" && name ~ /^\.\.\/\.\.\/plugins\/common\/(base64|fds|ip|url)\.h$/ { next }
# The command may know what modules share: it is above all of them.
top == "cli" && quoted && name ~ /^plugins\/common\/[a-z0-9_]+\.h$/ { next }
top == "cli" && quoted && name ~ /^cli\/[a-z]+\/[a-z0-9_]+\.h$/ { next }
(top == "core" || top == "cli") && quoted && name != "config.h" {
    if (name !~ /\//) {
        finding("include \"" name "\" with its folder")
    } else if (!(to in level))
        finding(folder " may not include " name)
    else if (to != folder && level[to] >= level[folder])
        finding(folder " may not include " name ", which is not below it")
}
top == "cli" && quoted && to in level && !(name in shared) {
    if (!((FILENAME ":" name) in exception))
        finding("the command may not use " name "; see <mcplug/admin.h>")
    delete exception[FILENAME ":" name]
}
END {
    for (one in exception)
        printf "tests/lint/lint.sh: the exception %s is not needed\n", one
}
(top == "core" || top == "cli") && name ~ /_private\.h$/ && to != folder {
    finding(name " is for core/" to " alone")
}
top == "plugins" && !quoted && to == "mcplug" && name !~ /^mcplug\/(plugin|fetch)\.h$/ {
    finding("modules include <mcplug/plugin.h> and services alone of our headers")
}
top == "plugins" && quoted && name ~ /\// && name !~ /^\.\.\/common\/[a-z0-9_-]+\.h$/ {
    finding("modules include \"../common/...\" and files of their own folder only")
}
# The contract kit plays the core: what a locator answers is recorded by functions of the
# core, the server of a probe is reached as programs do, and a file to convert is of the
# type that the core would see in it.
FILENAME == "helpers/check/probe.c" && !quoted && name == "mcplug/mcplug.h" { next }
FILENAME == "helpers/check/converter.c" && name ~ /^content\/(filename|image)\.h$/ { next }
FILENAME ~ /^helpers\/check\/(ask|contract)\.c$/ && name == "connect/locate.h" { next }
FILENAME ~ /^helpers\/check\// && quoted && name ~ /^(base|loop|plugin|helpers\/check)\/[a-z0-9_]+\.h$/ { next }
# The worker loads a module as the core does, and shares the rest with who starts it.
FILENAME ~ /^helpers\/worker\// && name ~ /^(base|loop|plugin|convert|helpers\/worker)\/[a-z0-9_]+\.h$|^mcplug\/types\.h$|^config\.h$/ { next }
# The reaper and the module that starts it look for the same marks.
FILENAME == "helpers/mcplug-reaper.c" && quoted && name ~ /^\.\.\/plugins\/common\/[a-z]+\.h$/ { next }
top == "helpers" && (quoted || to == "mcplug") {
    finding("helpers include system headers only")
}
top == "examples" && (to == "mcplug" && name != "mcplug/mcplug.h" || quoted && name ~ /\//) {
    finding("examples include <mcplug/mcplug.h> alone of our headers")
}
# mcplug.h is in four files, which bring each other along; admin.h stands on it, and
# services on plugin.h
top == "include" && (quoted || to == "mcplug" && name != "mcplug/types.h" &&
    FILENAME " " name != "include/mcplug/admin.h mcplug/mcplug.h" &&
    FILENAME " " name != "include/mcplug/fetch.h mcplug/plugin.h" &&
    FILENAME " " name != "include/mcplug/mcplug.h mcplug/content.h" &&
    FILENAME " " name != "include/mcplug/content.h mcplug/mcplug.h" &&
    FILENAME " " name != "include/mcplug/mcplug.h mcplug/toolbox.h" &&
    FILENAME " " name != "include/mcplug/toolbox.h mcplug/mcplug.h" &&
    FILENAME " " name != "include/mcplug/mcplug.h mcplug/runs.h" &&
    FILENAME " " name != "include/mcplug/runs.h mcplug/mcplug.h") {
    finding("public headers include <mcplug/types.h> alone of our headers")
}
' $(sources $folders) >>"$found" ||
    echo "tests/lint/lint.sh: cannot check who includes whom" >>"$found"

# ---- no transport by its name ----
# What there is comes from modules, from what they declare and from the list of packages.
# config/type.c has the words of configuration files, cli/import those of other programs'.
# Left out: code for the schemes of URLs, probes, and programs that servers are run by.
grep -nE '"(stdio|https?|sse|websocket|wss?|unix|tcp|ssh|docker|podman|(sse|ws|http)-ide|streamable.?[hH]ttp)"' \
    $(sources core cli | grep -vE '^(core/config/type\.c|cli/import/)') |
    grep -vE ':[0-9]+: *(/?\*|//)' | grep -vE '/\*[^"]*"[^"]*"[^*]*\*/ *$' |
    grep -vE '^core/config/(policy_url|keys|schema)\.c:|^cli/doctor/(program|entry)\.c:' |
    sed 's/:\([0-9]*\):.*/:\1: names a transport; see core\/config\/type.c/' >>"$found"

# ---- one reader of URLs ----
# What one reader takes for a host and another for a user name deceives: whether a text is
# a URL says url_scheme(), and its parts are those of url_parse() (plugins/common/url.h).
# What is listed here reads something else; a line of the list that nothing matches fails.
#   mask.c         hides whatever might be a password, in any text, and shows no host for sure
#   resolve.c      USER@HOST of ssh, which is no URL
#   form_field.c   the look of an e-mail address, which the server judges
#   client.c       a URL that was refused is not quoted if it may hold a password
#   error.c        takes a login out of a message of libcurl
#   target.c       cuts the scheme off an origin that url_origin() wrote
#   ssh.c          USER@HOST
#   docker.c       an image has no @ here
grep -nE "(str(str|casestr|chr|rchr|chrnul|pbrk|spn|cspn|sep|tok(_r)?)|mem(chr|rchr|mem))\([^;\"]*, *(\"[^\"]*(://|@)|'@')|\[[a-z][^]]*\] == '@'" \
    $(sources core cli plugins helpers | grep -v '^plugins/common/url\.c$') |
    grep -vE ':[0-9]+: *(/?\*|//)' |
    awk -F: '
BEGIN {
    n = split("core/config/mask.c:2 core/config/resolve.c:1 cli/base/form_field.c:1 " \
        "plugins/fetch/client.c:1 plugins/fetch/error.c:2 plugins/websocket/target.c:1 " \
        "plugins/ssh/ssh.c:1 plugins/docker/docker.c:1", list, " ")
    for (i = 1; i <= n; i++) {
        split(list[i], pair, ":")
        allowed[pair[1]] = pair[2]
    }
}
allowed[$1]-- > 0 { next }
{ printf "%s:%s: takes a URL apart; see url_scheme() and url_parse()\n", $1, $2 }
END {
    for (file in allowed)
        if (allowed[file] > 0)
            printf "tests/lint/lint.sh: the exception of %s is not needed\n", file
}' >>"$found"

# ---- descriptors above 2 ----
# What the core and modules open is moved there by fds_high(), or opened between fds_plug()
# and fds_unplug(): plugins/common/fds.h says why. Left out is what is moved or tried in
# another way: core/loop/loop.c, core/config/secret.c, core/convert/pool.c and
# plugins/stdio/process.c.
awk '
FNR == 1 { is_plugged = 0; before = "" }
/^ *(\/\*|\*)/ { next }
{ sub(/\/\*.*/, "") }
/fds_plug\(/ { is_plugged = 1 }
/fds_unplug\(/ { is_plugged = 0 }
/(^|[^_>.a-z])(open|openat|socket|socketpair|pipe2?|eventfd|timerfd_create|epoll_create1|mkostemp|memfd_create|accept4|inotify_init1)\(|F_DUPFD(_CLOEXEC)?, 0/ {
    if (!is_plugged && (before $0) !~ /fds_high\(/)
        printf "%s:%d: may open 0, 1 or 2; see plugins/common/fds.h\n", FILENAME, FNR
}
{ before = $0 }
' $(sources core plugins | grep -vE '^(core/loop/loop|core/config/secret|core/convert/pool|plugins/stdio/process)\.c$|/fds\.h$') >>"$found"

# ---- every address is declared as one ----
# The policy judges settings by their type; modules of others are also judged by names.
grep -nE '\{"([a-zA-Z]*[uU]rl|proxy)", *"(string|secret)"' $(sources core plugins include) |
    sed 's/:\([0-9]*\):.*/:\1: an option that is an address has the type url/' >>"$found"

# ---- what the library shows ----
# Every function of a public header and everything that is MP_SHARED is in the map once, in
# the node of its header, and the map has nothing else. What is shared, the command uses;
# what is public, the command, a module, an example that embeds the library, or a test of
# a binding.
awk '
function node_of(file) {
    if (file ~ /^core\//)
        return "MCPLUG_PRIVATE"
    return file ~ /\/admin\.h$/ ? "MCPLUG_ADMIN_0" : "MCPLUG_0"
}
function finding(file, text) { printf "%s: %s\n", file, text }
FNR == 1 { text = ""; comment = 0 }
FILENAME ~ /\.map$/ {
    if ($2 == "{")
        node = $1
    else if (match($0, /^ +[a-z0-9_]+;$/)) {
        name = $1
        sub(/;/, "", name)
        if (name in shown)
            finding(FILENAME, name " is here twice")
        shown[name] = node
    }
    next
}
FILENAME ~ /^(cli|examples|plugins|tests\/python)\// { # strings and comments use nothing
    if (comment && !sub(/^.*\*\//, ""))
        next
    gsub(/"([^"\\]|\\.)*"/, "")
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ")
    comment = sub(/\/\*.*/, "")
    while (match($0, /[A-Za-z0-9_]+/)) {
        word = substr($0, RSTART, RLENGTH)
        if (word ~ /^mcplug_/ || FILENAME ~ /^cli\//)
            used[word] = 1
        $0 = substr($0, RSTART + RLENGTH)
    }
    next
}
/^#/ { next }
{ # a declaration may take several lines
    text = text $0 " "
    if (!match(text, /(MCPLUG_API|MP_SHARED) [^;(]*(\(|\[|;)/)) {
        if (text !~ /(MCPLUG_API|MP_SHARED) [^;]*$/)
            text = ""
        next
    }
    name = substr(text, RSTART, RLENGTH - 1)
    sub(/\[.*/, "", name)
    sub(/.*[ *]/, "", name)
    text = ""
    declared[name] = FILENAME
}
END {
    for (name in declared)
        if (!(name in shown))
            finding(declared[name], name " is not in core/libmcplug.map")
        else if (shown[name] != node_of(declared[name]))
            finding(declared[name], name " is in the wrong node of core/libmcplug.map")
        else if (shown[name] == "MCPLUG_PRIVATE" && !(name in used))
            finding(declared[name], name " is MP_SHARED, but the command does not use it")
        else if (!(name in used))
            finding(declared[name], name " is used by no command, module, example or binding")
    for (name in shown)
        if (!(name in declared))
            finding("core/libmcplug.map", name " is declared in no header")
}' core/libmcplug.map $(sources cli plugins) examples/*.c tests/python/*.py $(find include core -name '*.h' | sort) >>"$found" ||
    echo "tests/lint/lint.sh: cannot compare the map with the headers" >>"$found"

# ---- what the command prints ----
# Escapes of text make JSON invalid, and raw bytes reach a terminal: who prints JSON uses
# cli_out_json(), cli_out_item(), cli_out_tree() or cli_doc_json().
grep -nE '\<cli_out_(text|add)\(' $(sources cli | grep -vE '^cli/(base/(out|doc|content)|complete/(line|words))\.[ch]$') |
    sed 's/\(:[0-9]*\):.*/\1: text of results is printed by cli_doc_text(), JSON by cli_out_json()/' >>"$found"

# ---- sizes ----
# Hints, not findings: a file is as long as its object, a function as its thought.
wc -l $(sources $(ls -d core cli plugins helpers 2>/dev/null)) | awk '$2 != "total" && $1 > 800 {
    printf "hint: %s has %d lines\n", $2, $1 }' >&2

# A function begins with its type in the first column and ends with a brace there.
awk -v sizes="$sizes" '
FNR == 1 { start = 0; inside = 0 }
/^[A-Za-z_]/ && !inside && !start { start = FNR; head = $0 }
/;[ \t]*$/ && !inside { start = 0 }
/^{/ && start { inside = 1 }
/^}/ {
    if (inside) {
        lines = FNR - start + 1
        print lines > sizes
        if (lines > 80) {
            sub(/\(.*/, "", head)
            sub(/.*[ *]/, "", head)
            printf "hint: %s:%d: %s() has %d lines\n", FILENAME, start, head, lines > "/dev/stderr"
        }
    }
    start = inside = 0
}' $(sources $(ls -d core cli plugins helpers 2>/dev/null))

sort -n "$sizes" | awk '
{ size[NR] = $1 }
END {
    if (NR == 0)
        exit
    at = int(NR * 0.9 + 0.999999)
    printf "functions: %d, median %d lines, 90th percentile %d\n", NR,
        size[int((NR + 1) / 2)], size[at] > "/dev/stderr"
}'

# ---- words, lists ----

words='TO''DO|FIX''ME|XX''X'
grep -nwE "$words" $(sources $folders) Makefile.am tests/local.mk configure.ac dev \
    $(find m4 conf tests bench .ci -name node_modules -prune -o -type f \
        \( -name 'mcplug*' -o -name '*.sh' -o -name '*.test' -o -name run \) -print) |
    sed 's/\(:[0-9]*\):.*/\1: a note for later; do it or file it/' >>"$found"

for file in $(sources $folders); do
    grep -qE "(^|[[:space:]])${file%.c}(\\.c)?([[:space:]]|\$)" Makefile.am tests/local.mk ||
        echo "$file: in no list of Makefile.am or tests/local.mk"
done >>"$found"

# A suite is named after its file, so that what a test run tells can be found.
for file in tests/unit/*.c; do
    name=$(basename "$file" .c)
    sed -n 's/.*\(suite_create\|run_suite\)("\([^"]*\)".*/\2/p' "$file" | grep -vx "$name" |
        sed "s|.*|$file: the suite is called &, not $name|"
done >>"$found"

# ---- words of messages ----
# Texts in the code are read by people who did not write it: "expected X, got Y", not
# "wants X". The scripts of completion have comments of their own.
grep -nE '"[^"]*\<([Ww]ants|[Nn]obody|[Ss]omebody|[Ww]hoever|anew|brings? along|by and by|mends|tells more)\>[^"]*"' \
    $(sources core cli plugins helpers | grep -v '^cli/complete/script\.c$') |
    grep -vE ':[0-9]+: *(/?\*|//)' | grep -vE '/\*[^"]*"[^"]*"[^*]*\*/ *$' |
    sed 's/:\([0-9]*\):.*/:\1: a message in odd words; see HACKING, "Style, in short"/' >>"$found"

# doc/abi.md lists what the loader says. Of each message the longest run of words without
# a value (a name in quotes, a number, a capital for a path, a kind) stands in the code.
sed -n '/^| message/,/^$/p' doc/abi.md | cut -d'|' -f2 | grep -o '`[^`]*`' | tr -d '`' |
    while read -r message; do
        printf '%s\n' "$message" |
            sed 's/"[^"]*"\|[0-9][0-9a-fx.]*\|\<[A-Z]\>\|: .*\|…/\n/g
                 s/\<\(transport\|locator\|send\)\>/\n/g' |
            awk '{ gsub(/^ +| +$/, "") } length > length(best) { best = $0 } END { print best }'
    done | sort -u | while read -r words; do
    cat core/plugin/*.c | tr -d '\n' | sed 's/" *"//g' | grep -qF "$words" ||
        echo "doc/abi.md: no message of core/plugin has \"$words\""
done >>"$found"

# SECURITY.md names the test of each promise: `FILE` or `FILE`: `TEST`, `TEST`.
grep -o '`[^`]*`' SECURITY.md | tr -d '`' | awk '
/^tests\// { file = $0; if (system("test -e " file) != 0) print "SECURITY.md: there is no " file; next }
/^[a-z0-9_]+_[a-z0-9_]+$/ && file {
    if (system("grep -q " $0 " " file) != 0) print "SECURITY.md: " file " has no " $0
}' >>"$found"

# ---- public structs: of a size that no compiler and no release changes ----
# No enum as a member, whose size is up to the compiler, and no struct that grows
# (struct_size) by value in another.

awk '
/^(typedef )?struct [a-z_]+ [{]/ { name = $1 == "typedef" ? $3 : $2; inside = 1 }
inside && pass == 1 && /^ +uint32_t struct_size[;,]/ { grows[name] = 1 }
inside && pass == 2 && /^ +enum ([a-z_]+ )?([a-z_]+(, [a-z_]+)*;|[{].*[}] [a-z_]+;)/ {
    printf "%s:%d: an enum as a member of struct %s\n", FILENAME, FNR, name
}
inside && pass == 2 && /^ +(const )?struct [a-z_]+ [a-z_]+(\[.*\])?[;,]/ {
    type = $1 == "const" ? $3 : $2
    if (type in grows)
        printf "%s:%d: struct %s, which grows, by value in struct %s\n", FILENAME, FNR, type, name
}
/^[}]/ { inside = 0 }
' pass=1 include/mcplug/*.h pass=2 include/mcplug/*.h >>"$found"

# ---- layout ----

format=${CLANG_FORMAT:-clang-format}
if command -v "$format" >/dev/null; then
    "$format" --dry-run -Werror $(sources $folders | grep -v '^tests/modules/abi-') 2>&1 |
        sed -n 's/^\([^:]*\):\([0-9]*\):.*error:.*/\1:\2: make format would change this/p' |
        sort -u -t: -k1,1 >>"$found"
else
    echo "clang-format is missing" >>"$found"
fi

# ---- each public header alone, as C and as C++ ----

for header in include/mcplug/*.h; do
    for compile in "${CC:-cc} -x c -std=c99" "${CC:-cc} -x c -std=c11" \
        "${CXX:-c++} -x c++ -std=c++11" "${CXX:-c++} -x c++ -std=c++17"; do
        said=$(printf '#include <%s>\n' "${header#include/}" |
            $compile -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only - 2>&1) ||
            echo "$header: alone with $compile: $(echo "$said" | grep error | head -n 1)"
    done
done >>"$found"

cat "$found"
n=$(wc -l <"$found")
echo "lint: $n findings" >&2
[ "$n" -eq 0 ]
