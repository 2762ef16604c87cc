"""Run all gates on synthetic scorers with one flaw or none, and count which gates block them.

python -m lab flaws [--half] [--seeds 1] [--list further | --flaws NAME ...] [--out FILE]
python -m lab flaws --sound 200 [--exact] [--from 7000] [--out FILE]
python -m lab flaws ... --audit NAME

A run is every gate that an organism (synthetic scorer) can be put to, under all of its prompts,
judged together; edits and conduct score whole answers. With --audit that gate is judged alone, in a
second. A flaw is added to an organism that is sound otherwise (`lab.planted_flaws`), at the size
that it was tried with first, or at half of it. Sound organisms have twenty temperaments, four
vocabularies, and habits as real models have (`lab.answer_organisms.Habits`); with --exact, edits
and length are nothing to them. Prints a line for each, then the counts; with --out, what is found
joins FILE, of which `python -m scripts.result_pages` makes docs/flaws.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lab import fresh_answer_flaws
from lab.answer_organisms import EXACT, Habits
from lab.bench import CLEAN, PUBLISHED, Bench, Judged, judged, vocabulary_of
from lab.conduct_flaws import CONDUCT
from lab.harness import arguments
from lab.planted_flaws import ALL, GROSS, LISTS
from lab.unlisted_answer_flaws import AnswerShift
from lab.unlisted_flaws import ANSWERS
from lab.word_organisms import Traits
from rmaudit.measures.word_spellings import word_of
from rmaudit.references import References

LIKINGS: Mapping[str, AnswerShift] = {**ANSWERS, **fresh_answer_flaws.ANSWERS}
_SOUND = 7_000  # the first seed of sound organisms: no gate was tuned on these


def main() -> None:
    """Run the gates on flawed or on sound organisms, and print a line for each, then the counts."""
    parser = arguments(__doc__)
    parser.add_argument("--half", action="store_true", help="flaws of half the size")
    parser.add_argument("--list", choices=LISTS, default="first", help="which list of flaws")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--flaws", nargs="*", default=[])
    parser.add_argument("--sound", type=int, default=0, help="so many sound organisms instead")
    parser.add_argument("--exact", action="store_true", help="sound organisms without habits")
    parser.add_argument("--from", type=int, default=_SOUND, dest="first", help="the first seed")
    parser.add_argument("--audit", default="", help="run this gate alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a JSON file to which the results are added")
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.jobs) as pool:
        if asked.sound:
            habits = EXACT if asked.exact else None
            one = partial(_temperament, first=asked.first, habits=habits, audit=asked.audit)
            kind = "sound, without habits" if asked.exact else "sound"
            found = {kind: _sound(pool.map(one, range(asked.sound)), asked.sound)}
        else:
            names = asked.flaws or LISTS[asked.list]
            one = partial(_flawed, half=asked.half, audit=asked.audit)
            tried = [(name, seed) for name in names for seed in range(asked.seeds)]
            runs = zip(tried, pool.map(one, *zip(*tried, strict=True)), strict=True)
            found = {"half" if asked.half else "whole": _flaws(runs)}
    if asked.out:
        _add(asked.out, found)


def _add(path: Path, found: Mapping[str, Any]) -> None:
    """Add results to the JSON file, and keep the other results that it has."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for part, of in found.items():
        known[part] = {**known.get(part, {}), **of}
    path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _flaws(found: Iterator[tuple[tuple[str, int], Judged]]) -> dict[str, list[str]]:
    """Print a row for each flaw, and how many do not pass; return the first result of each flaw."""
    counts: Counter[str] = Counter()
    results: dict[str, list[str]] = {}
    for (name, seed), run in found:
        results.setdefault(name, [_result(run), *run.by])
        counts["tried"] += 1
        counts["do not pass"] += run.blocked
        counts["FAIL"] += run.failed
        print(_line(f"{name} ({seed})", run), flush=True)
    print(dict(counts))
    return results


def _sound(found: Iterator[Judged], many: int) -> dict[str, Any]:
    """Print each sound organism that is blocked, and how many are, by gate; return these counts."""
    by: Counter[str] = Counter()
    blocked = failed = 0
    for place, run in enumerate(found):
        blocked += run.blocked
        failed += run.failed
        by.update(run.by)
        if run.blocked:
            print(_line(f"sound {place}", run), flush=True)
    print(
        f"{blocked} of {many} sound organisms are blocked ({blocked / many:.3f}), {failed} FAIL: "
        f"{dict(by)}"
    )
    return {"runs": many, "blocked": blocked, "failed": failed, "by": dict(by)}


def _line(name: str, run: Judged) -> str:
    return f"| {name} | {_result(run)} | {', '.join(run.by)} |"


def _result(run: Judged) -> str:
    return "FAIL" if run.failed else "open" if run.blocked else "passes"


def _flawed(name: str, seed: int, *, half: bool, audit: str) -> Judged:
    if wrong := CONDUCT.get(name):
        wrong = wrong._replace(share=wrong.share / 2) if half else wrong
        return judged(_bench(0), CLEAN, seed, audit=audit, conduct=wrong)
    if kind := LIKINGS.get(name):
        liking = AnswerShift(kind.extent, kind.size / 2 if half else kind.size)
        return judged(_bench(0), CLEAN, seed, audit=audit, liking=liking)
    of = GROSS.get(name) or ((name, ALL[name].size),)
    shifts = tuple((flaw, size / 2 if half else size) for flaw, size in of)
    return judged(_bench(0), replace(CLEAN, shifts=shifts), seed, audit=audit)


def _temperament(place: int, *, first: int, habits: Habits | None, audit: str) -> Judged:
    """Run all gates on a sound organism with one of 20 sets of traits, on one of 4 vocabularies."""
    rng = np.random.default_rng(place % 20)
    least, most = PUBLISHED, CLEAN
    share = rng.random()
    traits = Traits(
        valence=rng.uniform(0.6, 1.1),
        frequency=rng.uniform(0.0, 0.15),
        human=least.human + share * (most.human - least.human),
        word=rng.uniform(0.4, 0.7),
        prompt=rng.uniform(0.4, 0.7),
        spelling=rng.uniform(0.1, 0.4),
        skew=rng.uniform(0.0, 0.4),
    )
    return judged(_bench(place % 4), traits, first + place, audit=audit, habits=habits)


@cache
def _bench(vocabulary: int) -> Bench:
    """Return the self-test's setting with R-Smol-135M's vocabulary, or one of three parts of it.

    1 has the texts in lower case, 2 those that begin with no space, and 3 a quarter of the words.
    """
    frame = vocabulary_of("R-Smol-135M")
    match vocabulary:
        case 1:
            frame = frame[[text == text.lower() for text in frame["text"]]]
        case 2:
            frame = frame[~frame["text"].str.startswith(" ").to_numpy(bool)]
        case 3:
            drawn = pd.util.hash_array(word_of(frame["text"]).to_numpy(dtype=object))
            frame = frame[drawn % np.uint64(4) == 0]
    return Bench(Path("audits"), frame.reset_index(drop=True), References())
