#!/usr/bin/env bash
# Runs the checks and ends with one line, 'N passed, N failed': the tests of cargo, pytest, the conformance suite of
# MCP and Maven, plus one failure for each step that could not run its tests (formatting, lints, a build).
#
#   scripts/test.sh all    everything
#   scripts/test.sh fast   without the end-to-end, Python and Java parts
#
# A failed step does not prevent the next one. The exit code is 0 only if nothing failed. `all` runs all other steps
# beside the tests in Rust, because tests mostly wait.
set -uo pipefail

# --help prints the comment above.
case ${1:-} in -h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-all}
target_dir=${CARGO_TARGET_DIR:-target}
# Tests start programs from other folders.
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
venv=${TOOLWAY_PYTHON_VENV:-$target_dir/python-venv}
export TOOLWAY_BIN=${TOOLWAY_BIN:-$target_dir/debug/toolway}
# CI builds exactly what Cargo.lock says.
locked=${CI:+--locked}
work=$(mktemp -d)
log=$work/log
declare -A pids=()
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT

passed=0 failed=0 skipped=0 failed_steps=()

# title NAME: starts a step, and prints the time since the start.
title() { printf '\n==> %s (after %d:%02d)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }
# count PASSED FAILED SKIPPED
count() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }
# step_failed NAME [FAILED_TESTS]: counts a failed step as at least one failure.
step_failed() {
    failed_steps+=("$1")
    [ "${2:-0}" -gt 0 ] || failed=$((failed + 1))
}

# check NAME COMMAND...: runs a step without tests of its own.
check() {
    title "$1"
    "${@:2}" || step_failed "$1"
}

# start NAME COMMAND...: starts a step beside the next ones. `finish NAME` prints its output.
start() {
    {
        "${@:2}" >"$work/$1.out" 2>&1
        local status=$?
        : >"$work/$1.ended"
        exit $status
    } &
    pids[$1]=$!
}

# after NAME COMMAND...: runs a command once the step NAME has ended, also if it failed.
after() {
    until [ -e "$work/$1.ended" ]; do sleep 1; done
    "${@:2}"
}

# finish NAME: waits for a step that runs beside others, and returns its exit code.
finish() {
    title "$1"
    wait "${pids[$1]}"
    local status=$?
    cat "$work/$1.out"
    return $status
}

# when_tests_are_compiled COMMAND...: runs a command once `cargo test` runs its first test. Until then
# the two would compete for the processor or for Cargo's lock.
when_tests_are_compiled() {
    until grep -qsE '^ +Running ' "$log" || [ -e "$work/tests-ended" ]; do sleep 1; done
    "$@"
}

# cargo_tests NAME ARGUMENTS...: runs `cargo test` and adds up its results.
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

# count_reports NAME STATUS FILES...: adds up the results in the JUnit reports of a step. A step without any test has
# failed.
count_reports() {
    local name=$1 status=$2 results ok bad
    results=$("$venv/bin/python" - "${@:3}" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
total = bad = skipped = 0
for name in sys.argv[1:]:
    try:
        suites = list(tree.parse(name).iter("testsuite"))
    except (OSError, tree.ParseError):
        continue
    of = lambda *keys: sum(int(s.get(k, 0)) for s in suites for k in keys)
    total, bad, skipped = total + of("tests"), bad + of("failures", "errors"), skipped + of("skipped")
print(total - bad - skipped, bad, skipped)
PYTHON
    ) || results="0 0 0"
    # shellcheck disable=SC2086
    count $results
    read -r ok bad _ <<<"$results"
    [ "$status" -eq 0 ] && [ "$bad" -eq 0 ] && [ "$ok" -gt 0 ] || step_failed "$name" "$bad"
}

# finish_check NAME: finishes a step without tests of its own.
finish_check() { finish "$1" || step_failed "$1"; }

# finish_tests NAME REPORTS...: waits for a step and reads the results from its JUnit reports.
finish_tests() {
    finish "$1"
    count_reports "$1" $? "${@:2}"
}

# Folder of Maven's results.
java_build=$target_dir/android/build

