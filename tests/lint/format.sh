#!/usr/bin/env bash
#
# format.sh [--fix] -- every C file is as clang-format 14 writes it. Its versions disagree, so
# it is that version or a failure, wherever it comes from.

set -euo pipefail
cd "$(dirname "$0")/../.."

tool=
for candidate in clang-format-14 clang-format tests/lint/.venv/bin/clang-format; do
    if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
        tool=$candidate
        break
    fi
done
if [ -z "$tool" ]; then
    tests/lint/in_venv -c ''
    tool=tests/lint/.venv/bin/clang-format
fi

mapfile -t files < <(find core handlers server tests -name '*.[ch]' -not -path '*/node_modules/*' -not -path '*/.venv/*')
if [ "${1:-}" = --fix ]; then
    exec "$tool" -i "${files[@]}"
fi
wrong=$("$tool" --dry-run --Werror "${files[@]}" 2>&1 | sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: error:.*/\1/p' | sort -u) || true
if [ -n "$wrong" ]; then
    printf '%s\n' "$wrong" "format: run tests/lint/format.sh --fix"
    exit 1
fi
echo "format: ${#files[@]} files are as $("$tool" --version | grep -o 'version [0-9.]*') writes them"
