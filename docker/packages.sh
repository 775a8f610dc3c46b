#!/usr/bin/env bash
#
# docker/packages.sh GROUP... -- installs what is missing, and is silent when nothing is.
#
#   build   compiler, libraries and PostgreSQL: all that ./start needs
#   sandbox what confines the code that models write, and the Python that it runs in
#   sandbox-full more programs for such code: the tools JavaScript and Pandoc need theirs
#   test    what ./check needs on top
#   bench   what the benchmark needs on top
#
# It looks for the things themselves, not for packages, so a compiler or a PostgreSQL of your
# own will do, and a machine that has everything needs neither apt nor a network.
#
# Installing PostgreSQL makes Debian create a cluster of its own; that one is neither used nor
# touched.

set -euo pipefail

have() { command -v "$1" >/dev/null; }
library() { have pkg-config && pkg-config --exists "$1"; }
compiles() { echo 'int main(void) { return 0; }' | "$@" -x c -include stdio.h -o /dev/null - 2>/dev/null; }
generator() { have ninja || have make; }
postgres() { [ -x "$(pg_config --bindir 2>/dev/null)/initdb" ] || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }
web_server() { have nginx || [ -x /usr/sbin/nginx ]; }
time_zones() { [ -e /usr/share/zoneinfo/Europe/Berlin ]; }
# Ubuntu has it as a snap only: there the tests that need it are skipped, unless it is installed.
browser() { have chromium && have chromedriver || grep -qs '^ID=ubuntu$' /etc/os-release; }
json_schema_tests() { [ -d /usr/share/json-schema-test-suite/tests/draft7 ]; }
python_venv() { have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null; }
fuzzer_runtime() {
    have clang && echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n ? 0 : 0; }' |
        clang -x c -fsanitize=fuzzer,address,undefined -o /dev/null - 2>/dev/null
}

# Boxes see the system's Python, and no other that may be first in PATH.
box_python() {
    /usr/bin/python3 -I -c '
import importlib.util, sys
sys.exit(not all(importlib.util.find_spec(name) for name in ("numpy", "pandas", "matplotlib", "PIL", "openpyxl")))' 2>/dev/null
}

# need PACKAGES PROBE...: the probe succeeds when the packages are not needed.
missing=()
need() {
    local packages=$1
    shift
    "$@" || missing+=($packages)
}

need_build() {
    need "gcc libc6-dev" compiles "${CC:-cc}"
    need cmake have cmake
    need ninja-build generator
    need pkg-config have pkg-config
    need libmicrohttpd-dev library libmicrohttpd
    need libwslay-dev compiles "${CC:-cc}" -include wslay/wslay.h
    need libcurl4-openssl-dev library libcurl
    need libjansson-dev library jansson
    need libpq-dev library libpq
    need libyaml-dev library yaml-0.1
    need nettle-dev library nettle
    need libpcre2-dev library libpcre2-8
    need libgumbo-dev library gumbo
    need libarchive-dev library libarchive
    need libxml2-dev library libxml-2.0
    need poppler-utils have pdftotext
    need libseccomp-dev library libseccomp
    need libsodium-dev library libsodium
    need tzdata time_zones
    need postgresql postgres
}

need_sandbox() {
    need bubblewrap have bwrap
    need ripgrep have rg
    need "python3 python3-numpy python3-pandas python3-matplotlib python3-pil python3-openpyxl" box_python
}

# Boxes see /usr/bin, and no other folder that may be in PATH.
need_sandbox-full() {
    need nodejs [ -x /usr/bin/node ]
    need pandoc [ -x /usr/bin/pandoc ]
    need git [ -x /usr/bin/git ]
}

need_test() {
    need tesseract-ocr have tesseract
    need git have git
    need "clang libclang-rt-dev" fuzzer_runtime
    need unrtf have unrtf
    need antiword have antiword
    need clang-tidy have clang-tidy
    need libcmocka-dev library cmocka
    need "python3 python3-venv" python_venv
    need "nodejs npm" have npm
    need curl have curl
    need json-schema-test-suite json_schema_tests
    need "chromium chromium-driver" browser
}

need_bench() {
    need nginx-light web_server
}

for group in "$@"; do
    "need_$group"
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

if ! have apt-get; then
    echo "Please install what these Debian packages hold: ${missing[*]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! have sudo; then
        echo "Please install these packages as root: ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

echo "installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -q >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
