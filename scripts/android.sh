#!/usr/bin/env bash
# Builds everything that runs on Android phones, into `android/` of the target folder:
#
#   toolway-provider.jar           the library for apps that offer tools
#   toolway-provider.aar           the same as an Android library, for Gradle
#   toolway-provider-sources.jar   its sources
#   finance.apk                    the sample on that library
#   weather.apk                    the sample without it
#
# All dependencies come from package registries: the framework's classes and D8 from Maven; aapt, zipalign and
# apksigner from the system. If ANDROID_HOME is an Android SDK with build-tools and a platform, those are used
# instead. The apps are signed with a debug key, which is created at the first build. TOOLWAY_ANDROID_KEYSTORE selects
# another one (with the alias and passwords of Android's debug keys).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target_dir=${CARGO_TARGET_DIR:-target}
case $target_dir in /*) ;; *) target_dir=$PWD/$target_dir ;; esac
out=$target_dir/android
build=$out/build
keystore=${TOOLWAY_ANDROID_KEYSTORE:-$out/debug.keystore}
min_api=26
target_api=34

say() { printf 'android: %s\n' "$*" >&2; }
fail() {
    say "$1"
    shift
    for hint in "$@"; do printf '    hint: %s\n' "$hint" >&2; done
    exit 1
}
maven() { mvn -q -B -Dstyle.color=never -f android/pom.xml "-Dtoolway.build=$build" "$@"; }

# Prints the folder of the highest version in folder $1 whose name starts with $2.
newest() {
    find "$1" -mindepth 1 -maxdepth 1 -name "$2*" 2>/dev/null | sort -V | tail -n 1 || true
}

# Sets `framework`, the classes to compile and link against, and defines `dex` and `package_resources`.
use_sdk() {
    local tools platform
    tools=$(newest "$ANDROID_HOME/build-tools" '')
    platform=$(newest "$ANDROID_HOME/platforms" android-)
    [ -n "$tools" ] && [ -n "$platform" ] || fail "ANDROID_HOME ($ANDROID_HOME) has no build-tools or no platform" \
        "install both with its sdkmanager, or unset ANDROID_HOME to build without the SDK"
    say "using $tools and $platform"
    export PATH="$tools:$PATH"
    framework=$platform/android.jar
    dex() { d8 "$@"; }
    package_resources() { # MANIFEST RESOURCES APK
        aapt2 compile --dir "$2" -o "$3.resources.zip"
        aapt2 link -I "$framework" --manifest "$1" --min-sdk-version "$min_api" \
            --target-sdk-version "$target_api" -o "$3" "$3.resources.zip"
    }
}

use_registries() {
    # The file name has no version, so that a new version replaces the old one.
    maven -N dependency:copy@tools "-Dtoolway.tools=$out/tools"
    framework=$out/tools/android-all.jar
    dex() { java -cp "$out/tools/r8.jar" com.android.tools.r8.D8 "$@"; }
    package_resources() { # MANIFEST RESOURCES APK
        aapt package -f -M "$1" -S "$2" -I "$framework" --min-sdk-version "$min_api" \
            --target-sdk-version "$target_api" -F "$3"
    }
}

# library: packages the jar $1 as an AAR, and the sources.
library() {
    local work=$build/aar source=android/provider/src/main
    rm -rf "$work"
    mkdir -p "$work"
    cp "$1" "$work/classes.jar"
    cp "$source/AndroidManifest.xml" "$work"
    # The list of its resources, of which it has none. Gradle requires the file.
    : >"$work/R.txt"
    (cd "$work" && jar --create --no-manifest --file "$out/toolway-provider.aar" AndroidManifest.xml R.txt classes.jar)
    say "$out/toolway-provider.aar"
    jar --create --no-manifest --file "$out/toolway-provider-sources.jar" -C "$source/java" .
    say "$out/toolway-provider-sources.jar"
}

need_key() {
    [ -e "$keystore" ] && return 0
    say "making a key for debugging: $keystore"
    mkdir -p "$(dirname "$keystore")"
    keytool -genkeypair -keystore "$keystore" -storepass android -keypass android -alias androiddebugkey \
        -keyalg RSA -keysize 2048 -validity 10950 -dname "CN=Android Debug,O=Android,C=US" >/dev/null 2>&1 ||
        fail "keytool could not make a key"
}

# sample NAME JAR...: builds one app from its folder in android/samples and these classes.
sample() {
    local name=$1 folder=android/samples/$1/src/main work=$build/apk-$1
    shift
    rm -rf "$work"
    mkdir -p "$work/dex"
    dex --release --min-api "$min_api" --lib "$framework" --output "$work/dex" "$@"
    package_resources "$folder/AndroidManifest.xml" "$folder/res" "$work/bare.apk"
    jar --update --no-manifest --file "$work/bare.apk" -C "$work/dex" classes.dex
    zipalign -f 4 "$work/bare.apk" "$work/aligned.apk"
    apksigner sign --ks "$keystore" --ks-pass pass:android --ks-key-alias androiddebugkey \
        --out "$out/$name.apk" "$work/aligned.apk"
    rm -f "$out/$name.apk.idsig"
    say "$out/$name.apk"
}

mkdir -p "$out"
maven -pl provider,samples/finance,samples/weather -Dmaven.test.skip=true package
jar_of() { find "$build/$1" -maxdepth 1 -name "$1-*.jar"; }
provider=$(jar_of toolway-provider)
cp "$provider" "$out/toolway-provider.jar"
say "$out/toolway-provider.jar"
library "$provider"

if [ -n "${ANDROID_HOME:-}" ]; then use_sdk; else use_registries; fi
need_key
sample finance "$(jar_of toolway-sample-finance)" "$provider"
sample weather "$(jar_of toolway-sample-weather)"
