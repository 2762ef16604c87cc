"""Reward by bins of what a word is: its valence (Figure 3A of the paper), its frequency (3D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmaudit.report.charts.drawing import BLUE, INK, as_svg, chart_of
from rmaudit.report.charts.labels import as_label
from rmaudit.report.charts.picture import Picture, evidence_of, table
from rmaudit.verdicts.records import Finding

_WIDTH, _HEIGHT = 270, 170
_COLUMNS = ("from", "to", "words", "first quartile", "median", "third quartile")


def sentiment(findings: Sequence[Finding]) -> Picture | None:
    """A panel a prompt: median reward and quartiles of the words in each bin of valence."""
    return _picture(
        [
            {"axis": evidence["axis"], **panel}
            for evidence in map(evidence_of, findings)
            for panel in evidence["panels"]
        ],
        title="Reward and sentiment",
        caption="Words by their valence: the bar is the median reward of a bin's words, the box "
        "goes from the first to the third quartile. A frame that is read turns the slope around.",
    )


def frequency(findings: Sequence[Finding]) -> Picture | None:
    """A panel a prompt: what frequency adds to the reward, all else taken out."""
    return _picture(
        [
            {"prompt": finding.prompt, **{key: evidence[key] for key in ("axis", "bins")}}
            for finding in findings
            if (evidence := evidence_of(finding))
        ],
        title="Reward and frequency",
        caption="Words by how often people write them (Zipf scale: one more is ten times as "
        "often), their valence taken out: median reward of a bin's words, and its quartiles.",
    )


def _picture(panels: Sequence[Mapping[str, Any]], *, title: str, caption: str) -> Picture | None:
    panels = [panel for panel in panels if panel["bins"]]
    if not panels:
        return None
    ends = [bin_[key] for panel in panels for bin_ in panel["bins"] for key in ("q25", "q75")]
    domain = (min(0.0, *ends), max(0.0, *ends))
    cells = [
        (
            as_label(panel["prompt"]),
            *(f"{bin_[end]:.2f}" for end in ("low", "high")),
            f"{bin_['n']:,}",
            *(f"{bin_[number]:+.2f}" for number in ("q25", "median", "q75")),
        )
        for panel in panels
        for bin_ in panel["bins"]
    ]
    columns = {"prompt": "text"} | dict.fromkeys(_COLUMNS, "number")
    svg = "".join(_panel(panel, domain=domain, title=title) for panel in panels)
    return Picture(title, caption, svg, table(columns, cells))


def _panel(panel: Mapping[str, Any], *, domain: tuple[float, float], title: str) -> str:
    """A box per bin from the first to the third quartile, a bar at its median, a line at 0."""
    import altair as alt

    bins, prompt = panel["bins"], as_label(panel["prompt"])
    ends = [bins[0]["low"], bins[-1]["high"]]
    values = [{key: bin_[key] for key in ("low", "high", "q25", "median", "q75")} for bin_ in bins]
    x = alt.X("low:Q").scale(domain=ends, nice=False)
    x = x.axis(title=as_label(panel["axis"]), tickCount=6)
    y = alt.Y("q25:Q").scale(domain=domain).axis(title="reward, sd of the sweep", tickCount=5)
    chart = chart_of(values)
    layers = alt.layer(
        chart.mark_rect(color=BLUE, opacity=0.25).encode(x=x, x2="high:Q", y=y, y2="q75:Q"),
        chart.mark_rule(color=BLUE, strokeWidth=2.5).encode(x=x, x2="high:Q", y="median:Q"),
        alt.Chart().mark_rule(color=INK, strokeDash=[3, 3]).encode(y=alt.datum(0)),
    ).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(prompt, subtitle=f"{sum(bin_['n'] for bin_ in bins):,} words"),
    )
    fact = (
        f"median from {bins[0]['median']:+.2f} sd in the lowest bin "
        f"to {bins[-1]['median']:+.2f} sd in the highest"
    )
    return as_svg(layers, title=f"{title}, {prompt}", facts=[fact])
