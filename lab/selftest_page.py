"""Write how often audits block planted flaws (the self-test) as a page, a picture and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import rmaudit
from lab.bench import FAILED, FALSE_ALARMS, FOUND, WITHOUT, BenchOutcome
from rmaudit import svg
from rmaudit.report.results_document import write_text

FILES = ("selftest.md", "selftest.json", "selftest.svg")
_WIDE, _TALL, _GAP = 270, 120, 28  # pixels of a panel, and between two
_PAGE = """\
# What the audits find, measured

```console
python -m lab selftest --seeds {seeds} --jobs 2 --out docs
```

This command writes this page, [selftest.json](selftest.json) and the picture. With `--audit NAME`
it measures only the rows of one audit again, so the numbers of runs may differ between rows.
*Organisms* are simulated scorers without weights. Their score of a word is a sum of its valence (as
the prompt asks), its frequency, people's ratings, and random parts for the word, for the word under
one prompt, and for the spelling. The sizes of these parts are like those of the paper's ten models
(`lab/word_organisms.py`). A run has every gate under all of its prompts, corrected
together as in `pytest audits`. It passes if no gate stops it.

## Runs without a flaw

| organisms | runs | blocked | with a FAIL | blocked by |
| --- | --- | --- | --- | --- |
{whole}

At most {alarms:.0%} of the runs of flawless organisms may be blocked. Organisms with traits of the
published models' size are not flawless, because these models have some flaws that the audits stop.

## Flaws

Each flaw is planted alone, and its audit is run on the organism. At the stated size, at least
{found:.0%} of the runs must be blocked, and {failed:.0%} must FAIL. In the other rows, the median
value is at the bound, or a quarter of the bound above or below it. There the data cannot decide, so
few runs should pass or fail. edits, conduct and judge_wording are also run on
organisms without the flaw, with small likings of edits and of length as real models have: at most
{alarms:.0%} of these may be blocked (an informational audit counts like a gate here).

| audit | flaw | where | size | median value | runs | blocked | FAIL |
| --- | --- | --- | --- | --- | --- | --- | --- |
{flaws}

![Share of runs that are blocked and that fail, by the size of the flaw](selftest.svg)

Points: FAIL. Dashed: blocked, that is FAIL or INCONCLUSIVE. The vertical line: the stated size.

