#!/usr/bin/env bash
# Runs coverage-guided fuzzing of every parser of untrusted bytes. Findings are stored in fuzz/artifacts. Copy useful
# cases to fuzz/corpus, which `make test` replays with the stable compiler.
#
#   scripts/fuzz.sh               all targets
#   scripts/fuzz.sh TARGET...     only these targets; fuzz/fuzz_targets contains all of them
#
# FUZZ_SECONDS sets the seconds per target (default 60).
set -euo pipefail

# --help prints the comment above.
case ${1:-} in -h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${FUZZ_SECONDS:-60}
missing=()
cargo +nightly --version >/dev/null 2>&1 || missing+=("a nightly compiler (rustup toolchain install nightly)")
cargo fuzz --version >/dev/null 2>&1 || missing+=("cargo-fuzz (cargo install cargo-fuzz)")
command -v c++ >/dev/null 2>&1 || missing+=("a C++ compiler (on Debian: apt-get install g++)")
if [ ${#missing[@]} -gt 0 ]; then
    printf 'fuzzing requires:\n' >&2
    printf '    %s\n' "${missing[@]}" >&2
    printf '    hint: make test replays the corpus in fuzz/corpus without them\n' >&2
    exit 1
fi

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cargo +nightly fuzz list)
for target in "${targets[@]}"; do
    printf '\n==> %s for %s s\n' "$target" "$seconds"
    # New inputs go to a separate folder, so that the checked-in corpus stays small.
    grown=${CARGO_TARGET_DIR:-target}/fuzz-corpus/$target
    mkdir -p "$grown"
    cargo +nightly fuzz run "$target" "$grown" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -max_len=65536 -timeout=10
done
