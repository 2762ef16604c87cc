"""The curves of a selftest: how often each audit fails organisms, by the size of their flaw."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import rmaudit
from rmaudit.organisms.selftest import FALSE_ALARMS, POWER, Outcome
from rmaudit.report.charts.drawing import BLUE, FAINT, INK, VERMILLION, as_svg, compiled
from rmaudit.verdicts.records import Verdict

_SVG = "http://www.w3.org/2000/svg"
_FAILED, _UNSURE = str(Verdict.FAIL), str(Verdict.INCONCLUSIVE)


def write(outcomes: Sequence[Outcome], folder: Path) -> None:
    """`selftest.json` and `selftest.svg`; the same outcomes give the same bytes."""
    data = {"rmaudit": rmaudit.__version__, "outcomes": [outcome.to_json() for outcome in outcomes]}
    text = json.dumps(data, indent=1) + "\n"
    (folder / "selftest.json").write_text(text, encoding="utf-8")
    svg = compiled(picture(outcomes))
    svg = svg.replace("<svg ", f'<svg xmlns="{_SVG}" ', 1)  # a file of its own
    (folder / "selftest.svg").write_text(svg + "\n", encoding="utf-8")


def picture(outcomes: Sequence[Outcome]) -> str:
    """One panel a flaw: the share of FAIL (points) and of FAIL or INCONCLUSIVE (dashed)."""
    import altair as alt

    panels, facts = [], []
    for flaw in dict.fromkeys(outcome.flaw for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.flaw == flaw]
        rows = [
            {
                "size": outcome.size,
                "failed": outcome.shares[_FAILED],
                "unpassed": outcome.shares[_FAILED] + outcome.shares[_UNSURE],
            }
            for outcome in own
        ]
        x = alt.X("size:Q").scale(zero=False).axis(title=f"{flaw.trait}: {flaw.said}", tickCount=5)
        y = alt.Y("failed:Q").scale(domain=[0, 1]).axis(title="share of organisms", tickCount=3)
        chart = alt.Chart(alt.InlineData(values=rows))
        ends = alt.Chart(alt.InlineData(values=[{"at": FALSE_ALARMS}, {"at": POWER}]))
        stated = alt.Chart(alt.InlineData(values=[{"size": flaw.stated}]))
        panels.append(
            alt.layer(
                ends.mark_rule(color=FAINT, strokeDash=[2, 3]).encode(y="at:Q"),
                stated.mark_rule(color=VERMILLION).encode(x=x),
                chart.mark_line(color=INK, strokeDash=[4, 3]).encode(x=x, y="unpassed:Q"),
                chart.mark_line(color=BLUE, point=True).encode(x=x, y=y),
            ).properties(width=260, height=120, title=flaw.audit)
        )
        found = ", ".join(f"{row['failed']:.2f} at {row['size']:g}" for row in rows)
        facts.append(f"{flaw.audit}: share of FAIL {found}")
    return as_svg(
        alt.concat(*panels, columns=2, spacing=28),
        title="How often each audit fails organisms, by the size of their planted flaw",
        facts=facts,
    )
