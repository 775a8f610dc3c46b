#!/usr/bin/env bash
#
# tidy.sh BUILD_DIR [FILE...] -- clang-tidy with .clang-tidy, over all C files or these.
#
# For reading, not for passing: it has false alarms that differ from version to version, so
# ./check does not run it. Look through it before a release and after a large change.

set -euo pipefail
build=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."

if [ $# -eq 0 ]; then
    mapfile -t files < <(find core handlers server -name '*.c' | sort)
    set -- "${files[@]}"
fi
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p "$build" 2>/dev/null
