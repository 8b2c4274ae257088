"""Which shape does the front end read? Writes the ViewModel's JSON Schema and the TypeScript types made from it.

    python -m tools.generate_types            write surfer_lab/view/schema.json and src/generated/view_model.ts
    python -m tools.generate_types --check    1 when what is checked in is stale

Relies on the npm packages being installed (json-schema-to-typescript).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from surfer_lab.view.schema import SCHEMA_FILE, schema_text

ROOT: Final = Path(__file__).resolve().parents[1]
TYPES_FILE: Final = ROOT / "src" / "generated" / "view_model.ts"
BANNER: Final = "// Made from surfer_lab/view/schema.json by tools.generate_types; change surfer_lab/view/model.py."


def types_text(schema: str) -> str:
    """The TypeScript interfaces of a schema."""
    options = ["--additionalProperties", "false", "--unreachableDefinitions", "--bannerComment", BANNER]
    done = subprocess.run(
        ["node_modules/.bin/json2ts", *options], cwd=ROOT, input=schema, capture_output=True, text=True, check=True
    )
    return done.stdout


def main(arguments: list[str]) -> int:
    """Write both files, or with --check say which is stale."""
    schema = schema_text()
    wanted = {SCHEMA_FILE: schema, TYPES_FILE: types_text(schema)}
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run python -m tools.generate_types")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
