"""The token explorer: a table on the page to search and sort every token of every sweep.

Python decides what the page shows: how a text is spelled out (`safe_text.visible`), whether it is
masked (`offensive_text_masks`), which tokens are one word, case and spaces around it apart. The
page's script unpacks, sorts, searches, and draws the rows in sight. docs/design/009-explorer.md
says why it is made this way.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from rmaudit.errors import ReferenceMissing
from rmaudit.references.identity_terms import identity
from rmaudit.references.lexicons import lexicon
from rmaudit.references.offensive_text_masks import label, masked
from rmaudit.references.word_frequency import zipf
from rmaudit.report import packed_scores
from rmaudit.report.page import part, template
from rmaudit.report.results_document import Results, SweepSummary
from rmaudit.report.safe_text import line, visible

_SCRIPTS = ("explorer_unpack.js", "explorer.js", "explorer_tools.js")
SCRIPT = Markup("(() => {{\n'use strict';\n{}}})();").format(
    Markup("\n").join(map(template, _SCRIPTS))
)
STYLE = template("explorer.css")

PAGE = 12_000_000  # bytes of a page at most
_OTHER_PARTS = 3_000_000  # of these, what is not the explorer's
_VOCABULARY_SHARE = 0.6  # of its own, what vocabularies may take
_ENDS = 500  # best and worst tokens of a sweep that are exact in any case
_DIGITS = 200  # decimals are so many that a sweep's sd has from 200 to 2,000 steps
# In sd of the sweep, fine to coarse; None: a whole number of decimals.
_STEPS = (None, *(2 ** (-k / 2) for k in range(14, 2, -1)))
_LEXICONS = {"labmt": "labMT", "afinn": "AFINN", "vader": "VADER", "bing": "Bing Liu's lists"}
_IDENTITY = 6  # the bit of terms that name people; the next is that of whole words
_ADDED = 0.65  # bits a token that zlib adds to the entropy of the levels


def explorer(results: Results, room: int = PAGE - _OTHER_PARTS) -> Markup:
    """Render a searchable table of all tokens' scores, rounded to fit `room` bytes; "" without any.

    Its page must have `STYLE`, let `SCRIPT` run, and show masked terms by templates/page.js.

    Scores have the decimals that are shown if these fit into `room` bytes, or else are as fine as
    fit (the page says how fine). Models whose vocabularies do not fit are left out, and named.

    Raises:
        ResultsError: scores or a vocabulary are damaged.
        ReferenceMissing: the list of terms to mask cannot be had.
    """
    islands: list[str] = []
    vocabularies: dict[str, dict[str, Any]] = {}
    tables, left_out = _tables(results), dict[str, None]()
    for model, digest in list(tables):
        if digest not in vocabularies:
            pressed = _vocabulary(packed_scores.rows(results.vocabularies, digest))
            if sum(map(len, islands)) + sum(map(len, pressed.values())) > _VOCABULARY_SHARE * room:
                left_out[model] = None
                del tables[model, digest]
                continue
            vocabularies[digest] = _append_columns(pressed, islands)
    if not tables and not left_out:
        return Markup()
    swept = {
        (model, digest): [_swept(sweep, results.vocabularies[digest].ids.n) for sweep in own]
        for (model, digest), own in tables.items()
    }
    step = _step([each for own in swept.values() for each in own], room - sum(map(len, islands)))
    index = {
        "vocabularies": list(vocabularies.values()),
        "lexicons": [_LEXICONS[name] for name in _lexicons()] if tables else [],
        "tables": [
            {
                "model": line(model),
                "vocabulary": list(vocabularies).index(digest),
                "sample": own[0].sweep.sample,
                "columns": [_column(each, step, islands) for each in own],
            }
            for (model, digest), own in swept.items()
        ],
    }
    return part(
        "explorer.html.jinja",
        index=index,
        islands=list(map(Markup, islands)),  # base64: there is nothing to escape or to spell out
        left_out=list(map(line, left_out)),
        within=step / 2 if step else None,
        ends=_ENDS,
        script=SCRIPT,
    )


def _tables(results: Results) -> dict[tuple[str, str], list[SweepSummary]]:
    """Return the sweeps that share a table, by model and digest of the tokens that they score."""
    tables: dict[tuple[str, str], list[SweepSummary]] = {}
    for model in results.models:
        for sweep in model.sweeps:
            if sweep.vocabulary is not None:
                tables.setdefault((model.name, sweep.vocabulary), []).append(sweep)
    return tables


def _vocabulary(rows: pd.DataFrame) -> dict[str, str]:
    """Return a vocabulary as compressed columns by name: token ids, texts, flags and so on.

    Line feeds join the texts, and the masks.
    """
    texts = rows["text"].tolist()
    hidden = list(map(masked, texts))
    words, _ = pd.factorize(np.array([text.strip().casefold() for text in texts], dtype=object))
    _, first = np.unique(words, return_index=True)
    spellings = np.arange(len(rows)) - first[words]  # rows back to the word's first one
    return {
        "ids": packed_scores.press(rows["token_id"].to_numpy("<i4")),
        "texts": _lines(visible(text, len(text)) for text in texts),
        "words": packed_scores.press(spellings.astype("<u4")),
        "masked": packed_scores.press(np.packbits(hidden)),
        "flags": packed_scores.press(_flags(texts)),
        "masks": _lines(label(t) for t, secret in zip(texts, hidden, strict=True) if secret),
    }


def _flags(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return a byte of bit flags per text: lexicons that have it, identity term, English word.

    A whole word begins with a space (or a capital) and is in wordfreq's English list.
    """
    bare = [text.strip() for text in texts]
    words = [text.casefold() for text in bare]
    lists: list[Collection[str]] = [set(found.index.tolist()) for found in _lexicons().values()]
    lists += [()] * (_IDENTITY - len(lists))
    lists.append({term.casefold() for term in identity()[0]["text"]})
    known = set(zipf("wordfreq", words).index.tolist())
    flags = np.zeros(len(texts), dtype=np.uint8)
    for bit, found in enumerate(lists):
        flags |= np.array([word in found for word in words], dtype=np.uint8) << bit
    whole = [
        word in known and (text != plain or plain[:1].isupper())
        for text, plain, word in zip(texts, bare, words, strict=True)
    ]
    flags |= np.array(whole, dtype=np.uint8) << (_IDENTITY + 1)
    return flags


