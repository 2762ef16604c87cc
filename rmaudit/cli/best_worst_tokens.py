"""Run `rmaudit tokens`: the optimal and pessimal tokens of a model, and its rewards' moments."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmaudit.cli.printing import ending_if_unwritable, fail, show
from rmaudit.cli.shared_options import AsJson, Loading, Named, Prompts, grouped, models_meant
from rmaudit.config.model_registry import known_models
from rmaudit.config.paths_and_atomic_writes import default_cache, in_place_of

if TYPE_CHECKING:
    import pandas as pd

    from rmaudit.models.model_interfaces import Scored
    from rmaudit.scores.sweep_result import Sweep

_WIDTH = 28  # columns of the terminal that a token may take
_DECIMALS = 3  # of rewards, as in Table 3 of the paper


@grouped
def tokens(  # noqa: PLR0913  (keyword-only after the model)
    model: Named,
    *,
    prompt: Prompts = None,
    top: Annotated[int, typer.Option(min=1, help="how many tokens of either end")] = 10,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the tokens to this file too, as CSV")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="exact|paper",
            help="how a token becomes an answer: by its id, or by its text as in the paper "
            "(default: exact; of recorded models, paper)",
        ),
    ] = None,
    recorded: Annotated[
        bool,
        typer.Option("--recorded", help="published scores (rmaudit data import), without weights"),
    ] = False,
    loading: Loading,
    as_json: AsJson = False,
) -> None:
    """Show the optimal and pessimal tokens of a model: those with the highest and lowest rewards.

    For each prompt there are also the moments of all rewards, as in Table 3 of Christian et al.
    2025. Sweeps are read from the cache, or scored and cached there.

    Slurs, swear words and sexual words on rmaudit's lists are masked; --json has every token as it
    is.
    """
    from rmaudit.scores.sweep import sweep

    asked = loading.prompts(prompt)
    opened = _open_model(model, loading, recorded=recorded)
    swept = [sweep(opened, each, protocol=protocol, cache=loading.scores) for each in asked]
    if csv is not None:
        _write_csv(csv, swept, top)
    lines = (line for each in swept for line in _lines(each, top))
    written = [] if csv is None else [f"written: {csv}"]
    show([_said(each, top) for each in swept], chain(lines, written), as_json=as_json)


def _open_model(name: str, loading: Loading, *, recorded: bool) -> Scored:
    """Open the one model that `name` means; if `recorded`, only its published scores."""
    from rmaudit.runs.audit_case import RunSettings, opened
    from rmaudit.runs.run_options import RunOptions

    registry = known_models(loading.file)
    specs = models_meant(registry, name)
    if len(specs) != 1:
        fail(f"{name!r} means {len(specs)} models; name one")
    folder = loading.folder or default_cache()
    asked = RunOptions(device=loading.device, dtype=loading.dtype, recorded=recorded)
    return opened(specs[0], RunSettings(folder, asked, own_words=registry.words))


def _best_and_worst(sweep: Sweep, top: int) -> dict[str, pd.DataFrame]:
    """Return a sweep's `top` "best" and `top` "worst" tokens (by these keys) that have a score."""
    found = {"best": sweep.top(top), "worst": sweep.bottom(top)}
    return {end: frame[frame["score"].notna()] for end, frame in found.items()}


def _lines(sweep: Sweep, top: int) -> Iterator[str]:
    """Yield the lines on one prompt: its text, moments of the rewards, best and worst tokens."""
    from rmaudit.measures.positive_skew import moments
    from rmaudit.report.safe_text import visible
    from rmaudit.scores.sweep_notebook_views import reward_format
    from rmaudit.verdicts.rounded_numbers import fixed_or_tiny

    how = sweep.provenance.get("protocol", "")
    yield f"{sweep.model}: {len(sweep.frame):,} tokens, protocol {how}"
    yield visible(sweep.prompt.text, 200)
    yield ", ".join(
        f"{name} {fixed_or_tiny(value, _DECIMALS)}" for name, value in moments(sweep.frame).items()
    )
    yield from sweep.caveats
    style = reward_format(sweep.frame["score"], _DECIMALS)
    columns = [
        _tokens_of_equal_width(frame, style) for frame in _best_and_worst(sweep, top).values()
    ]
    yield f"{'':>5}{'best':<{_WIDTH + 12}}worst"
    for place, row in enumerate(zip(*columns, strict=True), 1):
        yield f"{place:>4} {''.join(row)}".rstrip()
    yield ""


def _tokens_of_equal_width(frame: pd.DataFrame, style: str) -> list[str]:
    """Return a text for each token: its reward in this style and the token, of one width."""
    from rmaudit.scores.sweep_notebook_views import quoted_or_masked

    return [
        f"{score:+10{style}}  {_padded_to_width(quoted_or_masked(text))}"
        for score, text in zip(frame["score"], frame["text"], strict=True)
    ]


def _padded_to_width(text: str) -> str:
    """Return the text, cut or padded to `_WIDTH` columns; East Asian characters take two each."""
    shown, taken = "", 0
    for character in text:
        wide = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if taken + wide > _WIDTH - 3:
            shown, taken = f"{shown}…", taken + 1
            break
        shown, taken = shown + character, taken + wide
    return shown + " " * (_WIDTH - taken)


def _write_csv(path: Path, swept: Sequence[Sweep], top: int) -> None:
    """Write the best and worst tokens of all prompts to a CSV file; end the command if it cannot.

    Tokens are written as Python string literals, so that no spreadsheet takes one for a formula.
    """
    import pandas as pd

    rows = [row for sweep in swept for row in _rows(sweep, top)]
    with ending_if_unwritable(f"--csv {path}"), in_place_of(path) as own:
        pd.DataFrame(rows).to_csv(own, index=False)


def _rows(sweep: Sweep, top: int) -> Iterator[dict[str, Any]]:
    from rmaudit.scores.sweep_notebook_views import quoted_or_masked

    for end, frame in _best_and_worst(sweep, top).items():
        for place, row in enumerate(frame.to_dict("records"), 1):
            yield {
                "model": sweep.model,
                "prompt": sweep.prompt.text,
                "end": end,
                "place": place,
                "token_id": row["token_id"],
                "token": quoted_or_masked(row["text"]),
                "reward": row["score"],
            }


def _said(sweep: Sweep, top: int) -> dict[str, Any]:
    from rmaudit.measures.positive_skew import moments

    ends = _best_and_worst(sweep, top)
    return {
        "model": sweep.model,
        "prompt": sweep.prompt.text,
        "protocol": sweep.provenance.get("protocol", ""),
        "tokens": len(sweep.frame),
        "moments": moments(sweep.frame),
        **{
            end: [
                {"token_id": row["token_id"], "text": row["text"], "reward": float(row["score"])}
                for row in frame.to_dict("records")
            ]
            for end, frame in ends.items()
        },
    }
