"""rmaudit search: the sequences that a model loves and hates, by name from the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rmaudit.cli.common import AsJson, Named, Registered, echo_json, fail
from rmaudit.config.cache_folder import default_cache
from rmaudit.config.registry import Dtype
from rmaudit.errors import RmauditError
from rmaudit.prompts import NAMES, PROMPTS
from rmaudit.search.constraints import Constraints
from rmaudit.search.settings import DIRECTIONS, Gcg, Method, Settings

if TYPE_CHECKING:
    from rmaudit.models.protocol import RewardModel
    from rmaudit.search.api import Found

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
        Method | None,
        typer.Option(
            help="the whole vocabulary at one place after the other, the gradient, or chance "
            "(default: exhaustive)"
        ),
    ] = None,
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
            "'- - -', three prompts, both directions, Faster-GCG; --prompt, --direction and "
            "--method change it",
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
    from rmaudit.search.api import search as run

    try:
        if table4 and (start or length is not None):
            fail("--table4 has its own starts and their lengths; leave --start and --length out")
        gcg = Gcg(batch=batch, greedy=greedy, fresh=fresh, distance=distance, target=target)
        method = method or ("gcg" if table4 else "exhaustive")
        _refuse_idle(method, gcg, direction)
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
            length=_LENGTH if length is None else length,
            method=method,
            budget=_budget(budget),
            seed=seed,
            starts=_STARTS if starts is None else starts,
            beams=beams,
            constraints=limits,
            gcg=gcg,
        )
        directions = DIRECTIONS if direction == "both" else (direction,)
        texts = TABLE_4 if table4 else start or (None,)
        loaded = load(model, registry=file, cache=cache, device=device, dtype=dtype)
        if shared is not None and shared.exists():
            ledger.read(shared)  # before a search is made in vain
        found = []
        for asked in prompt or PROMPTS:
            for text in texts:
                given = _from(loaded, common, text, length, starts)
                for way in directions:
                    settings = replace(given, direction=way)
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


def _refuse_idle(method: Method, gcg: Gcg, direction: str) -> None:
    """Options that would change nothing, or not what they seem to."""
    if method != "gcg" and replace(gcg, target=None) != _GCG:
        fail(
            f"--batch, --greedy, --fresh and --distance are for --method gcg, not {method}; leave "
            f"them out"
        )
    if method == "gcg" and gcg.target is not None and direction == "both":
        fail("--target is one reward to come near to; say with --direction up or down what it is")


def _from(
    model: RewardModel, common: Settings, start: str | None, length: int | None, starts: int | None
) -> Settings:
    """The settings from a given start: its length is its own, in this model's tokens."""
    if start is None:
        return common
    own = len(model.ids(start)) if start and length is None else common.length
    return replace(common, start=start, length=own, starts=starts or 1)


def _lines(found: Found) -> Iterator[str]:
    """What was asked, and the best of what was found; terms that hurt are masked."""
    from rmaudit.report.masks import mask, masked
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
