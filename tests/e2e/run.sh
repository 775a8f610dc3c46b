#!/usr/bin/env bash
#
# run.sh BUILD_DIR [--quick | --threads] [PYTEST_ARGUMENT...] -- the end-to-end tests.
#
# The real program, real SDKs, a private PostgreSQL and the scripted upstream. Installs the
# locked SDKs at first use. --quick leaves out the slow tests, --threads takes those that are
# worth the patience of ThreadSanitizer. With neither, every operation of openapi.yaml must have
# been called at the end.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -x "$1/runnel" ]; then
    echo "usage: run.sh BUILD_DIR [--quick | --threads] [PYTEST_ARGUMENT...]" >&2
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

pytest=("$here/.venv/bin/python" -m pytest --runnel="$build/runnel")

# Fault tests wait most of the time, for leases to run out and servers to start: they are run
# beside the others, and heard of when those have ended.
run_all() {
    local told rest=0 faults=0
    told=$(mktemp)
    set -m # so that it can be interrupted
    "${pytest[@]}" test_faults_*.py >"$told" 2>&1 &
    set +m
    trap 'kill -INT %1 2>/dev/null; wait' INT TERM
    "${pytest[@]}" --all-operations --ignore-glob='test_faults_*' || rest=$?
    wait %1 || faults=$?
    trap - INT TERM
    cat "$told"
    rm -f "$told"
    [ $rest -eq 0 ] && [ $faults -eq 0 ]
}

cd "$here/python"
case ${1:-} in
--quick)
    shift
    exec "${pytest[@]}" -m "not slow" "$@"
    ;;
--threads)
    shift
    exec "${pytest[@]}" -m "threads" --timeout 300 "$@"
    ;;
esac
if [ $# -eq 0 ]; then
    run_all
else
    exec "${pytest[@]}" "$@"
fi
