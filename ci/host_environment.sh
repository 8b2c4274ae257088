#!/usr/bin/env bash
# usage: ci/host_environment.sh FOLDER PIP-ARGUMENTS...
# Makes FOLDER an environment of a Jupyter front end at other versions than ours, with the built wheel and without what
# it computes with: saved predictions are drawn there, none is made. Kept until the wheel is built anew.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
shift
python=${PYTHON:-python3}

if ! "$folder/bin/python" -c 'import pip, jupyterlab' >/dev/null 2>&1; then
    echo "setting up $folder ..." >&2
    rm -rf "$folder"
    "$python" -m venv "$folder"
    # as in ci/environment.sh: index pages passed over are no news
    "$folder/bin/python" -m pip install -q --disable-pip-version-check ipykernel "$@" 2>&1 | { grep -v '^WARNING\|^$' || true; }
fi
"$folder/bin/python" -m pip install -q --disable-pip-version-check --no-deps --force-reinstall dist/surfer_lab-*.whl
touch "$folder/.installed"
