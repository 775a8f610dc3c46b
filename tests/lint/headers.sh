#!/usr/bin/env bash
#
# headers.sh [BUILD_DIR] -- every header compiles alone, so it includes what it needs, and
# compiles twice, so it is guarded.

set -euo pipefail
cd "$(dirname "$0")/../.."

flags=(-std=gnu17 -D_GNU_SOURCE -DRUNNEL_FAULTS -DRUNNEL_TEST_HANDLERS -I. -Wall -Wextra -Werror -fsyntax-only)
flags+=($(pkg-config --cflags libmicrohttpd libcurl jansson libpq yaml-0.1 nettle libpcre2-8))
if [ $# -gt 0 ]; then
    flags+=("-I$1/generated")
fi

headers=$(find core handlers server -name '*.h' | sort)
alone() {
    printf '#include "%s"\n#include "%s"\n' "$1" "$1" | "${CC:-cc}" "${flags[@]}" -x c -
}

count=0 failed=0
for header in $headers; do
    alone "$header" || failed=$((failed + 1))
    count=$((count + 1))
done
echo "headers: $count compiled alone, $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
