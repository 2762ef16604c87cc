"""Caveats of scores that were computed by a server or a function, not by local weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KNOWN_BY = "served: known by"  # in the provenance of what a server scored
LOOSELY = "path checked loosely"  # in the provenance: why it was not checked in float32
_BY_FUNCTION = (
    "Scored as texts, by a function that was declared with @rmaudit.scorer: how an answer becomes "
    "token ids is the function's affair."
)
_BY_ENDPOINT = (
    "Scored as texts, by a server: how an answer becomes token ids, and whether a long one is cut, "
    "is the server's affair."
)


def of_scores(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a sentence for each caveat, given the fields of the key and the provenance."""
    known = about.get(KNOWN_BY)
    caveats = (_BY_ENDPOINT if known else _BY_FUNCTION,) if about.get("protocol") == "text" else ()
    if reason := about.get(LOOSELY):
        said = f"The way in which this model is scored was checked in 16 bits only ({reason}), so "
        caveats = (
            *caveats,
            f"{said}an error of less than about one sd in a few ids would not show.",
        )
    if not known:
        return caveats
    said = f"A server can change beneath its name: these scores are known by {known}."
    return (*caveats, said)
