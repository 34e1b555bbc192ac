#!/usr/bin/env bash
# Prints the overhead of the bridge for app providers, measured in a Java virtual machine with the framework's real
# classes. With adb, also compares a call over adb with the bare `adb shell content call`. Builds what it needs with
# the profile of packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target_dir=${CARGO_TARGET_DIR:-target}
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac

cargo build --profile dist --package toolway
cargo build --profile dist --package toolway-android-jni --example figures
mvn -q -B -f android/pom.xml test --projects tests --also-make -Dsurefire.failIfNoSpecifiedTests=false \
    -Dtest=Figures "-Dtoolway.build=$target_dir/android/build" \
    "-Dtoolway.bin=$target_dir/dist/toolway" "-Dtoolway.figures=$target_dir/dist/examples/libfigures.so"

if command -v adb >/dev/null 2>&1; then
    cargo bench --package toolway-tests --bench adb_call
fi
