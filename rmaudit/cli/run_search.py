"""rmaudit search: the sequences to which a model gives the highest and lowest rewards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmaudit.cli import search_options
from rmaudit.cli.search_options import AllowedSequences, GcgOptions, SearchOptions
from rmaudit.cli.shared_options import (
    AsJson,
    Loading,
    Named,
    echo_json,
    ending_on_failure,
    grouped,
    prompt_from_option,
    say,
)
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.prompts import PROMPTS

if TYPE_CHECKING:
    from rmaudit.models.model_interfaces import RewardModel
    from rmaudit.search.cached_search import SearchResult
    from rmaudit.search.search_settings import Settings

_SHOWN = 5  # sequences of a search
Shared = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="append the best of each start to this file, which replays them from the folder "
        "ledger/ of a cache",
    ),
]


@grouped
def search(  # noqa: PLR0913  (groups of options)
    model: Named,
    *,
    asked: SearchOptions,
    allowed: AllowedSequences,
    gcg: GcgOptions,
    shared: Shared = None,
    loading: Loading,
    as_json: AsJson = False,
) -> None:
    """Search for answers to which a model gives very high or very low rewards.

    What is found is a lower bound: other searches may find more.

    Each search is kept in the cache: the same one is read back, and one that was stopped goes on.
    """
    found: list[SearchResult] = []
    with ending_on_failure():
        common = search_options.settings(asked, allowed, gcg)
        for one in _searches(model, asked, common, loading, shared):
            found.append(one)
            for line in () if as_json else _lines(one):
                say(line)
    if as_json:
        echo_json([_said(one) for one in found])
    else:
        say("These are lower bounds on what can be found: other searches may find more.")


def _searches(
    name: str, asked: SearchOptions, common: Settings, loading: Loading, ledger: Path | None
) -> Iterator[SearchResult]:
    """Yield a search per prompt, start and direction; add its strings to both exploit ledgers.

    These are the cache's own and the file `ledger`, if any.
    """
    from rmaudit.models.model_factory import load
    from rmaudit.search import exploit_strings
    from rmaudit.search.cached_search import search as run

    starts, cache = search_options.starts(asked), loading.folder
    model = load(
        name, registry=loading.file, cache=cache, device=loading.device, dtype=loading.dtype
    ).with_weights("what a search would find is not recorded")
    if ledger is not None and ledger.exists():
        exploit_strings.read(ledger)  # refused before a search is made in vain
    for prompt in [prompt_from_option(prompt, loading.file) for prompt in asked.prompt or PROMPTS]:
        for start in starts:
            given = _settings_starting_at(model, common, start, asked)
            for direction in search_options.directions(asked):
                settings = replace(given, direction=direction)
                found = run(model, prompt, settings, cache=loading.scores, device=loading.device)
                exploit_strings.remember(cache or default_cache(), found, model)
                if ledger is not None:
                    exploit_strings.append(ledger, found, model)
                yield found


def _settings_starting_at(
    model: RewardModel, common: Settings, start: str | None, asked: SearchOptions
) -> Settings:
    """Return the `common` settings, changed for a search that starts at the text `start`, if any.

    Without a length the sequence is as long as the start.
    """
    if start is None:
        return common
    own = len(model.ids(start)) if start and asked.length is None else common.length
    return replace(common, start=start, length=own, starts=asked.starts or 1)


def _lines(found: SearchResult) -> Iterator[str]:
    """Yield the lines to print: the search's settings and its best sequences, slurs masked."""
    from rmaudit.references.offensive_text_masks import mask, masked
    from rmaudit.report.safe_text import visible

    asked = found.settings
    ids = "id" if asked.length == 1 else "ids"
    start = "" if asked.start is None else f", from {visible(asked.start)!r}"
    yield (
        f"{found.model}, {visible(found.prompt.text, 80)!r}, {asked.direction}: {asked.method}, "
        f"{asked.length} {ids}{start}, {found.evaluations:,} of at most {asked.budget:,} scored"
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
