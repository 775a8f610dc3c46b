#!/usr/bin/env bash
#
# exports.sh BUILD_DIR -- a handler shows the rest of the program its descriptor, a group and an item
# theirs, and nothing else. What handlers share lies in handlers/support and handlers/items; handlers.c is the list.

set -euo pipefail
objects=$1/handlers/CMakeFiles/handlers.dir

if [ ! -f "$objects/handlers.c.o" ]; then
    echo "exports: $objects is not built"
    exit 1
fi
count=0 others=
for object in "$objects"/*.c.o "$objects"/*/*.c.o; do
    case ${object#"$objects"/} in handlers.c.o | support/* | items/*) continue ;; esac
    source=handlers/${object#"$objects"/}
    [ -f "${source%.o}" ] || continue # of a file that was there once
    names=$(nm --defined-only --extern-only "$object" | awk '$3 !~ /^__(asan|odr|tsan|ubsan|gcov)/ { print $3 }')
    others+=$(grep -v '_handler$\|_group$\|_item$' <<<"$names" | sed "s|^|${object##*/} exports |") || true
    count=$((count + $(grep -c '_handler$\|_group$\|_item$' <<<"$names" || true)))
done
if [ -n "$others" ]; then
    printf '%s\n' "$others" "exports: make these static, or move them to handlers/support"
    exit 1
fi
echo "exports: $count descriptors and nothing else"
[ "$count" -gt 0 ]
