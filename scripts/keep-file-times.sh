#!/usr/bin/env bash
# Gives each file of a clean checkout the time at which a run on this machine first saw its content, so that Cargo
# compiles only what changed. A fresh clone gives all files a new time.
#
#   scripts/keep-file-times.sh FILE    FILE remembers contents and times between runs
set -euo pipefail

# --help prints the comment above.
case ${1:-} in -h | --help | '')
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
    [ -n "${1:-}" ] && exit 0 || exit 2
    ;;
esac

known=$1
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The index describes the contents only if nothing else was changed. Build results belong to one folder.
git diff --quiet && git diff --cached --quiet || exit 0
mkdir -p "$(dirname "$known")"
touch "$known"

# One line per file: folder, content, time in seconds, path. A content that another one replaced meanwhile is new
# again, because the build results are of the other one.
git ls-files -s | awk -v now="$(date +%s)" -v folder="$PWD" -v known="$known" '
    BEGIN {
        FS = OFS = "\t"
        while ((getline line < known) > 0) {
            split(line, field, "\t")
            time[field[1], field[2], field[4]] = field[3]
        }
    }
    {
        split($1, entry, " ")
        seen = (folder, entry[2], $2) in time ? time[folder, entry[2], $2] : now
        print folder, entry[2], seen, $2
    }' >"$known.new"
cut -f3 "$known.new" | sort -u | while read -r seen; do
    awk -F '\t' -v seen="$seen" '$3 == seen { print $4 }' "$known.new" | xargs -d '\n' touch -c -h -d "@$seen" --
done
mv "$known.new" "$known"
