#!/usr/bin/env bash
# Makes the data folder beside this file anew: make.sh TOOLWAY [OUT]
#
# TOOLWAY is the program of the commit that README.md names, with fake-models and fake-mcp of the same build beside
# it. OUT is the folder for the results, this one where none is named. PYTHON may name an interpreter that has what
# tests/python/requirements.txt lists; else an environment with what is needed is made and thrown away.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
program="$(realpath "${1:?usage: make.sh TOOLWAY [OUT]}")"
out="$(realpath -m "${2:-$here}")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

python="${PYTHON:-}"
if [ -z "$python" ]; then
    python3 -m venv "$work/venv"
    python="$work/venv/bin/python"
    "$python" -m pip install --quiet --disable-pip-version-check httpx==0.28.1 websockets==17.4 'PyJWT[crypto]==2.15.1'
fi
env -i PATH="$PATH" LANG=C.UTF-8 TZ=UTC HOME="$work/home" PYTHONDONTWRITEBYTECODE=1 \
    "$python" "$here/make.py" "$program" "$work/run" "$out"
