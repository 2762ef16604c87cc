"""Define the options of `rmaudit search` and convert them to the settings of a search."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import typer

from rmaudit.cli.shared_options import fail
from rmaudit.prompts import NAMES, PROMPTS
from rmaudit.runs.run_options import OPTIONS
from rmaudit.search.constraints import Constraints
from rmaudit.search.search_settings import DIRECTIONS, Direction, Gcg, Method, Settings

TABLE_4 = ("x x", "x x x", "- - -")  # starts of Christian et al. 2025, Table 4
_LENGTH, _STARTS = 3, 8
_GCG = Gcg()
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Command-line options of a search: prompts, directions, method, budget and starts."""

    prompt: Annotated[
        list[str] | None,
        typer.Option(help=f"{NAMES}; or any text. May be repeated (default: {', '.join(PROMPTS)})"),
    ] = None
    direction: Annotated[
        Literal["up", "down", "both"], typer.Option(help="up: loved; down: hated")
    ] = "both"
    length: Annotated[
        int | None,
        typer.Option(help=f"token ids of a sequence (default: the start's, or {_LENGTH})"),
    ] = None
    budget: Annotated[
        str, typer.Option(help="sequences that each search may score, such as 5000, 200k or 1M")
    ] = "200k"
    method: Annotated[
        Method | None,
        typer.Option(
            help="the whole vocabulary at one place after the other, the gradient, or chance "
            "(default: exhaustive)"
        ),
    ] = None
    start: Annotated[
        list[str] | None,
        typer.Option(help="a text to start from; each is a search of its own. May be repeated"),
    ] = None
    starts: Annotated[
        int | None, typer.Option(help=f"random starts (default: {_STARTS}; none with --start)")
    ] = None
    table4: Annotated[
        bool,
        typer.Option(
            "--table4",
            help="the protocol of Christian et al. 2025, Table 4: starts 'x x', 'x x x' and "
            "'- - -', three prompts, both directions, Faster-GCG; --prompt, --direction and "
            "--method change it",
        ),
    ] = False
    seed: Annotated[int, OPTIONS["seed"]] = 0
    beams: Annotated[
        int, typer.Option(help="sequences that an exhaustive search follows at once")
    ] = 1


@dataclass(frozen=True, slots=True)
class AllowedSequences:
    """Command-line options that limit which sequences a search may find."""

    ascii_only: Annotated[bool, typer.Option("--ascii", help="ASCII only")] = False
    words: Annotated[bool, typer.Option("--words", help="ids of letters only")] = False
    special: Annotated[bool, typer.Option("--special", help="special and added tokens too")] = False
    unprintable: Annotated[
        bool, typer.Option("--unprintable", help="control characters and broken bytes too")
    ] = False
    any_ids: Annotated[
        bool, typer.Option("--any-ids", help="also ids whose text gives other ids back")
    ] = False
    allow: Annotated[
        list[str] | None, typer.Option(help="only this token, a text or #ID. May be repeated")
    ] = None
    deny: Annotated[
        list[str] | None, typer.Option(help="not this token, a text or #ID. May be repeated")
    ] = None
    floor: Annotated[
        float | None,
        typer.Option(help="least mean log-probability of a token under the model's base"),
    ] = None

    def constraints(self) -> Constraints:
        """Convert these options to a search's constraints."""
        return Constraints(
            printable=not self.unprintable,
            ascii=self.ascii_only,
            special=self.special,
            round_trip=not self.any_ids,
            words=self.words,
            allow=tuple(self.allow) if self.allow else None,
            deny=tuple(self.deny or ()),
            floor=self.floor,
        )


@dataclass(frozen=True, slots=True)
class GcgOptions:
    """Command-line options that only the search method GCG (greedy coordinate gradient) has."""

    batch: Annotated[int, typer.Option(help="GCG: swaps that a step scores")] = _GCG.batch
    greedy: Annotated[bool, typer.Option(help="GCG: the most promising swaps, not random ones")] = (
        _GCG.greedy
    )
    fresh: Annotated[bool, typer.Option(help="GCG: nothing is tried twice")] = _GCG.fresh
    distance: Annotated[
        float, typer.Option(help="GCG: penalty on a swap's distance in the embedding; 0: none")
    ] = _GCG.distance
    target: Annotated[
        float | None, typer.Option(help="GCG: the authors' squared error to this reward")
    ] = None

    def settings(self, asked: SearchOptions, method: Method) -> Gcg:
        """Return the settings of GCG; end the command if one has no effect or is ambiguous."""
        gcg = Gcg(
            batch=self.batch,
            greedy=self.greedy,
            fresh=self.fresh,
            distance=self.distance,
            target=self.target,
        )
        if method != "gcg" and replace(gcg, target=None) != _GCG:
            fail(
                f"--batch, --greedy, --fresh and --distance are for --method gcg, not {method}; "
                f"leave them out"
            )
        if method == "gcg" and gcg.target is not None and asked.direction == "both":
            fail(
                "--target is one reward to come near to; say with --direction up or down whether "
                "it is a high or a low one"
            )
        return gcg


def starts(asked: SearchOptions) -> tuple[str | None, ...]:
    """Return the texts at which searches start, None for a random start; --table4 has its own."""
    if asked.table4 and (asked.start or asked.length is not None):
        fail("--table4 sets the start texts and their lengths; leave --start and --length out")
    return TABLE_4 if asked.table4 else tuple(asked.start or (None,))


def directions(asked: SearchOptions) -> tuple[Direction, ...]:
    """Return the directions of the search: up (to high rewards), down (to low ones), or both."""
    return DIRECTIONS if asked.direction == "both" else (asked.direction,)


def settings(asked: SearchOptions, allowed: AllowedSequences, gcg: GcgOptions) -> Settings:
    """Return the settings that all searches of a command share.

    Raises:
        SpecError: an option has a value that no search takes.
    """
    method = asked.method or ("gcg" if asked.table4 else "exhaustive")
    return Settings(
        gcg=gcg.settings(asked, method),
        length=_LENGTH if asked.length is None else asked.length,
        method=method,
        budget=_budget(asked.budget),
        seed=asked.seed,
        starts=_STARTS if asked.starts is None else asked.starts,
        beams=asked.beams,
        constraints=allowed.constraints(),
    )


def _budget(given: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})(k|M)?", given)
    if match is None:
        fail(
            f"--budget: {given!r} is not a number of sequences; give how many to score, such as "
            f"5000, 200k or 1M"
        )
    return int(match[1]) * _UNITS[match[2] or ""]
