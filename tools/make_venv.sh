#!/usr/bin/env bash
# Makes a virtual environment with pip in it, on machines that have Python and pip and little else.
#
# Usage: tools/make_venv.sh DIRECTORY     PYTHON=… names an interpreter.
set -euo pipefail
venv=$1

die() {
    printf 'make_venv: %s\n' "$@" >&2
    exit 1
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13}; do
        if new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    die "no Python 3.11 or newer: tried ${PYTHON:-python3, python3.11, python3.12, python3.13}" \
        "install one (Debian: apt-get install python3 python3-pip), or say 'make PYTHON=/path/to/python'"
}

python=$(find_python)
if new_enough "$venv/bin/python" && grep -qF "$(cd "$venv" && pwd -P)/bin/python" "$venv/bin/pip" 2>/dev/null; then
    exit 0 # the interpreter works, and scripts name it by where it is: nobody moved it
fi
rm -rf "$venv"
if "$python" -c 'import ensurepip' 2>/dev/null; then
    "$python" -m venv "$venv"
elif "$python" -m pip --version >/dev/null 2>&1; then
    # Debian ships ensurepip in a package of its own, python3-venv; the system's pip can stand in for it.
    "$python" -m venv --without-pip "$venv"
    "$python" -m pip --python "$venv/bin/python" --quiet install pip
else
    die "$python has neither ensurepip nor pip (Debian: apt-get install python3-venv or python3-pip)"
fi
