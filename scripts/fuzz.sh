#!/usr/bin/env bash
# Runs coverage-guided fuzzing of every parser of untrusted bytes, with the compiler that builds Toolway. An interrupted
# run continues: the folder of build results keeps what the fuzzer found and the seconds of each target.
#
#   scripts/fuzz.sh                      all targets
#   scripts/fuzz.sh TARGET...            only these targets; fuzz/fuzz_targets contains all of them
#   scripts/fuzz.sh TARGET... -- -only_ascii=1    with options of libFuzzer
#   scripts/fuzz.sh --status             seconds, covered edges and inputs of each target
#   scripts/fuzz.sh --keep [TARGET...]   copy small inputs that reach new edges to fuzz/corpus
#
# The fuzzer writes an input that fails to fuzz/artifacts. Fix the fault, and copy the input to fuzz/corpus under a name
# that describes it. `make test` replays this corpus.
#
# FUZZ_SECONDS sets the processor seconds of each target, earlier runs included (default 60). FUZZ_JOBS sets the number
# of targets that run at the same time (default 2).
set -euo pipefail

# --help prints the comment above.
case ${1:-} in -h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${FUZZ_SECONDS:-60}
jobs=${FUZZ_JOBS:-2}
# An interruption loses at most this time.
slice=60
min_slice=5
# Files of the corpus are small and few, because `make test` replays them.
max_kept_bytes=4096
max_kept=24

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
state=$CARGO_TARGET_DIR/fuzz-state
grown=$CARGO_TARGET_DIR/fuzz-corpus
platform=$(rustc -vV | sed -n 's/^host: //p')
binaries=$CARGO_TARGET_DIR/$platform/fuzz

mode=run
case ${1:-} in --status | --keep)
    mode=${1#--}
    shift
    ;;
esac
targets=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    if [ ! -f "fuzz/fuzz_targets/$1.rs" ]; then
        printf 'there is no target %s\n    hint: fuzz/fuzz_targets contains all of them\n' "$1" >&2
        exit 1
    fi
    targets+=("$1")
    shift
done
[ $# -eq 0 ] || shift
options=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in fuzz/fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi

build() {
    if ! command -v c++ >/dev/null 2>&1; then
        printf 'fuzzing needs a C++ compiler\n    hint: on Debian, run apt-get install g++\n' >&2
        exit 1
    fi
    # The same instrumentation as `cargo fuzz`, which needs a nightly compiler only for its sanitizers.
    local flags=(
        -Cpasses=sancov-module
        -Cllvm-args=-sanitizer-coverage-level=4
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
        -Cllvm-args=-sanitizer-coverage-pc-table
        -Cllvm-args=-sanitizer-coverage-trace-compares
    )
    local programs=()
    for target in "${targets[@]}"; do programs+=(--bin "$target"); done
    # With --target, the flags do not apply to build scripts.
    RUSTFLAGS="${RUSTFLAGS:-} ${flags[*]}" cargo build --manifest-path fuzz/Cargo.toml --profile fuzz \
        --target "$platform" "${programs[@]}"
}

# The processor seconds that a target has run, with fractions.
seconds_of() { cat "$state/$1.seconds" 2>/dev/null || echo 0; }

# The last number after a word in a target's log: last_number TARGET WORD.
last_number() { sed -n "s/.* $2: \([0-9]*\).*/\1/p" "$state/$1.log" 2>/dev/null | tail -n 1; }

# Runs a target until it has its seconds. Fails if it found something. Runs in a shell of its own, because it changes the
# limit of the stack: threads of the gateway have 2 MiB.
fuzz_target() {
    local target=$1 spent status=0 TIMEFORMAT='%U %S'
    ulimit -S -s 2048
    mkdir -p "$grown/$target" "fuzz/artifacts/$target"
    while spent=$(seconds_of "$target") && [ "${spent%.*}" -lt "$seconds" ]; do
        # On a busy computer, a slice has fewer processor seconds. The next ones make up for it.
        local left=$((seconds - ${spent%.*}))
        { time "$binaries/$target" "$grown/$target" "fuzz/corpus/$target" -max_len=65536 -timeout=10 \
            -max_total_time="$((left < min_slice ? min_slice : left < slice ? left : slice))" \
            -artifact_prefix="fuzz/artifacts/$target/" "${options[@]}" \
            >"$state/$target.log" 2>&1; } 2>"$state/$target.time" || status=$?
        awk -v spent="$spent" '{ spent += $1 + $2 } END { printf "%.2f\n", spent }' "$state/$target.time" \
            >"$state/$target.new"
        mv "$state/$target.new" "$state/$target.seconds"
        if [ "$status" -ne 0 ]; then
            printf '%s: failed; the input is in fuzz/artifacts/%s, the messages in %s\n' \
                "$target" "$target" "$state/$target.log" >&2
            return 1
        fi
    done
    printf '%s: %s s, %s edges\n' "$target" "$(seconds_of "$target" | cut -d . -f 1)" \
        "$(last_number "$target" cov)"
}

run() {
    local failed=0 running=0
    build
    mkdir -p "$state"
    for target in "${targets[@]}"; do
        if [ "$running" -ge "$jobs" ]; then
            wait -n || failed=1
            running=$((running - 1))
        fi
        fuzz_target "$target" &
        running=$((running + 1))
    done
    while [ "$running" -gt 0 ]; do
        wait -n || failed=1
        running=$((running - 1))
    done
    return "$failed"
}

status() {
    printf '%-18s %8s %8s %8s\n' target seconds edges inputs
    for target in "${targets[@]}"; do
        printf '%-18s %8s %8s %8s\n' "$target" "$(seconds_of "$target" | cut -d . -f 1)" \
            "$(last_number "$target" cov)" "$(find "$grown/$target" -type f 2>/dev/null | wc -l)"
    done
}

keep() {
    build
    mkdir -p "$state"
    for target in "${targets[@]}"; do
        local control=$state/$target.merge merged=$state/$target.merged kept=0
        rm -rf "$control" "$merged"
        cp -r "fuzz/corpus/$target" "$merged"
        mkdir -p "$grown/$target"
        "$binaries/$target" -merge=1 -merge_control_file="$control" -max_len="$max_kept_bytes" "$merged" \
            "$grown/$target" >"$state/$target.log" 2>&1
        # The control file lists all files, and after each one's number the edges that no earlier file reached.
        while read -r _ input; do
            [ "$(wc -c <"$input")" -le "$max_kept_bytes" ] || continue
            cp "$input" "fuzz/corpus/$target/reached-$(basename "$input" | cut -c 1-12)"
            kept=$((kept + 1))
        done < <(awk -v grown="$grown/$target/" '
            FNR > 2 && !/^(STARTED|FT|COV|DONE) / { files[count++] = $0 }
            $1 == "COV" && NF > 2 && index(files[$2], grown) == 1 { print NF - 2, files[$2] }
        ' "$control" | sort -rn | head -n "$max_kept")
        printf '%s: %s new inputs\n' "$target" "$kept"
    done
}

"$mode"
