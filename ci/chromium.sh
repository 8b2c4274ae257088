#!/usr/bin/env bash
# Prints the path of a Chromium for the browser tests: CHROME_PATH, else the system's, else the one apt installs here.
set -euo pipefail

starts() { [ -n "$1" ] && "$1" --version >/dev/null 2>&1; }

found() {
    local name path
    for name in "${CHROME_PATH:-}" chromium chromium-browser google-chrome google-chrome-stable; do
        [ -n "$name" ] || continue
        path=$(command -v "$name" || true)
        if starts "$path"; then
            echo "$path"
            return 0
        fi
    done
    return 1
}

found && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing Chromium with apt ..." >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 </dev/null || true
    found && exit 0
fi
echo "The browser tests need Chromium: set CHROME_PATH to one, or install it (as root on Debian: apt-get install chromium)." >&2
exit 1
