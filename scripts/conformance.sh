#!/usr/bin/env bash
# Runs the conformance suite of the Model Context Protocol and prints one line a leg, such as `server 2025-11-25 30/30`.
# Ends with 0 only where all are full. Arguments go to tests/conformance/run.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target_dir=${CARGO_TARGET_DIR:-target}
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
export CARGO_TARGET_DIR=$target_dir
venv=${TOOLWAY_PYTHON_VENV:-$target_dir/python-venv}

# As scripts/test.sh builds them, so that nothing is built twice.
cargo build ${CI:+--locked} --workspace --bins
exec "$venv/bin/python" tests/conformance/run.py "$@"
