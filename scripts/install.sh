#!/usr/bin/env bash
# Copies the program to PREFIX/bin.
#
#   scripts/install.sh PROGRAM [PREFIX]
#
# The default PREFIX is /usr/local if you may write there, otherwise ~/.local.
set -euo pipefail

# --help prints the comment above.
case ${1:-} in -h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

program=${1:?missing PROGRAM; see scripts/install.sh --help}
prefix=${2:-}
if [ -z "$prefix" ]; then
    if [ -w /usr/local/bin ]; then prefix=/usr/local; else prefix=${HOME:?HOME is not set; set PREFIX=FOLDER}/.local; fi
fi
bin=$prefix/bin

mkdir -p "$bin"
# Renamed into place, because a running program can't be overwritten.
cp "$program" "$bin/.toolway.new"
chmod 755 "$bin/.toolway.new"
mv -f "$bin/.toolway.new" "$bin/toolway"
printf 'installed %s\n' "$bin/toolway"

found=$(command -v toolway || true)
if [ -z "$found" ]; then
    printf '    hint: %s is not on your PATH; add it:  export PATH="%s:$PATH"\n' "$bin" "$bin"
elif [ "$(readlink -f "$found")" != "$(readlink -f "$bin/toolway")" ]; then
    printf '    hint: your shell finds another program first: %s\n' "$found"
fi
