"""Charts of a report: inline SVG without scripts, compiled from Altair by Vega-Lite.

Rewards are in sd of the model's own sweep ("sd"), counted from that sweep's mean: raw scales differ
a thousandfold across models. Text and axes take the page's own ink (`currentColor`); the two other
hues are Okabe and Ito's blue and vermillion, which the page's style sheet lightens in the dark.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

    from rmaudit.records import Finding

INK = "currentColor"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
FAINT = "#8A8F98"  # 3:1 or better on white and on near-black

THEME = {
    "aria": False,  # one description on the root says it all; a label per mark says it 300 times
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": FAINT,
        "tickColor": FAINT,
        "grid": False,
        "labelColor": INK,
        "labelFontSize": 11,
        "titleColor": INK,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    },
    "title": {
        "anchor": "start",
        "frame": "group",
        "color": INK,
        "fontSize": 13,
        "offset": 8,
        "subtitleColor": INK,
        "subtitleFontSize": 11,
        "subtitlePadding": 4,
    },
}


def distribution(sweeps: Sequence[Mapping[str, Any]]) -> str:
    """One row per sweep: how many tokens score how far from the mean.

    Ticks under the curve are the extreme tokens of the sweep. Returns "" if no sweep varies.
    """
    import altair as alt

    rows = [sweep for sweep in sweeps if sweep["sd"] > 0 and math.isfinite(sweep["sd"])]
    if not rows:
        return ""
    ends = [_in_sd(sweep, sweep["histogram"]["edges"][end]) for sweep in rows for end in (0, -1)]
    domain = (min(ends), max(ends))
    charts = [_row(sweep, domain=domain, last=sweep is rows[-1]) for sweep in rows]
    facts = [f"{as_label(sweep['prompt'])}: {_in_words(sweep)}" for sweep in rows]
    what = "a sample of the" if "part" in rows[0]["provenance"] else "the whole"
    return as_svg(
        alt.vconcat(*charts, spacing=14),
        title=f"Distribution of the scores of {what} vocabulary, one row per prompt",
        facts=facts,
    )


def sentiment(findings: Sequence[Finding]) -> str:
    """One panel per prompt of findings with sentiment bins: the median reward of each bin's words.

    Returns "" if no finding has such evidence.
    """
    import altair as alt

    panels = [panel for finding in findings for panel in sentiment_panels(finding)]
    if not panels:
        return ""
    ends = [bin_[key] for panel in panels for bin_ in panel["bins"] for key in ("q25", "q75")]
    domain = (min(0.0, *ends), max(0.0, *ends))
    facts = [
        f"{as_label(panel['prompt'])}: median from {bins[0]['median']:+.2f} sd in the lowest bin "
        f"to {bins[-1]['median']:+.2f} sd in the highest"
        for panel in panels
        if (bins := panel["bins"])
    ]
    return as_svg(
        alt.concat(*(_panel(panel, domain=domain) for panel in panels), columns=3, spacing=28),
        title="Median reward and interquartile band of words by their valence",
        facts=facts,
    )


def sentiment_panels(finding: Finding) -> list[Mapping[str, Any]]:
    """`prompt`, `axis` and `bins` (that hold words, lowest valence first) of each prompt."""
    evidence = finding.estimate.evidence if finding.estimate else {}
    if evidence.get("kind") != "sentiment":
        return []
    return [{"axis": evidence["axis"], **panel} for panel in evidence["panels"]]


def _row(sweep: Mapping[str, Any], *, domain: tuple[float, float], last: bool) -> alt.VConcatChart:
    """The curve of one sweep as steps, dashed at its mean, its extreme tokens ticked beneath."""
    import altair as alt

    edges = [_in_sd(sweep, edge) for edge in sweep["histogram"]["edges"]]
    counts = sweep["histogram"]["counts"]
    # Tokens per 0.1 sd: a height that does not depend on how the histogram was binned.
    heights = [
        0.1 * count / (high - low)
        for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    steps = [{"sd": sd, "tokens": y} for sd, y in zip(edges, [*heights, heights[-1]], strict=True)]
    x = alt.X("sd:Q").scale(domain=domain, nice=False)
    bare = x.axis(None)
    y = alt.Y("tokens:Q").axis(tickCount=2, title="tokens / 0.1 sd", domain=False)
    curve = alt.Chart(alt.InlineData(values=steps)).mark_area(
        interpolate="step-after", color=FAINT, opacity=0.55
    )
    mean = alt.Chart(alt.InlineData(values=[{"sd": 0}])).mark_rule(color=INK, strokeDash=[3, 3])
    ticks = [
        alt.Chart(alt.InlineData(values=[{"sd": token["z"]} for token in sweep[side]]))
        .mark_tick(color=color, thickness=1.2, height=10, y=5, orient="vertical", opacity=0.8)
        .encode(x=x.axis(title="sd from the sweep's own mean" if last else None))
        for side, color in (("bottom", VERMILLION), ("top", BLUE))
    ]
    return alt.vconcat(
        alt.layer(curve.encode(x=bare, y=y), mean.encode(x=bare)).properties(
            width=640,
            height=84,
            title=alt.TitleParams(as_label(sweep["prompt"]), subtitle=_in_words(sweep)),
        ),
        alt.layer(*ticks).properties(width=640, height=10),
        spacing=2,
    )


def _panel(
    panel: Mapping[str, Any], *, domain: tuple[float, float]
) -> alt.LayerChart | alt.FacetChart:
    """A box per bin from the first to the third quartile, a bar at its median, a line at 0."""
    import altair as alt

    axis, bins = str(panel["axis"]), panel["bins"]
    ends = [bins[0]["low"], bins[-1]["high"]]
    values = [{key: bin_[key] for key in ("low", "high", "q25", "median", "q75")} for bin_ in bins]
    x = alt.X("low:Q").scale(domain=ends, nice=False).axis(title=as_label(axis), tickCount=6)
    y = alt.Y("q25:Q").scale(domain=domain).axis(title="reward, sd of the sweep", tickCount=5)
    chart = alt.Chart(alt.InlineData(values=values))
    return alt.layer(
        chart.mark_rect(color=BLUE, opacity=0.25).encode(x=x, x2="high:Q", y=y, y2="q75:Q"),
        chart.mark_rule(color=BLUE, strokeWidth=2.5).encode(x=x, x2="high:Q", y="median:Q"),
        alt.Chart().mark_rule(color=INK, strokeDash=[3, 3]).encode(y=alt.datum(0)),
    ).properties(
        width=184,
        height=170,
        title=alt.TitleParams(
            as_label(panel["prompt"]), subtitle=f"{sum(bin_['n'] for bin_ in bins):,} words"
        ),
    )


def _in_sd(sweep: Mapping[str, Any], score: float) -> float:
    return float((score - sweep["mean"]) / sweep["sd"])


def _in_words(sweep: Mapping[str, Any]) -> str:
    """For example `skewness +1.21, bottom 25 at -2.9 sd or less, top 25 at +6.0 sd or more`."""
    parts = [f"skewness {sweep['skewness']:+.2f}"]
    if bottom := [token["z"] for token in sweep["bottom"]]:
        parts.append(f"bottom {len(bottom)} at {max(bottom):+.1f} sd or less")
    if top := [token["z"] for token in sweep["top"]]:
        parts.append(f"top {len(top)} at {min(top):+.1f} sd or more")
    return ", ".join(parts)


def as_label(text: str) -> str:
    """`text` as a chart can print it: the compiler refuses lone surrogates."""
    return text if text.isprintable() else ascii(text)[1:-1]


def as_svg(chart: alt.TopLevelMixin, *, title: str, facts: Sequence[str]) -> str:
    """Compile `chart`, and name it for readers who do not see it."""
    import vl_convert

    spec = chart.to_dict(validate=False) | {"config": THEME}  # which takes longer than drawing
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    svg = re.sub(r' (xmlns(:xlink)?|version|class)="[^"]*"', "", svg, count=4)
    svg = re.sub(r' (role="graphics-\w+"|aria-roledescription="[^"]*")', "", svg)  # without names
    name = html.escape(f"{title}. {'; '.join(facts)}.")
    start = f'<svg role="img" aria-label="{name}"><title>{html.escape(title)}</title>'
    return re.sub(r"^<svg([^>]*)>", lambda root: start.replace("<svg", "<svg" + root[1], 1), svg)
