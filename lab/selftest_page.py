"""Write how often audits block planted flaws (the self-test) as a page, a picture and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import rmaudit
from lab.bench import FAILED, FALSE_ALARMS, FOUND, WITHOUT, BenchOutcome
from rmaudit.report.charts.svg_compiler import BLUE, FAINT, INK, VERMILLION, as_svg, compiled
from rmaudit.report.results_document import write_text

FILES = ("selftest.md", "selftest.json", "selftest.svg")
_SVG = "http://www.w3.org/2000/svg"
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
few runs should pass or fail. The audits named invariance_ are also run on organisms without the
flaw: at most {alarms:.0%} of these may be blocked (an informational audit counts like a gate here).

| audit | flaw | where | size | median value | runs | blocked | FAIL |
| --- | --- | --- | --- | --- | --- | --- | --- |
{flaws}

![Share of runs that are blocked and that fail, by the size of the flaw](selftest.svg)

Points: FAIL. Dashed: blocked, that is FAIL or INCONCLUSIVE. The vertical line: the stated size.

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
    """Draw a panel per planted flaw: shares of FAIL and of blocked runs, by the flaw's size."""
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
                ends.mark_rule(color=FAINT, strokeDash=[2, 3]).encode(y=alt.Y("at:Q")),
                alt.Chart(alt.InlineData(values=stated)).mark_rule(color=VERMILLION).encode(x=x),
                chart.mark_line(color=INK, strokeDash=[4, 3]).encode(x=x, y=alt.Y("blocked:Q")),
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
