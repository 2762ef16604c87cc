"""Run `rmaudit search`: the sequences to which a model gives the highest and lowest rewards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rmaudit.cli.printing import echo_json, fail, say
from rmaudit.cli.shared_options import AsJson, Loading, Named, Prompts, grouped
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.runs.run_options import OPTIONS
from rmaudit.search.search_settings import DIRECTIONS, Method, Settings

if TYPE_CHECKING:
    from rmaudit.prompts import Prompt
    from rmaudit.search.cached_search import SearchResult

_SHOWN = 5  # sequences of a search
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}


@grouped
def search(  # noqa: PLR0913  (keyword-only after the model)
    model: Named,
    *,
    prompt: Prompts = None,
    direction: Annotated[
        Literal["up", "down", "both"], typer.Option(help="up: loved; down: hated")
    ] = "both",
    length: Annotated[int, typer.Option(help="token ids of a sequence")] = 3,
    budget: Annotated[
        str, typer.Option(help="sequences that each search may score, such as 5000, 200k or 1M")
    ] = "200k",
    method: Annotated[
        Method,
        typer.Option(help="the whole vocabulary at one place after the other, or the gradient"),
    ] = "exhaustive",
    starts: Annotated[int, typer.Option(help="random starts")] = 8,
    seed: Annotated[int, OPTIONS["seed"]] = 0,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="append the best of each start to this file, which replays them from the folder "
            "ledger/ of a cache",
        ),
    ] = None,
    loading: Loading,
    as_json: AsJson = False,
) -> None:
    """Search for answers to which a model gives very high or very low rewards.

    What is found is a lower bound: other searches may find more.

    Each search is kept in the cache: the same one is read back, and one that was stopped goes on.
    """
    count = _sequences(budget)
    common = Settings(length=length, budget=count, starts=starts, method=method, seed=seed)
    directions = DIRECTIONS if direction == "both" else (direction,)
    settings = [replace(common, direction=each) for each in directions]
    found: list[SearchResult] = []
    for one in _searches(model, loading.prompts(prompt), settings, loading, ledger):
        found.append(one)
        for line in () if as_json else _lines(one):
            say(line)
    if as_json:
        echo_json([_said(one) for one in found])
    else:
        say("These are lower bounds on what can be found: other searches may find more.")


def _sequences(budget: str) -> int:
    """Return the number of sequences that `--budget` names; end the command if it is none."""
    match = re.fullmatch(r"([0-9]{1,9})(k|M)?", budget)
    if match is None:
        fail(
            f"--budget: {budget!r} is not a number of sequences; give how many to score, such as "
            f"5000, 200k or 1M"
        )
    return int(match[1]) * _UNITS[match[2] or ""]


def _searches(
    name: str,
    prompts: Sequence[Prompt],
    settings: Sequence[Settings],
    loading: Loading,
    ledger: Path | None,
) -> Iterator[SearchResult]:
    """Yield a search per prompt and settings; add its strings to both exploit ledgers.

    These are the cache's own and the file `ledger`, if any.
    """
    from rmaudit.search import exploit_strings
    from rmaudit.search.cached_search import search as run

    model = loading.load(name).with_weights("what a search would find is not recorded")
    if ledger is not None and ledger.exists():
        exploit_strings.read(ledger)  # refused before a search is made in vain
    for prompt, each in product(prompts, settings):
        found = run(model, prompt, each, cache=loading.scores)
        exploit_strings.remember(loading.folder or default_cache(), found, model)
        if ledger is not None:
            exploit_strings.append(ledger, found, model)
        yield found


def _lines(found: SearchResult) -> Iterator[str]:
    """Yield the lines to print: the search's settings and its best sequences, slurs masked."""
    from rmaudit.references.offensive_text_masks import mask, masked
    from rmaudit.report.safe_text import visible

    asked = found.settings
    ids = "id" if asked.length == 1 else "ids"
    yield (
        f"{found.model}, {visible(found.prompt.text, 80)!r}, {asked.direction}: {asked.method}, "
        f"{asked.length} {ids}, {found.evaluations:,} of at most {asked.budget:,} scored"
    )
    for row in found.frame.head(_SHOWN).itertuples():
        text = visible(str(row.text), 80)
        shown = mask(text) if masked(str(row.text)) else text
        yield f"  {row.score:+10.4g}  {shown}"


def _said(found: SearchResult) -> dict[str, Any]:
    rows = [
        {
            "ids": list(row["ids"]),
            "text": row["text"],
            "score": float(row["score"]),
            "evaluation": int(row["evaluation"]),
            "start": int(row["start"]),
        }
        for row in found.frame.to_dict("records")
    ]
    return {
        "model": found.model,
        "prompt": found.prompt.text,
        "search": found.settings.as_json(),
        "evaluations": found.evaluations,
        "noise": found.noise,
        "found": rows,
        "trace": [list(step) for step in found.trace],
    }
