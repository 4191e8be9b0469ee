#!/bin/sh
# run.sh BUILDDIR: every test against real servers, one line each, and then
# `N passed, N failed`; what needs a module that was not built has a line SKIP.
# ONLY="legacy modern" runs these programs alone.
set -eu
[ $# = 1 ] || { echo "usage: $0 BUILDDIR" >&2; exit 2; }
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
"$src/tests/npm-install.sh" "$src/tests/real" "$build/npm"

export MCPLUG_SRC="$src"
export MCPLUG_TEST_NPM="$build/npm"
export MCPLUG_PLUGIN_PATH="${MCPLUG_PLUGIN_PATH:-$build/plugins/.libs}"
export MCPLUG_HELPER_PATH="${MCPLUG_HELPER_PATH:-$build/helpers}"
export CK_VERBOSITY=verbose

# Suites over what no module was built for are skipped.
MCPLUG_TEST_LACKS=' '
for type in http sse ws sse-ide ws-ide; do
    "$build/mcplug" plugins "$type" >/dev/null 2>&1 || MCPLUG_TEST_LACKS="$MCPLUG_TEST_LACKS$type "
done
export MCPLUG_TEST_LACKS

all=$(mktemp)
trap 'rm -f "$all"' EXIT
for name in ${ONLY:-everything legacy modern http modern_http sse websocket ide proxy keyring ssh podman named fleet docs differ tokens results big-results images html pdf screenshot models-sdk runs}; do
    case $name in differ | docs | named)
        if [ "$MCPLUG_TEST_LACKS" != ' ' ]; then
            echo "SKIP: $name: no module offers$MCPLUG_TEST_LACKS"
            continue
        fi
        ;;
    esac
    case $name in big-results | differ | docs | fleet | html | images | keyring | models-sdk | named | pdf | podman | results | runs | screenshot | ssh | tokens)
        [ ! -f "$build/Makefile" ] || make -s -C "$build" tests/real/vault \
            bench/mcplug-results bench/result-server >/dev/null
        "$src/tests/real/$name.sh" "$build" | tee -a "$all"
        continue
        ;;
    esac
    program=tests/real/real_$name
    [ ! -f "$build/Makefile" ] || make -s -C "$build" "$program" >/dev/null
    status=0
    "$build/$program" >"$all.one" 2>&1 || status=$?
    # check writes FILE:LINE:RESULT:SERVER:TEST:ITERATION: MESSAGE
    awk -v program="$program" -v status=$status '
        $0 ~ /^[^:]+:[0-9]+:[PFES]:/ {
            split($0, part, ":")
            test = part[5]
            gsub(/_/, " ", test)
            if (part[3] == "P")
                print "PASS: " part[4] ": " test
            else {
                told = 1
                message = $0
                for (i = 0; i < 6; i++)
                    sub(/^[^:]*: */, "", message)
                print "FAIL: " part[4] ": " test " (" part[1] ":" part[2] ": " message ")"
            }
            next
        }
        !/^Running suite|^[0-9]+%: |^ |^$/
        END { if (status && !told) print "FAIL: " program ": exit status " status }
    ' "$all.one" | tee -a "$all"
    rm -f "$all.one"
done
passed=$(grep -c '^PASS: ' "$all" || true)
failed=$(grep -c '^FAIL: ' "$all" || true)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
