#!/usr/bin/env bash
# Builds the program, and prints how long a first build may take.
#
#   scripts/build.sh [PROFILE]    the default PROFILE is dev
set -euo pipefail

# --help prints the comment above.
case ${1:-} in -h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=${1:-dev}
folder=$profile
[ "$profile" = dev ] && folder=debug
target_dir=${CARGO_TARGET_DIR:-target}

if [ ! -x "$target_dir/$folder/toolway" ]; then
    case $profile in
    dev) printf 'Building Toolway. The first build takes about 5 minutes on two idle cores; later ones take seconds.\n' >&2 ;;
    *) printf 'Building Toolway with the profile %s. This takes 10 to 20 minutes on two cores.\n' "$profile" >&2 ;;
    esac
fi
case $profile in
# With the whole workspace's features, so that `make test` does not compile the libraries again.
dev) exec cargo build ${CI:+--locked} --workspace --bin toolway ;;
*) exec cargo build ${CI:+--locked} --profile "$profile" --package toolway ;;
esac
