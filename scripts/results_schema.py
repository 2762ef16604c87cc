"""Write the JSON Schema of results.json, generated from its types.

`just schema` writes the copy that docs/ has; `python -m scripts.results_schema` prints it.
"""

from __future__ import annotations

import json
import sys

from rmaudit.report import json_codec
from rmaudit.report.results_document import SCHEMA, Results


def schema() -> str:
    """Return the schema as JSON text (draft 2020-12): all keys required, no others allowed."""
    found = json_codec.schema_of(Results)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':').replace('.', ':')}",
    }
    return json.dumps(head | found, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema())
