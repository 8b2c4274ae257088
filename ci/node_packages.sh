#!/usr/bin/env bash
# Installs the front end's packages exactly as package-lock.json names them.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v npm >/dev/null || { echo "Building the JupyterLab extension needs Node 20 or newer with npm; none is on PATH." >&2; exit 1; }
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' || {
    echo "Building the JupyterLab extension needs Node 20 or newer; this is $(node -v)." >&2
    exit 1
}
echo "installing into node_modules ..." >&2
npm ci --no-audit --no-fund --loglevel=error
touch node_modules/.installed
