"""Read results.json strictly: right types, every key, and no contradictions."""

from __future__ import annotations

import json
from pathlib import Path

from rmaudit.errors import ResultsError
from rmaudit.report import json_codec
from rmaudit.report.consistency_checks import contradiction
from rmaudit.report.results_document import SCHEMA, Results

_EARLIER = "rmaudit.results/11"
# Keys that it had of a run, what the last one had found, and of a model:
_DROPPED, _DROPPED_OF_MODELS = "before", ("developer", "parameters_b")


def read(path: Path) -> Results:
    """Read a results.json; raise unless it is complete and free of contradictions.

    Raises:
        ResultsError: there is no such file, or it is not JSON, of another schema, or wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # a path with a NUL, or bytes that are not UTF-8
        message = f"{path}: cannot be read ({_reason(error)}); give the results.json of a run"
        raise ResultsError(message) from error
    try:
        found = json_codec.parsed(text)
    except ResultsError as error:
        message = f"{path}: {error}; run the audits again, or give another results.json"
        raise ResultsError(message) from error
    named = found.get("schema") if isinstance(found, dict) else None
    if named is None:
        message = f"{path}: this is not the results.json of a run, for it has no `schema`; give the"
        raise ResultsError(f"{message} results.json that `pytest audits` wrote")
    if named == _EARLIER:
        found.pop(_DROPPED, None)
        for model in found.get("models") or ():
            for key in _DROPPED_OF_MODELS:
                model.pop(key, None)
        named = found["schema"] = SCHEMA
        found["figures"] = []  # it judged all of them, as findings
    if named != SCHEMA:
        message = (
            f"{path}: its schema is {json_codec.quoted(named)}, allowed: {json.dumps(SCHEMA)} "
            f"and {json.dumps(_EARLIER)}; run the audits again, or use the rmaudit that wrote it"
        )
        raise ResultsError(message)
    try:
        results = json_codec.typed(Results, found)
        wrong = contradiction(results)
    except ResultsError as error:
        wrong = str(error)
    if wrong:
        way_out = "run the audits again, or use the rmaudit that wrote it"
        raise ResultsError(f"{path}: {wrong}; {way_out}")
    return results


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
