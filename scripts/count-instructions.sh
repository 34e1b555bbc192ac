#!/usr/bin/env bash
# Counts the instructions per call of the gateway that `make test` builds, with valgrind. Fails if the
# runtime's thread has 3 % more, or the threads that write records 25 % more, than the earlier count for this compiler in
# bench/load/call-instructions.json.
#
#   scripts/count-instructions.sh             compares
#   scripts/count-instructions.sh --update    stores the new count
set -euo pipefail

# --help prints the comment above.
case ${1:-} in -h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

target_dir=${CARGO_TARGET_DIR:-target}
compiler=$(rustc -vV | sed -n 's/^release: //p')
host=$(rustc -vV | sed -n 's/^host: //p')
update=()
[ "${1:-}" != --update ] || update=(--update-baseline)
exec "$target_dir/debug/toolway-load" --instructions --gateway "$target_dir/debug/toolway" \
    --baseline bench/load/call-instructions.json --compiler "$compiler $host" ${update[@]+"${update[@]}"}
