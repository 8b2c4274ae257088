"""Does a tracked file hold what must stay on a developer's machine: registry hosts, absolute paths of it?

Relies on git for the list of files. The patterns are put together from halves, so that this file passes itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

# what is looked for -> why it must not be committed
FORBIDDEN: Final = {
    re.compile(r"registry\.npm" r"js|registry\.yarn" r"pkg|py" r"pi\.org/simple|files\.python" r"hosted"): (
        "a registry's address: clients know their own"
    ),
    re.compile(r'"reso' r'lved":'): "a lock file that names the registry it was made with",
    re.compile(r"(?<![\w.$}~-])/(?:ro" r"ot|wo" r"rk)/\w|(?<![\w.$}~-])/tm" r"p/[a-z]"): "a path of one machine",
}
BINARY_SUFFIXES: Final = frozenset({".gz", ".npz", ".npy", ".png", ".woff2", ".ico", ".parquet"})


def tracked_files() -> list[Path]:
    """All files git tracks here that hold text."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [path for path in paths if path.suffix not in BINARY_SUFFIXES and path.is_file()]


def findings(path: Path) -> list[str]:
    """One line a forbidden thing in `path`: place, what it is, what was seen."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, hit.start()) + 1}: {why}: {hit.group()}"
        for pattern, why in FORBIDDEN.items()
        for hit in pattern.finditer(text)
    ]


def main() -> int:
    """Print every finding; 1 when there is one."""
    lines = [line for path in tracked_files() for line in findings(path)]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
