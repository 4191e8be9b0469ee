# For tests that need an installed mcplug; they read this file with `.`.
#
#   $tmp      a directory of the test's own, removed at its end
#   $MCPLUG   the installed command, in PATH too, and mcplug-example-server with it
#   pkg-config, which finds the installed files
#
# As a rule the files of $MCPLUG_BUILD are installed below $tmp with DESTDIR. The command
# then looks for its files in the wrong place, and variables tell it the right one. With
# MCPLUG_TEST_SLOW=1 another build is made, with a prefix below $tmp, and no variables.
# shellcheck shell=sh disable=SC2034
umask 022 # modules that others can write are not loaded
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR MCPLUG_PLUGIN_PATH MCPLUG_HELPER_PATH \
    MCPLUG_MODULE_PACKAGES
tmp=$(mktemp -d) && tmp=$(cd "$tmp" && pwd -P) || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
failed=0

wrong() { # MESSAGE
    failed=1
    echo "FAIL: $*"
}

# expect CODE 'PART OF ALL OUTPUT' COMMAND..
expect() {
    code=$1 part=$2
    shift 2
    said=$("$@" 2>&1 </dev/null)
    got=$?
    [ $got -eq "$code" ] || wrong "$*: exit code $got, not $code: $said"
    case $said in
    *"$part"*) ;;
    *) wrong "$*: no \"$part\" in: $said" ;;
    esac
}

found() { # PATTERN: the one installed file of that name
    set -- "$(find "$tmp/root" -path "*/$1" | head -n 1)"
    [ -n "$1" ] || exit 99
    echo "$1"
}

if [ "${MCPLUG_TEST_SLOW:-0}" = 1 ] && [ ! -f "$MCPLUG_SRC/config.status" ]; then
    root=
    mkdir "$tmp/build" && cd "$tmp/build" &&
        "$MCPLUG_SRC/configure" -q --prefix="$tmp/root" CC="${CC:-cc}" >"$tmp/log" 2>&1 &&
        make -j4 install >>"$tmp/log" 2>&1
else
    root=$tmp/root
    make -C "$MCPLUG_BUILD" install DESTDIR="$root" >"$tmp/log" 2>&1
fi || { cat "$tmp/log"; exit 99; }

MCPLUG=$(found bin/mcplug)
libdir=$(found libmcplug.so) && libdir=${libdir%/*}
PKG_CONFIG_PATH=$(found mcplug.pc) && PKG_CONFIG_PATH=${PKG_CONFIG_PATH%/*}
export PKG_CONFIG_PATH PATH="${MCPLUG%/*}:$MCPLUG_BUILD/examples:$PATH"
if [ -n "$root" ]; then
    export PKG_CONFIG_SYSROOT_DIR="$root"
    MCPLUG_HELPER_PATH=$(found mcplug-reaper)
    export MCPLUG_HELPER_PATH="${MCPLUG_HELPER_PATH%/*}"
    MCPLUG_MODULE_PACKAGES=$(found mcplug/module-packages) && export MCPLUG_MODULE_PACKAGES
    export LD_LIBRARY_PATH="$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
# Some programs called pkg-config put the root before variables, some do not.
plugindir=$(pkg-config --variable=plugindir mcplug-plugin) || exit 99
plugindir=$root${plugindir#"$root"}
[ -z "$root" ] || export MCPLUG_PLUGIN_PATH="$plugindir"
mkdir "$tmp/work" && cd "$tmp/work" || exit 99
