"""Cache pictures: Altair and its compiler take seconds to draw the same picture again.

So does the question which of fifty thousand texts are masked. A picture follows from its evidence
and from rmaudit's code, an SVG from its spec and the compiler's release. Within `cached_in` all
are read from a cache (`json_cache`); elsewhere they are made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rmaudit import json_cache
from rmaudit.references.offensive_text_masks import masked
from rmaudit.report.charts.picture_and_labels import Picture

_CACHE: ContextVar[Path | None] = ContextVar("charts are remembered in", default=None)
Svgs = list[str | None]


@contextmanager
def cached_in(cache: Path) -> Iterator[None]:
    """Cache pictures, SVGs and flags in this folder while the `with` block runs."""
    before = _CACHE.set(cache)
    try:
        yield
    finally:
        _CACHE.reset(before)


def picture(chart: str, shown: object, make: Callable[[], Picture | None]) -> Picture | None:
    """Return the picture of `shown` from the cache, or from `make` and cache it.

    The key is the repr of `shown`, and `chart`, which names how it is drawn. Outside of `cached_in`
    there is no cache.
    """
    cache = _CACHE.get()
    if cache is None:
        return make()
    fields = {"rmaudit": json_cache.code(), "chart": chart, "shown": _digest(repr(shown))}
    found = json_cache.cached(cache, "picture", fields, lambda: [make()])[0]
    return found and _picture(found)


def are_masked(texts: Sequence[str]) -> list[bool]:
    """Return whether reports mask each text as offensive; cache it for this list of texts."""
    cache = _CACHE.get()
    if cache is None:
        return [masked(text) for text in texts]
    digest = _digest(json.dumps(list(texts)))
    fields = {"rmaudit": json_cache.code(), "what": "masked", "texts": digest}
    found: str = json_cache.cached(
        cache, "texts", fields, lambda: "".join("01"[masked(text)] for text in texts)
    )
    return [flag == "1" for flag in found]


def svgs(
    specs: Sequence[Mapping[str, Any]], make: Callable[[Sequence[Mapping[str, Any]]], Svgs]
) -> Svgs:
    """Return each Vega-Lite spec's SVG, from the cache or from `make`; None where `make` fails."""
    cache = _CACHE.get()
    if cache is None:
        return make(specs)
    release = version("vl-convert-python")
    fields = [
        {"vl-convert": release, "spec": _digest(json.dumps(spec, sort_keys=True))} for spec in specs
    ]
    found: Svgs = [json_cache.read(cache, "svg", each) for each in fields]
    missing = [i for i, svg in enumerate(found) if svg is None]
    for i, svg in zip(missing, make([specs[i] for i in missing]), strict=True):
        found[i] = svg
        if svg is not None:
            json_cache.write(cache, "svg", fields[i], svg)
    return found


def _picture(found: Sequence[Any]) -> Picture:
    """Build a picture from JSON, which has lists in place of tuples."""
    title, caption, svg, columns, rows = found
    return Picture(title, caption, svg, columns, tuple(map(tuple, rows)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
