#!/usr/bin/env bash
# usage: ci/environment.sh FOLDER [--force-reinstall-of NAME] PIP-ARGUMENTS...
# Makes the virtual environment FOLDER when it is missing or no longer starts, installs into it what pip is told to,
# at the versions of ci/constraints.txt, and leaves FOLDER/.installed as the sign that it is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
shift
python=${PYTHON:-python3}

if ! "$folder/bin/python" -c 'import pip' >/dev/null 2>&1; then
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
        echo "Surfer Lab needs Python 3.10 or newer; $python is $("$python" -V 2>&1). Name one: make PYTHON=python3.12 ..." >&2
        exit 1
    }
    echo "setting up $folder ..." >&2
    rm -rf "$folder"
    "$python" -m venv "$folder"
fi

if [ "$1" = --force-reinstall-of ]; then
    "$folder/bin/python" -m pip uninstall -q -y "$2" >/dev/null 2>&1
    shift 2
fi
echo "installing into $folder ..." >&2
# pip warns about every index page entry that it passes over; what matters is its exit status and its errors
"$folder/bin/python" -m pip install -q --disable-pip-version-check -c ci/constraints.txt "$@" 2>&1 | { grep -v '^WARNING\|^$' || true; }
touch "$folder/.installed"
