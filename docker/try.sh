#!/usr/bin/env bash
#
# docker/try.sh [--keep] -- builds the image and talks to the server in it, without a Docker engine.
# docker/try.sh --sandbox -- with a Docker engine: what `runnel sandbox` finds in three containers of the image.
#
# For who changes the Dockerfile on a machine that has none, such as a container: buildah with chroot
# isolation needs no namespaces, only root. Where the registry cannot be reached, debootstrap makes
# the base image. Needs Debian packages: buildah, debootstrap, postgresql, curl, python3. --keep
# leaves the images for the next time, in $TMPDIR/runnel-images.
#
# What it looks at: the image builds; its server starts as the image's user with the environment of
# compose.yaml, makes its tables and its first key, passes the image's health check, answers by this
# key and by one made by hand, and ends well on SIGTERM. --sandbox starts one container as Docker does by default, one
# with the profiles of this folder, and one whose profile forbids namespaces. Only the second can execute commands, and
# the others name the reason.

set -euo pipefail
cd "$(dirname "$0")/.."

# ---- With an engine ----

# The self test in a container: its exit status, and a line that it must print.
self_test() { # STATUS LINE DOCKER_OPTION...
    local status=$1 line=$2 rc=0 found
    shift 2
    found=$(docker run --rm "$@" runnel-try sandbox) || rc=$?
    if [ "$rc" -ne "$status" ] || ! grep -Eq "$line" <<<"$found"; then
        printf 'docker/try.sh: runnel sandbox ended with %s in: docker run %s\n%s\n' "$rc" "$*" "$found" >&2
        return 1
    fi
}

