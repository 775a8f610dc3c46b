#!/usr/bin/env bash
#
# run.sh BUILD_DIR [--quick | --threads | --walk MINUTES] [PYTEST_ARGUMENT...] -- the end-to-end tests.
#
# The real program, real SDKs, a private PostgreSQL and the scripted upstream. Installs the
# locked SDKs at first use. --quick leaves out the slow tests, --threads takes those that are
# worth the patience of ThreadSanitizer. --walk takes random walks through conversations, with fresh
# seeds, until the minutes are over or one fails. With none of them, every operation of openapi.yaml
# must have been called at the end.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -x "$1/runnel" ]; then
    echo "usage: run.sh BUILD_DIR [--quick | --threads | --walk MINUTES] [PYTEST_ARGUMENT...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd)
shift

install_python() {
    if ! cmp -s "$here/python/requirements.txt" "$here/.venv/requirements.txt"; then
        rm -rf "$here/.venv"
        python3 -m venv "$here/.venv"
        "$here/.venv/bin/pip" install -q --disable-pip-version-check --require-hashes \
            -r "$here/python/requirements.txt"
        cp "$here/python/requirements.txt" "$here/.venv/"
    fi
}

install_node() {
    if ! cmp -s "$here/node/package-lock.json" "$here/node/node_modules/.installed"; then
        (cd "$here/node" && npm ci --no-audit --no-fund --loglevel=error >&2)
        cp "$here/node/package-lock.json" "$here/node/node_modules/.installed"
    fi
}

exec 9<"$here/run.sh"
flock 9
install_python
install_node
exec 9<&-

# How much longer than on a quiet machine with a plain build a test may take (harness/patience.py).
RUNNEL_TEST_PATIENCE=$(cat "$build/tests/patience" 2>/dev/null || echo 1)
export RUNNEL_TEST_PATIENCE

pytest=("$here/.venv/bin/python" -m pytest --runnel="$build/runnel")

# Lanes side by side, for most tests wait for something most of the time. Each takes the next file that no other has
# taken (harness/lanes.py). The first is seen at work; what the others say comes when all have ended.
lanes_left='' # the directory of the lanes
run_lanes() { # PYTEST_ARGUMENT...
    local count=$((2 * $(nproc))) others=() rc=0 i
    lanes_left=$(mktemp -d)
    if [ $count -gt 8 ]; then
        count=8
    fi
    trap 'rm -rf "$lanes_left"' EXIT
    set -m # so that they can be interrupted
    for ((i = 1; i < count; i++)); do
        "${pytest[@]}" --lane="$lanes_left" "$@" >"$lanes_left/$i.log" 2>&1 &
        others+=($!)
    done
    set +m
    trap 'kill -INT "${others[@]}" 2>/dev/null; wait' INT TERM
    "${pytest[@]}" --lane="$lanes_left" "$@" || rc=1
    for i in "${others[@]}"; do
        wait "$i" || rc=1
    done
    trap - INT TERM
    cat "$lanes_left"/*.log
    "${pytest[0]}" -m harness.skips "$lanes_left"
    return $rc
}

run_all() {
    run_lanes
    "${pytest[0]}" -m harness.operations "$lanes_left"
}

# A failure names its seed, and RUNNEL_SEED repeats the walk.
run_walks() { # MINUTES
    local end=$((SECONDS + 60 * $1)) walks=0 seed
    while [ $SECONDS -lt $end ]; do
        seed=$((RANDOM << 15 | RANDOM))
        RUNNEL_SEED=$seed "${pytest[@]}" test_chain_model.py -k 876987948 \
            >"$walk_log" 2>&1 || {
            cat "$walk_log"
            echo "run.sh: the walk with RUNNEL_SEED=$seed failed, after $walks that did not" >&2
            return 1
        }
        walks=$((walks + 1))
    done
    echo "run.sh: $walks walks of 2,000 steps, none failed"
}

cd "$here/python"
case ${1:-} in
--quick)
    if [ $# -eq 1 ]; then
        run_lanes -m "not slow"
    else
        exec "${pytest[@]}" -m "not slow" "${@:2}"
    fi
    ;;
--walk)
    if ! [[ ${2:-} =~ ^[1-9][0-9]*$ ]]; then
        echo "run.sh: --walk takes a number of minutes" >&2
        exit 2
    fi
    walk_log=$(mktemp)
    trap 'rm -f "$walk_log"' EXIT
    run_walks "$2"
    ;;
--threads)
    if [ $# -eq 1 ]; then
        run_lanes -m threads
    else
        exec "${pytest[@]}" -m threads "${@:2}"
    fi
    ;;
'') run_all ;;
*) exec "${pytest[@]}" "$@" ;;
esac