The rows of edits and the gates of sentences were measured under
[today's rule](design/037-three-states.md). Those of identity_terms were measured when its value was
a gap with the bound 0.1, also in the worst tenth, where 0.03 is tolerated now. All others were
measured before that rule, when harm began at every bound: their FAIL column is as it would be
today, and *blocked* counts every interval that crosses a bound, which today blocks only in gates of
the core that do not rule out harm.

## What this does not show

The words of an organism are independent, except those of one stem. The errors of real models depend
on more than stems. The audits that compare with another model, with a base, or with strings found
on the model were not run on organisms, but on planted cases in their tests. How often the intervals
contain the true value is measured by `lab/coverage.py` ([coverage](coverage.md)).
"""


def write(outcomes: Sequence[BenchOutcome], folder: Path) -> None:
    """Write the self-test's outcomes to a folder as Markdown page, JSON and SVG picture.

    Equal outcomes give equal bytes.
    """
    data = {"rmaudit": rmaudit.__version__, "outcomes": [asdict(outcome) for outcome in outcomes]}
    two = {outcome.kind for outcome in outcomes if outcome.at == WITHOUT}  # and no sizes between
    sized = [outcome for outcome in outcomes if outcome.at and outcome.kind not in two]
    drawn = svg.of_its_own(picture(sized))
    texts = (page(outcomes), json.dumps(data, indent=1) + "\n", drawn + "\n")
    for name, text in zip(FILES, texts, strict=True):
        write_text(folder / name, text)


def read(folder: Path) -> list[BenchOutcome]:
    """Read back the outcomes that `write` wrote to a folder; an empty list if there are none."""
    path = folder / FILES[1]
    if not path.is_file():
        return []
    known = json.loads(path.read_text(encoding="utf-8"))["outcomes"]
    return [BenchOutcome(**{**one, "by": tuple(map(tuple, one["by"]))}) for one in known]


def page(outcomes: Sequence[BenchOutcome]) -> str:
    """Return the self-test's Markdown page: tables of runs without a flaw and with each flaw."""
    whole = [outcome for outcome in outcomes if not outcome.at]
    flaws = [outcome for outcome in outcomes if outcome.at]
    return _PAGE.format(
        seeds=max(outcome.runs for outcome in outcomes),
        whole="\n".join(map(_run, whole)),
        flaws="\n".join(map(_flaw, flaws)),
        alarms=FALSE_ALARMS,
        found=FOUND,
        failed=FAILED,
    )


def _run(outcome: BenchOutcome) -> str:
    by = ", ".join(f"{audit} {share:.1%}" for audit, share in outcome.by)
    cells = (outcome.said, outcome.runs, f"{outcome.blocked:.1%}", f"{outcome.failed:.1%}", by)
    return _row(cells)


def _flaw(outcome: BenchOutcome) -> str:
    return _row(
        (
            outcome.kind,
            outcome.said,
            outcome.at,
            f"{outcome.size:.2f}",
            f"{outcome.value:+.3f}",
            outcome.runs,
            f"{outcome.blocked:.1%}",
            f"{outcome.failed:.1%}",
        )
    )


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def picture(outcomes: Sequence[BenchOutcome]) -> str:
    """Draw a panel per planted flaw: shares of FAIL and of blocked runs, by the flaw's size."""
    marks, facts, tops = [], [], [0.0, 0.0]
    for place, (audit, said) in enumerate(dict.fromkeys((one.kind, one.said) for one in outcomes)):
        found = [one for one in outcomes if (one.kind, one.said) == (audit, said)]
        own = sorted(found, key=lambda one: one.size or 0.0)
        panel, height = _panel(audit, said, own)
        column = place % 2
        left = column * (_WIDE + 2 * _GAP)
        marks.append(f'<g transform="translate({left} {svg.short(tops[column])})">{panel}</g>')
        tops[column] += height + _GAP
        shares = ", ".join(f"{one.failed:.2f} at {one.size:g}" for one in own)
        facts.append(f"{audit}, {said}: share of FAIL {shares}")
    return svg.chart(
        marks,
        height=max(tops),
        name="How often each audit stops organisms, by the size of their planted flaw",
        facts=facts,
        left=2 * _GAP,
        width=2 * _WIDE + 5 * _GAP,
    )


def _panel(audit: str, said: str, own: Sequence[BenchOutcome]) -> tuple[str, float]:
    """Return a planted flaw's panel, as marks whose origin is the top left, and its height."""
    top = 20
    y, sizes = svg.Axis(0, 1, top + _TALL, top), [one.size or 0.0 for one in own]
    x = svg.Axis(min(sizes), max(sizes), 0, _WIDE)
    beside, _ = svg.axis_left(y, "share of runs", 2)
    beneath, height = svg.axis_below(x, top + _TALL, said)
    marks = [svg.text(0, 10, audit, kind="head"), beside, beneath]
    marks += [svg.line(0, y.at(at), _WIDE, y.at(at), "faint dashed") for at in (FAILED, FOUND)]
    stated = [x.at(size) for size, one in zip(sizes, own, strict=True) if one.at == "stated"]
    marks += [svg.line(at, top, at, top + _TALL, "red") for at in stated]
    blocked, failed = [one.blocked for one in own], [one.failed for one in own]
    for kind, shares in (("ink dashed", blocked), ("blue", failed)):
        places = [(x.at(size), y.at(share)) for size, share in zip(sizes, shares, strict=True)]
        marks += [svg.line(*one, *other, kind) for one, other in pairwise(places)]
        marks += [svg.dot(*place, kind, 2.5) for place in places if kind == "blue"]
    return "".join(marks), top + _TALL + height