# The profile of this folder, without user namespaces. clone3 is unknown then, so that clone() is called.
without_namespaces() {
    python3 - docker/seccomp.json <<'END'
import json, sys
profile = json.load(open(sys.argv[1]))
user = {"index": 0, "value": 0x10000000, "valueTwo": 0x10000000, "op": "SCMP_CMP_MASKED_EQ"}
profile["syscalls"] += [{"names": ["unshare"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
                        {"names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "args": [user]},
                        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]
print(json.dumps(profile))
END
}

try_sandbox() {
    local profile apparmor=()
    docker info >/dev/null 2>&1 || { echo "docker/try.sh --sandbox needs a Docker engine" >&2; exit 2; }
    docker build -q -f docker/Dockerfile -t runnel-try . >/dev/null
    if docker info --format '{{.SecurityOptions}}' | grep -q apparmor; then
        apparmor_parser -r docker/apparmor
        apparmor=(--security-opt apparmor=runnel)
    fi
    profile=$(mktemp)
    trap 'rm -f "$profile"; docker rmi -f runnel-try >/dev/null' EXIT
    without_namespaces >"$profile"
    self_test 1 '^(namespaces|proc) +no'
    self_test 0 '^box +yes' --security-opt seccomp=docker/seccomp.json "${apparmor[@]}" \
        --security-opt systempaths=unconfined
    self_test 1 '^namespaces +no' --security-opt "seccomp=$profile" "${apparmor[@]}" \
        --security-opt systempaths=unconfined
    echo "commands are executed with the profiles of docker/, and nowhere else"
}

if [ "${1:-}" = --sandbox ]; then
    try_sandbox
    exit
fi

# ---- Without one ----

[ "$(id -u)" -eq 0 ] || { echo "docker/try.sh needs root" >&2; exit 2; }
scratch=$(mktemp -d)
images=${TMPDIR:-/tmp}/runnel-images
chmod 755 "$scratch"

buildah() { command buildah --root "$images/root" --runroot "$images/run" --storage-driver vfs "$@"; }
in_image() { buildah run --isolation chroot "$@"; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
say() { printf '=== %s\n' "$*"; }

container="" model="" server=""
# The program behind a `buildah run`: the last of the line of its children.
program_of() {
    local pid=$1 child
    while child=$(pgrep -P "$pid" | head -n 1) && [ -n "$child" ]; do pid=$child; done
    echo "$pid"
}
end() { # PID of a `buildah run`: its exit status
    kill -TERM "$(program_of "$1")"
    wait "$1"
}
clean_up() {
    local rc=$?
    [ -z "$server" ] || end "$server" || true
    [ -z "$model" ] || end "$model" || true
    [ ! -e "$scratch/database/postmaster.pid" ] || database pg_ctl -D "$scratch/database" -m immediate stop >/dev/null
    [ $rc -eq 0 ] || [ ! -s "$scratch/server.log" ] || tail -n 20 "$scratch/server.log" >&2
    [ -z "$container" ] || buildah rm "$container" >/dev/null
    [ "${keep:-}" ] || buildah rmi --all --force >/dev/null
    [ "${keep:-}" ] || rm -rf "$images"
    rm -rf "$scratch"
    [ $rc -eq 0 ] || echo "docker/try.sh: FAILED" >&2
}
keep=
[ "${1:-}" != --keep ] || keep=yes
trap clean_up EXIT

base_image() {
    local name=docker.io/library/debian:12-slim made mount
    ! buildah inspect --type image "$name" >/dev/null 2>&1 || return 0
    ! buildah pull -q "$name" 2>/dev/null || return 0
    say "no registry: debootstrap makes $name"
    debootstrap --variant=minbase bookworm "$scratch/base" >/dev/null
    made=$(buildah from scratch)
    mount=$(buildah mount "$made")
    cp -a "$scratch/base/." "$mount"
    rm -rf "$scratch/base"
    buildah commit -q "$made" "$name" >/dev/null
    buildah rm "$made" >/dev/null
}

# A PostgreSQL as compose.yaml has it: one user, with a password, over TCP.
database() { setpriv --reuid postgres --regid postgres --clear-groups "$(pg_config --bindir)/$1" "${@:2}"; }
start_database() {
    install -d -o postgres -m 700 "$scratch/database"
    install -m 644 /dev/stdin "$scratch/password" <<<"secret"
    database initdb -D "$scratch/database" -U runnel -A scram-sha-256 --pwfile "$scratch/password" >/dev/null
    database pg_ctl -D "$scratch/database" -w -l "$scratch/database/log" \
        -o "-p $1 -h 127.0.0.1 -k $scratch/database" start >/dev/null
    PGPASSWORD=secret psql -q -h 127.0.0.1 -p "$1" -U runnel -d postgres -c 'CREATE DATABASE runnel'
}

config() { buildah inspect --type image --format "$1" runnel; }
words='{{range .}}{{.}} {{end}}'

say "building"
base_image
buildah bud --isolation chroot --pull-never --format docker -f docker/Dockerfile -t runnel . >"$scratch/build.log" 2>&1 ||
    { tail -n 40 "$scratch/build.log" >&2; exit 1; }
[ "$(config '{{.Docker.Config.User}}')" = runnel ]
command=$(config "{{with .Docker.Config.Entrypoint}}$words{{end}}{{with .Docker.Config.Cmd}}$words{{end}}")
health=$(config "{{with .Docker.Config.Healthcheck.Test}}$words{{end}}")
signal=$(config '{{.Docker.Config.StopSignal}}')
[ "$signal" = SIGTERM ] && [ "${health%% *}" = CMD ]

say "starting $command"
database_port=$(free_port) model_port=$(free_port)
start_database "$database_port"
container=$(buildah from --pull-never localhost/runnel)
user=$(in_image "$container" -- id -u)
[ "$user" != 0 ]
install -d -o "$user" -m 700 "$scratch/data"
with_data=(-v "$scratch/data:/var/lib/runnel"
    --env "RUNNEL_DATABASE_URL=postgresql://runnel:secret@127.0.0.1:$database_port/runnel")
in_image -v "$PWD/server/fakemodel/demo_script.yaml:/demo.yaml:ro" "$container" -- \
    runnel upstream --script /demo.yaml --listen "127.0.0.1:$model_port" >"$scratch/model.log" 2>&1 &
model=$!
# chroot isolation leaves the network as it is, so the server listens on this machine only.
in_image "${with_data[@]}" --env RUNNEL_LISTEN=127.0.0.1:8080 --env RUNNEL_API_KEY= \
    --env "RUNNEL_UPSTREAM_URL=http://127.0.0.1:$model_port/v1" --env RUNNEL_UPSTREAM_API_KEY= \
    "$container" -- $command >"$scratch/server.log" 2>&1 &
server=$!

curl -fs --retry 60 --retry-delay 1 --retry-connrefused --max-time 60 -o "$scratch/ready" http://127.0.0.1:8080/readyz
in_image "$container" -- ${health#CMD }
[ "$(stat -c %u "/proc/$(program_of "$server")")" = "$user" ]
say "ready, healthy, and run by user $user"

first=$(in_image "${with_data[@]}" "$container" -- cat /var/lib/runnel/api_key)
other=$(in_image "${with_data[@]}" "$container" -- runnel keys create --project tried)
for key in "$first" "$other"; do
    curl -fsS http://127.0.0.1:8080/v1/responses -H "Authorization: Bearer $key" \
        -H 'Content-Type: application/json' -d '{"model":"demo","input":"Hello"}' |
        python3 -c 'import json, sys; made = json.load(sys.stdin); assert made["status"] == "completed", made
print(made["output"][-1]["content"][0]["text"])'
done

say "ending"
pid=$server server=
end "$pid"
say "the image works"
