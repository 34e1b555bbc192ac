#!/usr/bin/env bash
# Runs the conformance suite of the Model Context Protocol and prints one line per part, such as `server 2025-11-25
# 30/30`. The exit code is 0 only if nothing fails beside tests/conformance/known_failures.json.
#
#   scripts/conformance.sh                 everything
#   scripts/conformance.sh --fixture       test the tests' own server alone
#   scripts/conformance.sh --role ROLE     test only this role: server or client
#   scripts/conformance.sh --junit FILE    also write a JUnit report to FILE
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
export CARGO_TARGET_DIR=$target_dir
venv=${TOOLWAY_PYTHON_VENV:-$target_dir/python-venv}

# scripts/test.sh sets TOOLWAY_BIN and has built everything.
[ -n "${TOOLWAY_BIN:-}" ] || cargo build ${CI:+--locked} --workspace --bins
exec "$venv/bin/python" tests/conformance/run.py "$@"
