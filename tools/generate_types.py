"""Which shapes does the front end read? Writes the JSON Schemas and the TypeScript types made from them.

    python -m tools.generate_types            write the schema.json of view and panel, and src/generated/protocol.ts
    python -m tools.generate_types --check    1 when what is checked in is stale

Relies on the npm packages being installed (json-schema-to-typescript).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from surfer_lab.panel.schema import SCHEMA_FILE as PROTOCOL_SCHEMA_FILE
from surfer_lab.panel.schema import schema_text as protocol_schema_text
from surfer_lab.view.schema import SCHEMA_FILE, schema_text

ROOT: Final = Path(__file__).resolve().parents[1]
TYPES_FILE: Final = ROOT / "src" / "generated" / "protocol.ts"
BANNER: Final = "// Made from %s by tools.generate_types; change %s."


def types_text(schema: str, banner: str) -> str:
    """The TypeScript interfaces of a schema."""
    options = ["--additionalProperties", "false", "--unreachableDefinitions", "--bannerComment", banner]
    done = subprocess.run(
        ["node_modules/.bin/json2ts", *options],
        cwd=ROOT,
        input=json.dumps(_with_tuples(json.loads(schema))),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _with_tuples(schema: Any) -> Any:
    """The schema with arrays of fixed length written as json2ts reads them: `items` instead of `prefixItems`."""
    if isinstance(schema, list):
        return [_with_tuples(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _with_tuples(value) for key, value in schema.items() if key != "prefixItems"}
    if "prefixItems" in schema:
        changed["items"] = _with_tuples(schema["prefixItems"])
        changed["minItems"] = changed["maxItems"] = len(schema["prefixItems"])
    return changed


def main(arguments: list[str]) -> int:
    """Write the files, or with --check say which is stale."""
    schema, protocol = schema_text(), protocol_schema_text()
    banner = BANNER % ("surfer_lab/panel/schema.json", "surfer_lab/{panel/messages,view/*_model}.py")
    wanted = {
        SCHEMA_FILE: schema,
        PROTOCOL_SCHEMA_FILE: protocol,
        TYPES_FILE: types_text(protocol, banner),
    }
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
