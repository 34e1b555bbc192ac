#!/usr/bin/env bash
# Checks the output of scripts/android.sh: the library's size and Java level, and the samples' manifests, signatures
# and packaging.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${CARGO_TARGET_DIR:-target}/android
max_jar_bytes=$((60 * 1024))
max_provider_lines=99
java_8=52
wrong=0

if [ -n "${ANDROID_HOME:-}" ]; then
    tools=$(find "$ANDROID_HOME/build-tools" -mindepth 1 -maxdepth 1 | sort -V | tail -n 1)
    PATH="$PATH:$tools"
fi

# expect WHAT COMMAND...: the command must succeed.
expect() {
    local what=$1
    shift
    "$@" && return 0
    printf 'check-android: failed: %s\n' "$what" >&2
    wrong=$((wrong + 1))
}
holds() { grep -qF -- "$2" <<<"$1"; }
lacks() { ! holds "$@"; }
at_most() { [ "$1" -le "$2" ]; }

jar=$out/toolway-provider.jar
expect "the library has at most $max_jar_bytes bytes" at_most "$(wc -c <"$jar")" "$max_jar_bytes"
levels=$(javap -verbose -cp "$jar" $(jar --list --file "$jar" | sed -n 's/\.class$//p' | grep -v package-info | tr / .) |
    sed -n 's/^  major version: //p' | sort -u)
expect "all of the library is Java 8 (class version $java_8; is $levels)" [ "$levels" = "$java_8" ]
expect "the library has no dependency but the framework and tests" \
    lacks "$(grep -A3 '<dependency>' android/provider/pom.xml | grep artifactId | grep -v '>junit<')" artifactId
aar=$PWD/$out/toolway-provider.aar
case $out in /*) aar=$out/toolway-provider.aar ;; esac
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
(cd "$unpacked" && jar --extract --file "$aar")
expect "the AAR has the files that Gradle requires, and no others" \
    [ "$(ls "$unpacked" | tr '\n' ' ')" = 'AndroidManifest.xml R.txt classes.jar ' ]
expect "the AAR has the same classes as the jar" cmp -s "$jar" "$unpacked/classes.jar"
expect "the AAR's manifest names the library's package" \
    holds "$(cat "$unpacked/AndroidManifest.xml")" 'package="dev.toolway.provider"'
classes=$(jar --list --file "$jar" | sed -n 's/\(\$[^.]*\)\{0,1\}\.class$//p' | grep -v package-info | sort -u)
sources=$(jar --list --file "$out/toolway-provider-sources.jar" | sed -n 's/\.java$//p' | grep -v package-info | sort)
expect "there are sources for every class of the library" [ "$classes" = "$sources" ]
lines=$(wc -l <android/samples/finance/src/main/java/com/example/finance/FinanceToolProvider.java)
expect "the finance app's provider class has fewer than 100 lines (has $lines)" at_most "$lines" "$max_provider_lines"

for name in finance weather; do
    apk=$out/$name.apk
    badging=$(aapt dump badging "$apk")
    tree=$(aapt dump xmltree "$apk" AndroidManifest.xml)
    label=$(printf '%s' "${name:0:1}" | tr a-z A-Z)${name:1}
    expect "$name: package" holds "$badging" "package: name='com.example.$name'"
    expect "$name: label" holds "$badging" "application-label:'$label'"
    expect "$name: runs from API 26 on" holds "$badging" "sdkVersion:'26'"
    expect "$name: made for API 34" holds "$badging" "targetSdkVersion:'34'"
    expect "$name: defines no permission" lacks "$tree" "E: permission "
    expect "$name: is signed, and so that every Android from API 26 on takes it" \
        apksigner verify --min-sdk-version 26 "$apk"
    expect "$name: has one signer" holds "$(apksigner verify --print-certs "$apk")" "Signer #1 certificate SHA-256"
    expect "$name: is aligned" zipalign -c 4 "$apk"
    # Android refuses an app for API 30 or later whose resources are compressed.
    expect "$name: resources are not compressed" holds "$(aapt list -v "$apk" | grep 'resources.arsc$')" Stored
done

finance=$(aapt dump xmltree "$out/finance.apk" AndroidManifest.xml)
for words in com.clawseed.action.TOOL_PROVIDER com.clawseed.tools.authority com.clawseed.tools.version \
    com.example.finance.clawseed.tools com.clawseed.permission.ACCESS_TOOLS dev.toolway.provider.ToolProviderService \
    dev.toolway.provider.BootReceiver android.intent.action.BOOT_COMPLETED \
    com.example.finance.ACTION_AUTHORIZE_CLAWSEED 'android:initOrder(0x0101001a)=(type 0x10)0x64'; do
    expect "finance: the manifest has $words" holds "$finance" "$words"
done
expect "finance: may hear that the phone has booted" \
    holds "$(aapt dump permissions "$out/finance.apk")" android.permission.RECEIVE_BOOT_COMPLETED
weather=$(aapt dump xmltree "$out/weather.apk" AndroidManifest.xml)
for words in com.example.weather.mcptool application/vnd.mcp.tool android.intent.action.VIEW; do
    expect "weather: the manifest has $words" holds "$weather" "$words"
done

[ "$wrong" -eq 0 ]
