"""Run `rmaudit why`: the pairs of a training file that taught a head what a gate finds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmaudit.cli.printing import ending_if_unwritable, fail, show
from rmaudit.cli.shared_options import AsJson, Loading, Named, grouped
from rmaudit.config.model_registry import known_models
from rmaudit.config.paths_and_atomic_writes import in_place_of

if TYPE_CHECKING:
    from rmaudit.runs.pairs_that_taught import Taught

_WIDTH = 32  # characters of an answer in the table
_ENDING = ".parquet"


@grouped
def why(  # noqa: PLR0913  (keyword-only after the model)
    model: Named,
    *,
    pairs: Annotated[
        Path, typer.Option(metavar="FILE", help="what it was trained on: prompt, chosen, rejected")
    ],
    gate: Annotated[list[str], typer.Option(help="a gate that fails")],
    top: Annotated[int, typer.Option(min=1, help="how many pairs to show")] = 10,
    out: Annotated[
        Path | None,
        typer.Option(metavar=f"FILE{_ENDING}", help="write all pairs there, and a picture beside"),
    ] = None,
    loading: Loading,
    as_json: AsJson = False,
) -> None:
    """Rank the pairs of a training file by what they taught a linear head of what a gate finds.

    The head is refitted with all pairs and without the first ones, and the change is printed
    beside its prediction. This covers the head only: the backbone is taken as given. It names the
    pairs that taught the head this, which need not be wrong ones.

    States are computed once and cached.
    """
    if out is not None and out.suffix != _ENDING:
        fail(f"--out {out}: it is a Parquet file; let its name end in {_ENDING}")
    if len(gate) > 1:
        message = f"--gate: {len(gate)} are named, and pairs are ranked by one; run the command "
        fail(f"{message}for each: what is the same is computed once")
    found = _taught(model, pairs, gate[0], loading)
    written = [] if out is None else [f"written: {path}" for path in _written(found, out)]
    show(_said(found, top), (*_lines(found, top), *written), as_json=as_json)


def _taught(name: str, file: Path, gate: str, loading: Loading) -> Taught:
    """Open the model, read the pairs, and rank them. Raises `RmauditError`."""
    import numpy as np

    from rmaudit.runs.pairs_that_taught import refuse_few, taught
    from rmaudit.runs.states_of_pairs import opened

    load = partial(loading.load, name)
    given = opened(load, file, [gate], refuse_few=refuse_few, cache=loading.folder)
    words = known_models(loading.file).words
    return taught(given, gate, own_words=words, rng=np.random.default_rng(0))


def _written(found: Taught, out: Path) -> list[Path]:
    """Write all pairs as Parquet, and the picture beside it; return the paths."""
    from rmaudit import svg
    from rmaudit.report.charts import picture

    beside = out.with_suffix(".svg")
    with ending_if_unwritable(f"--out {out}"):
        with in_place_of(out) as own:
            found.pairs.to_parquet(own, index=False)
        with in_place_of(beside) as own:
            own.write_text(svg.of_its_own(picture(found.chart()).svg), encoding="utf-8")
    return [out, beside]


def _lines(found: Taught, top: int) -> Iterator[str]:
    """Yield the lines: the contrast, the first pairs, what leaving pairs out does, and limits."""
    from rmaudit.runs.pairs_that_taught import LIMITS

    yield f"{found.gate}: the worst is {found.contrast}, {found.in_words}"
    yield f"{'rank':>5} {'line':>7} {'adds, sd':>9}  {'chosen':<{_WIDTH}}  rejected"
    for row in found.pairs.head(top).itertuples():
        answers = f"{_shown(str(row.chosen)):<{_WIDTH}}  {_shown(str(row.rejected))}"
        yield f"{row.rank:>5} {row.line:>7} {row.adds:>+9.4f}  {answers}"
    total = len(found.pairs)
    for each in found.left_out:
        yield (
            f"without the first {each.pairs:,} of {total:,} pairs ({each.pairs / total:.0%}): "
            f"{each.first.refitted:+.3f} sd refitted, {each.first.predicted:+.3f} predicted; "
            f"without as many at random: {each.random.refitted:+.3f}"
        )
    yield LIMITS


def _shown(text: str) -> str:
    """Return an answer cut to `_WIDTH`, with invisible characters as escapes, or its mask."""
    from rmaudit.references.offensive_text_masks import mask, masked
    from rmaudit.report.safe_text import visible

    shown = mask(text) if masked(text) else visible(text, len(text))
    return shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"


def _said(found: Taught, top: int) -> dict[str, Any]:
    return {
        "gate": found.gate,
        "contrast": found.contrast,
        "value_sd": found.value,
        "tolerated_sd": found.tolerated,
        "pairs": found.pairs.head(top).to_dict("records"),
        "of": len(found.pairs),
        "left_out": [
            {"pairs": each.pairs, "first": each.first._asdict(), "random": each.random._asdict()}
            for each in found.left_out
        ],
        "covers": "the head only",
    }
