"""rmaudit search: the sequences that a model loves and hates, by name from the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rmaudit.cli.common import AsJson, Named, Registered, echo_json, fail
from rmaudit.errors import RmauditError
from rmaudit.paths import default_cache
from rmaudit.prompts import NAMES, PROMPTS
from rmaudit.registry import Dtype
from rmaudit.search.constraints import Constraints
from rmaudit.search.settings import DIRECTIONS, Gcg, Method, Settings

if TYPE_CHECKING:
    from rmaudit.models.protocol import RewardModel
    from rmaudit.search.search import Found

TABLE_4 = ("x x", "x x x", "- - -")  # starts of Christian et al. 2025, Table 4
_LENGTH, _STARTS = 3, 8
_GCG = Gcg()
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
_SHOWN = 5  # sequences of a search


def search(  # noqa: PLR0913  (its options)
    model: Named,
    *,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help=f"{NAMES}; or any text. May be repeated (default: {', '.join(PROMPTS)})"),
    ] = None,
    direction: Annotated[
        Literal["up", "down", "both"], typer.Option(help="what is loved, or what is hated")
    ] = "both",
    length: Annotated[
        int | None,
        typer.Option(help=f"token ids of a sequence (default: the start's, or {_LENGTH})"),
    ] = None,
    budget: Annotated[
        str, typer.Option(help="sequences that each search may score, such as 5000, 200k or 1M")
    ] = "200k",
    method: Annotated[
        Method,
        typer.Option(
            help="the whole vocabulary at one place after the other, the gradient, or chance"
        ),
    ] = "exhaustive",
    start: Annotated[
        list[str] | None, typer.Option(help="a text to set out from; each is a search of its own")
    ] = None,
    starts: Annotated[
        int | None, typer.Option(help=f"random starts (default: {_STARTS}; none beside --start)")
    ] = None,
    table4: Annotated[
        bool,
        typer.Option(
            "--table4",
            help="the protocol of Christian et al. 2025, Table 4: starts 'x x', 'x x x' and "
            "'- - -', three prompts, both directions, Faster-GCG",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="of every random draw")] = 0,
    beams: Annotated[int, typer.Option(help="sequences that an exhaustive search follows")] = 1,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="ASCII only")] = False,
    words: Annotated[bool, typer.Option("--words", help="ids of letters only")] = False,
    special: Annotated[
        bool, typer.Option("--special", help="special and added tokens too")
    ] = False,
    unprintable: Annotated[
        bool, typer.Option("--unprintable", help="control characters and broken bytes too")
    ] = False,
    any_ids: Annotated[
        bool, typer.Option("--any-ids", help="also ids that their own text does not give back")
    ] = False,
    allow: Annotated[
        list[str] | None, typer.Option(help="only this token, a text or #ID; may be repeated")
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option(help="not this token, a text or #ID; may be repeated")
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option(help="least mean log-probability of a token under the model's base"),
    ] = None,
    batch: Annotated[int, typer.Option(help="GCG: swaps that a step scores")] = _GCG.batch,
    greedy: Annotated[
        bool, typer.Option(help="GCG: the most promising swaps, not drawn ones")
    ] = _GCG.greedy,
    fresh: Annotated[bool, typer.Option(help="GCG: nothing is tried twice")] = _GCG.fresh,
    distance: Annotated[
        float,
        typer.Option(help="GCG: how far a swap may go in the embedding; 0: as far as it will"),
    ] = _GCG.distance,
    target: Annotated[
        float | None, typer.Option(help="GCG: the authors' squared error to this reward")
    ] = None,
    shared: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="append the best of each start to this file, for `pytest audits --rm-ledger FILE`",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, spread, cpu, cuda:0 ...")] = "auto",
    dtype: Annotated[
        Dtype | None, typer.Option(help="in place of the registry's", case_sensitive=False)
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="where searches are kept")] = None,
    file: Registered = None,
    as_json: AsJson = False,
) -> None:
    """Search for answers that a reward model loves or hates: a lower bound on what can be found.

    A search is kept like a sweep: the same one is read back, and one that was stopped goes on.
    """
    from rmaudit.models.load import load
    from rmaudit.search import ledger
    from rmaudit.search.search import search as run

    try:
        limits = Constraints(
            printable=not unprintable,
            ascii=ascii_only,
            special=special,
            round_trip=not any_ids,
            words=words,
            allow=tuple(allow) if allow else None,
            deny=tuple(deny or ()),
            floor=floor,
        )
        common = Settings(
            method="gcg" if table4 else method,
            budget=_budget(budget),
            seed=seed,
            beams=beams,
            constraints=limits,
            gcg=Gcg(batch=batch, greedy=greedy, fresh=fresh, distance=distance, target=target),
        )
        directions = DIRECTIONS if direction == "both" or table4 else (direction,)
        texts = TABLE_4 if table4 else start or (None,)
        loaded = load(model, registry=file, cache=cache, device=device, dtype=dtype)
        if shared is not None and shared.exists():
            ledger.read(shared)  # before a search is made in vain
        found = []
        for asked in list(PROMPTS) if table4 or not prompt else prompt:
            for text in texts:
                ids, count = _shape(loaded, text, length, starts)
                for way in directions:
                    settings = replace(common, direction=way, start=text, length=ids, starts=count)
                    found.append(run(loaded, asked, settings, cache=cache, device=device))
                    ledger.remember(cache or default_cache(), found[-1], loaded)
                    if shared is not None:
                        ledger.append(shared, found[-1], loaded)
                    if not as_json:
                        typer.echo("\n".join(_lines(found[-1])))
    except RmauditError as error:
        fail(error)
    if as_json:
        echo_json([_said(one) for one in found])
    else:
        typer.echo("These are lower bounds on what can be found: other searches may find more.")


def _budget(given: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})(k|M)?", given)
    if match is None:
        fail(f"--budget: {given!r}; give how many sequences to score, such as 5000, 200k or 1M")
    return int(match[1]) * _UNITS[match[2] or ""]


def _shape(
    model: RewardModel, start: str | None, length: int | None, starts: int | None
) -> tuple[int, int]:
    """Length and number of starts; of a given start, its own length in this model's tokens."""
    if start is None:
        return _LENGTH if length is None else length, _STARTS if starts is None else starts
    own = len(model.ids(start)) if length is None else length
    return own, 1 if starts is None else starts


def _lines(found: Found) -> Iterator[str]:
    """What was asked, and the best of what was found; terms that hurt are masked."""
    from rmaudit.report.masks import mask, masked
    from rmaudit.report.texts import visible

    asked = found.settings
    start = "" if asked.start is None else f", from {visible(asked.start)!r}"
    yield (
        f"{found.model}, {visible(found.prompt.text, 80)!r}, {asked.direction}: {asked.method}, "
        f"{asked.length} ids{start}, {found.evaluations:,} of at most {asked.budget:,} scored"
    )
    for row in found.frame.head(_SHOWN).itertuples():
        text = visible(str(row.text), 80)
        shown = mask(text) if masked(str(row.text)) else text
        yield f"  {row.score:+10.4g}  {shown}"


def _said(found: Found) -> dict[str, Any]:
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
        "search": found.settings.said(),
        "evaluations": found.evaluations,
        "noise": found.noise,
        "found": rows,
        "trace": [list(step) for step in found.trace],
    }