def _lexicons() -> dict[str, pd.Series[float]]:
    """Return the lexicons that are installed, by name."""
    found = {}
    for name in _LEXICONS:
        with suppress(ReferenceMissing):  # its filter is not offered
            found[name] = lexicon(name)
    return found


def _lines(texts: Iterable[str]) -> str:
    return packed_scores.press(np.frombuffer("\n".join(texts).encode(), dtype=np.uint8))


def _append_columns(pressed: Mapping[str, str], islands: list[str]) -> dict[str, Any]:
    """Append compressed columns to `islands`, the page's data; return their indices by name."""
    start = len(islands)
    islands.extend(pressed.values())
    return {name: start + i for i, name in enumerate(pressed)}


class _Swept(NamedTuple):
    sweep: SweepSummary
    scores: NDArray[np.float32]
    order: NDArray[np.int64]  # row numbers of scored tokens, the best first; ties stay in order


def _swept(sweep: SweepSummary, n: int) -> _Swept:
    """Unpack a sweep's scores, one for each of the `n` rows of its vocabulary."""
    scores = packed_scores.scores_of(sweep, n)
    scored = np.flatnonzero(~np.isnan(scores))
    return _Swept(sweep, scores, scored[np.argsort(-scores[scored], kind="stable")])


def _column(of: _Swept, step: float | None, islands: list[str]) -> dict[str, Any]:
    """Append a sweep's scores, rounded to steps, to `islands`; return where they are."""
    sweep, coarse = of.sweep, _coarse(of, step)
    pressed = {
        "levels": packed_scores.press(coarse.levels),
        "rows": packed_scores.press(coarse.rows),
        "ends": packed_scores.press(coarse.ends),
    }
    return {
        "prompt": line(sweep.prompt),
        "asked": line(sweep.prompt_text),
        "mean": sweep.mean,
        "sd": sweep.sd,
        "first": coarse.first,
        "step": coarse.step,
        "decimals": None if step else max(0, -round(math.log10(coarse.step))),
        "low": coarse.low,
        "high": coarse.high,
        **_append_columns(pressed, islands),
    }


def _step(sweeps: Sequence[_Swept], room: int) -> float | None:
    """Return the finest rounding step, in sd, that fits `room` bytes; None if decimals fit."""

    def room_left(step: float | None) -> int:
        return math.floor(room - sum(_size(_coarse(each, step)) for each in sweeps))

    at = bisect.bisect_left(_STEPS, 0, key=room_left)
    return _STEPS[min(at, len(_STEPS) - 1)]


@dataclass(frozen=True, slots=True)
class _Coarse:
    """Scores rounded to whole steps; the best and worst `rows` keep exact scores."""

    levels: NDArray[np.uint32]  # shape (n,): 0 of an unscored token, 1 of `first` steps
    first: float
    step: float
    low: float  # beyond these two no level counts: the best stay the best
    high: float
    rows: NDArray[np.uint32]
    ends: NDArray[np.float32]


def _coarse(of: _Swept, step: float | None) -> _Coarse:
    scores, order = of.scores, of.order
    middle = order[_ENDS:-_ENDS]  # none of few
    ends = np.sort(np.concatenate([order[:_ENDS], order[_ENDS:][-_ENDS:]]))
    between = scores[middle].astype(float)
    low, high = (float(between.min()), float(between.max())) if len(between) else (0.0, 0.0)
    sd = float(scores[order].astype(float).std()) or 1.0
    width = step * sd if step else 10.0 ** math.floor(math.log10(sd / _DIGITS))
    first = float(np.rint(low / width))
    levels = np.zeros(len(scores), dtype="<u4")
    levels[middle] = np.rint(between / width) - first + 1
    return _Coarse(levels, first, width, low, high, ends.astype("<u4"), scores[ends])


def _size(coarse: _Coarse) -> float:
    """Estimate the bytes that rounded scores take on the page, in base64, from their entropy."""
    planes = coarse.levels.view(np.uint8).reshape(len(coarse.levels), -1).T
    bits = _ADDED * len(coarse.levels)
    for plane in planes:
        counts = np.bincount(plane)
        share = counts[counts > 0] / len(plane)
        bits -= len(plane) * float((share * np.log2(share)).sum())
    return (bits / 8 + 8 * len(coarse.rows)) * 4 / 3
