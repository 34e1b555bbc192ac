#!/usr/bin/env bash
# Prints the tables of figures: remote calls compared with a bare relay in the same run, and the engine alone. The bare
# MCP server is built with the release profile.
#
#   scripts/bench.sh                  all tables
#   scripts/bench.sh ARGUMENT...      run toolway-load with these arguments instead of --table
set -euo pipefail

# --help prints the comment above.
case ${1:-} in -h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

target_dir=${CARGO_TARGET_DIR:-target}
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
if [ $# -eq 0 ]; then set -- --table; fi

cargo build --profile dist --package toolway --package toolway-load
cargo build --release --package toolway-load
export TOOLWAY_LOAD_PLAIN=$target_dir/release/toolway-load
TOOLWAY_BIN=${TOOLWAY_BIN:-$target_dir/dist/toolway} "$target_dir/dist/toolway-load" "$@"
cargo bench --profile dist --package toolway-core --package toolway-tools --package toolway-models
