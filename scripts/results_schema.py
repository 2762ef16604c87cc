"""Write the JSON Schema of results.json, generated from its types.

`just schema` writes the copy that docs/ has; `python -m scripts.results_schema` prints it.
"""

from __future__ import annotations

import json
import sys

from pydantic import ConfigDict, TypeAdapter

from rmaudit import measures
from rmaudit.report.json_codec import CONFIG
from rmaudit.report.results_document import SCHEMA, Results


def schema() -> str:
    """Return the schema as JSON text (draft 2020-12): all keys required, no others allowed."""
    measures.load()  # the kinds of evidence
    config: ConfigDict = {**CONFIG, "use_attribute_docstrings": True}
    found = TypeAdapter(list[Results], config=config).json_schema(mode="serialization")
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':').replace('.', ':')}",
        **found["$defs"].pop("Results"),
        "title": "results.json of rmaudit",
        "$defs": found["$defs"],
    }
    return json.dumps(made, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema())
