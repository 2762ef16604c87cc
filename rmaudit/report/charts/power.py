"""Write self-test results (how often audits block planted flaws) as page, picture and data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import rmaudit
from rmaudit.organisms.selftest import FAILED, FALSE_ALARMS, FOUND, WITHOUT, BenchOutcome
from rmaudit.report.charts.drawing import BLUE, FAINT, INK, VERMILLION, as_svg, compiled
from rmaudit.report.document import write_text

FILES = ("selftest.md", "selftest.json", "selftest.svg")
_SVG = "http://www.w3.org/2000/svg"
_PAGE = """\
# What the audits find, measured

```console
rmaudit selftest --seeds {seeds} --jobs 2 --out docs
```

writes this page, [selftest.json](selftest.json) and the picture; with `--audit NAME` only the rows
of an audit are measured anew, so rows may rest on different numbers of runs. *Organisms* are
scorers without weights: valence as the frame asks, frequency, people's ratings, what is a word's
own under all prompts and under one, and its spelling's own, in sizes like those of the paper's ten
models (`rmaudit/organisms/planted.py`). A run is every gating audit under all of its prompts,
judged together as `pytest audits` judges a model; one that no gate stops passes.

## Runs without a flaw

| organisms | runs | blocked | with a FAIL | blocked by |
| --- | --- | --- | --- | --- |
{whole}

At most {alarms:.0%} of the runs of clean organisms may be blocked. Organisms with traits of the
published models' size are no clean ones: some of what the audits stop, these models have.

## Flaws

Each flaw is planted alone, and its audit put to it. At the stated size at least {found:.0%} of the
runs must be blocked and {failed:.0%} FAIL. The other rows are organisms whose value lies, in the
median, at the bound and a quarter of it to either side: there nobody can be sure, and few should
claim to be. The audits named invariance_ are put to organisms without the flaw, too: at most
{alarms:.0%} of these may be blocked, where an audit that informs counts as if it gated.

| audit | flaw | where | size | median value | runs | blocked | FAIL |
| --- | --- | --- | --- | --- | --- | --- | --- |
{flaws}

![Share of runs that are blocked and that fail, by the size of the flaw](selftest.svg)

Points: FAIL. Dashed: blocked, that is FAIL or INCONCLUSIVE. The line across: the stated size.

## What this does not show

The organisms' words are independent but for their stems; real models' errors follow more than
stems. The audits that compare with another model, with a base or with a search's finds of this
model were not put to organisms, but to planted cases in their tests. How well the intervals cover
is measured by `benchmarks/coverage.py`.
"""


def write(outcomes: Sequence[BenchOutcome], folder: Path) -> None:
    """Write the self-test's outcomes to a folder as Markdown page, JSON and SVG picture.

    Equal outcomes give equal bytes.
    """
    data = {"rmaudit": rmaudit.__version__, "outcomes": [asdict(outcome) for outcome in outcomes]}
    two = {outcome.kind for outcome in outcomes if outcome.at == WITHOUT}  # and no sizes between
    sized = [outcome for outcome in outcomes if outcome.at and outcome.kind not in two]
    svg = compiled(picture(sized))
    svg = svg.replace("<svg ", f'<svg xmlns="{_SVG}" ', 1)  # a file of its own
    texts = (page(outcomes), json.dumps(data, indent=1) + "\n", svg + "\n")
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
    """Draw a panel for each flaw: shares of runs that FAIL (points) and are blocked (dashed)."""
    import altair as alt

    panels, facts = [], []
    for audit, said in dict.fromkeys((outcome.kind, outcome.said) for outcome in outcomes):
        own = [one for one in outcomes if (one.kind, one.said) == (audit, said)]
        rows = [{"size": one.size, "failed": one.failed, "blocked": one.blocked} for one in own]
        x = alt.X("size:Q").scale(zero=False).axis(title=said, tickCount=5)
        y = alt.Y("failed:Q").scale(domain=[0, 1]).axis(title="share of runs", tickCount=3)
        chart = alt.Chart(alt.InlineData(values=rows))
        ends = alt.Chart(alt.InlineData(values=[{"at": FAILED}, {"at": FOUND}]))
        stated = [{"size": one.size} for one in own if one.at == "stated"]
        panels.append(
            alt.layer(
                ends.mark_rule(color=FAINT, strokeDash=[2, 3]).encode(y="at:Q"),
                alt.Chart(alt.InlineData(values=stated)).mark_rule(color=VERMILLION).encode(x=x),
                chart.mark_line(color=INK, strokeDash=[4, 3]).encode(x=x, y="blocked:Q"),
                chart.mark_line(color=BLUE, point=True).encode(x=x, y=y),
            ).properties(width=260, height=120, title=audit)
        )
        found = ", ".join(f"{row['failed']:.2f} at {row['size']:g}" for row in rows)
        facts.append(f"{audit}, {said}: share of FAIL {found}")
    return as_svg(
        alt.concat(*panels, columns=2, spacing=28),
        title="How often each audit stops organisms, by the size of their planted flaw",
        facts=facts,
    )