# java_tests: runs all modules of android/. Maven does not contact a registry for cached packages.
java_tests() {
    rm -rf "$java_build"/*/surefire-reports
    # Tests build manifests with aapt, which is also in an Android SDK.
    if [ -n "${ANDROID_HOME:-}" ]; then
        PATH="$PATH:$(find "$ANDROID_HOME/build-tools" -mindepth 1 -maxdepth 1 | sort -V | tail -n 1)"
    fi
    # A failed test does not stop the others, so the reports show the failures.
    mvn -q -B -f android/pom.xml test --fail-at-end -Dmaven.test.failure.ignore=true "-Dtoolway.build=$java_build" \
        "-Dtoolway.bin=$TOOLWAY_BIN" \
        "-Dtoolway.jni=$target_dir/debug/libtoolway_android_jni.so" \
        "-Dtoolway.fakeModels=$target_dir/debug/fake-models" \
        "-Dtoolway.apks=$target_dir/android"
}

# finish_java_tests NAME: waits for Maven and reads the results from its reports.
finish_java_tests() {
    local reports
    finish "$1"
    local status=$?
    mapfile -t reports < <(find "$java_build" -path '*/surefire-reports/TEST-*.xml')
    count_reports "$1" "$status" ${reports[@]+"${reports[@]}"}
}

case $mode in all | fast) ;; *)
    printf 'usage: %s all|fast\n' "$0" >&2
    exit 2
    ;;
esac

# Prints the language figures of the tree; fails only for former names and dead references.
python=$(command -v python3 || true)
[ -x "$venv/bin/python" ] && python=$venv/bin/python
if [ -n "$python" ] || [ "$mode" = all ]; then
    check "words" "${python:-python3}" scripts/words.py
fi
check "format" cargo fmt --all --check
lints=(cargo clippy $locked --workspace --all-targets -- -D warnings)
[ "$mode" = all ] || check "lints" "${lints[@]}"
# Tests start the real programs, and Java loads the library. Each command builds the whole workspace, so that
# dependencies have the same features in all of them and are compiled once.
check "build" cargo build $locked --workspace
if [ "$mode" = all ]; then
    # The longest step starts first. Steps of one chain run one after the other, so that at most three use the
    # processor besides the tests in Rust.
    start "tests in Python" when_tests_are_compiled \
        "$venv/bin/python" -m pytest tests/python --junitxml="$work/python.xml"
    start "apps for Android" when_tests_are_compiled scripts/android.sh
    start "content of the apps for Android" after "apps for Android" scripts/check-android.sh
    start "tests in Java" after "content of the apps for Android" java_tests
    start "conformance of MCP" after "tests in Java" scripts/conformance.sh --junit "$work/conformance.xml"
    if command -v valgrind >/dev/null; then
        start "instructions of a call" after "conformance of MCP" scripts/count-instructions.sh
    fi
    start "lints" when_tests_are_compiled nice -n 10 "${lints[@]}"
    start "links in Rust's documentation" after "lints" nice -n 10 \
        env RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links" cargo doc $locked --workspace --no-deps
    cargo_tests "tests in Rust" --workspace
    : >"$work/tests-ended"
    finish_check "apps for Android"
    finish_check "content of the apps for Android"
    finish_java_tests "tests in Java"
    finish_tests "conformance of MCP" "$work/conformance.xml"
    finish_tests "tests in Python" "$work/python.xml"
    [ -z "${pids["instructions of a call"]:-}" ] || finish_check "instructions of a call"
    finish_check "lints"
    finish_check "links in Rust's documentation"
else
    cargo_tests "tests in Rust" --workspace --exclude toolway-tests --features toolway-wire/schema
    cargo_tests "repository checks" --workspace \
        --test code_map --test documents --test fuzz_corpus --test repository --test settings_document
fi

if [ ${#failed_steps[@]} -gt 0 ]; then
    printf '\nfailed: %s\n' "$(printf '%s, ' "${failed_steps[@]}" | sed 's/, $//')"
fi
printf '\n%d passed, %d failed' "$passed" "$failed"
[ "$skipped" -eq 0 ] || printf ', %d skipped' "$skipped"
printf '\n'
[ "$failed" -eq 0 ]
