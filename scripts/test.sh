#!/usr/bin/env bash
# Runs the checks and closes with one line, 'N passed, N failed': tests of cargo and pytest together, and one
# failure more for each step that could not run them (formatting, lints, a build).
#
#   scripts/test.sh all    everything
#   scripts/test.sh fast   without the end-to-end and Python parts
#
# A failing step does not keep the next from running. The exit code is 0 only where nothing failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-all}
target_dir=${CARGO_TARGET_DIR:-target}
# Tests start programs from other folders.
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
venv=${TOOLWAY_PYTHON_VENV:-$target_dir/python-venv}
export TOOLWAY_BIN=${TOOLWAY_BIN:-$target_dir/debug/toolway}
# CI builds exactly what Cargo.lock says.
locked=${CI:+--locked}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

passed=0 failed=0 skipped=0 failed_steps=()

title() { printf '\n==> %s\n' "$1"; }
# count PASSED FAILED SKIPPED
count() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }
# step_failed NAME [TESTS THAT FAILED IN IT]: a step that ended badly counts as one failure at least.
step_failed() {
    failed_steps+=("$1")
    [ "${2:-0}" -gt 0 ] || failed=$((failed + 1))
}

# check NAME COMMAND...: a step without tests of its own.
check() {
    title "$1"
    "${@:2}" || step_failed "$1"
}

# cargo_tests NAME ARGUMENTS...: `cargo test`, its results added up.
cargo_tests() {
    title "$1"
    cargo test $locked --no-fail-fast "${@:2}" 2>&1 | tee "$log"
    local status=${PIPESTATUS[0]} results
    results=$(awk '/^test result: / { for (i = 1; i < NF; i++) {
            if ($(i + 1) ~ /^passed;/) p += $i
            if ($(i + 1) ~ /^failed;/) f += $i
            if ($(i + 1) ~ /^ignored;/) s += $i } }
        END { print p + 0, f + 0, s + 0 }' "$log")
    # shellcheck disable=SC2086
    count $results
    [ "$status" -eq 0 ] || step_failed "$1" "$(cut -d' ' -f2 <<<"$results")"
}

# python_tests NAME: pytest, its results read from its own report.
python_tests() {
    title "$1"
    local report=$log.xml status results
    "$venv/bin/python" -m pytest tests/python --junitxml="$report"
    status=$?
    results=$("$venv/bin/python" - "$report" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
try:
    suites = list(tree.parse(sys.argv[1]).iter("testsuite"))
except (OSError, tree.ParseError):
    suites = []
total, bad, skipped = (sum(int(s.get(k, 0)) for s in suites for k in keys)
                       for keys in (("tests",), ("failures", "errors"), ("skipped",)))
print(total - bad - skipped, bad, skipped)
PYTHON
    ) || results="0 0 0"
    rm -f "$report"
    # shellcheck disable=SC2086
    count $results
    [ "$status" -eq 0 ] || step_failed "$1" "$(cut -d' ' -f2 <<<"$results")"
}

case $mode in all | fast) ;; *)
    printf 'usage: %s all|fast\n' "$0" >&2
    exit 2
    ;;
esac

check "format" cargo fmt --all --check
check "lints" cargo clippy $locked --workspace --all-targets -- -D warnings
check "lints of the schema feature" \
    cargo clippy $locked --package toolway-wire --features schema --all-targets -- -D warnings
# The end-to-end tests start the real program.
check "build" cargo build $locked --workspace --bins
if [ "$mode" = all ]; then
    cargo_tests "tests in Rust" --workspace
else
    cargo_tests "tests in Rust" --workspace --exclude toolway-tests
    cargo_tests "repository checks" --package toolway-tests \
        --test code_map --test documents --test fuzz_corpus --test repository --test settings_document
fi
[ "$mode" = fast ] || check "links in Rust's documentation" \
    env RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links" cargo doc $locked --workspace --no-deps
cargo_tests "published schemas" --package toolway-wire --features schema --test schemas
if [ "$mode" = all ]; then
    # The bodies that the Python tests hold against the official SDKs.
    check "request bodies" cargo build $locked --package toolway-models --example bodies
    python_tests "tests in Python"
fi

if [ ${#failed_steps[@]} -gt 0 ]; then
    printf '\nfailed: %s\n' "$(printf '%s, ' "${failed_steps[@]}" | sed 's/, $//')"
fi
printf '\n%d passed, %d failed' "$passed" "$failed"
[ "$skipped" -eq 0 ] || printf ', %d skipped' "$skipped"
printf '\n'
[ "$failed" -eq 0 ]
