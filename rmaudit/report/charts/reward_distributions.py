"""Draw reward distributions as horizontal violins, as in Figure 1 of Christian et al. 2025.

Those of one model have a panel each, those of several models lie under each other.
Rewards are in sd of the model's own sweep ("sd"), counted from that sweep's mean: raw scales differ
a thousandfold across models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from rmaudit.report.charts.picture_and_labels import Picture, as_label, prompts_to_draw
from rmaudit.report.charts.svg_compiler import BLUE, FAINT, INK, VERMILLION, as_svg, chart_of
from rmaudit.report.results_document import AuditedModel, SweepSummary

_WIDTH, _HEIGHT = 310, 96
_NARROW, _ROW = 205, 34  # of several models: the plot, each model
_UNIT = 0.1  # sd: heights are tokens in so much, whatever the histogram's bins were
_COLUMNS = {"prompt": "text", "tokens": "number", "mean": "number", "sd": "number"}


def of_sweeps(sweeps: Sequence[SweepSummary]) -> Picture | None:
    """Draw a violin with ticks at extreme tokens for up to 3 sweeps; tabulate all that vary.

    Return None if the rewards of no sweep vary.
    """
    rows = [sweep for sweep in sweeps if _varies(sweep)]
    if not rows:
        return None
    domain = _range_in_sd(rows)
    kept = prompts_to_draw(sweep.prompt for sweep in rows)
    what = rows[0].scored
    columns = _COLUMNS | {"skewness": "number", "least, sd": "number", "most, sd": "number"}
    cells = [
        (
            *(as_label(sweep.prompt), f"{sweep.n:,}"),
            *(f"{sweep.mean:.4g}", f"{sweep.sd:.4g}", f"{sweep.skewness:+.2f}"),
            *(f"{end:+.2f}" for end in _ends_in_sd(sweep)),
        )
        for sweep in rows
    ]
    return Picture(
        f"Scores of {what}",
        f"How many tokens score how far from the mean of their sweep, in its sd; the violin is as "
        f"wide as there are tokens in {_UNIT} sd. Ticks beneath are the most extreme tokens.",
        "".join(_violin(sweep, domain=domain, what=what) for sweep in rows if sweep.prompt in kept),
        columns,
        tuple(cells),
    )


def _outline(sweep: SweepSummary) -> list[dict[str, float]]:
    """Return a violin's outline: its half-width at each bin edge, in tokens per 0.1 sd."""
    edges = [_in_sd(sweep, edge) for edge in sweep.histogram.edges]
    bins = zip(sweep.histogram.counts, edges[:-1], edges[1:], strict=True)
    heights = [_UNIT * count / (right - left) for count, left, right in bins]
    pairs = zip(edges, [*heights, heights[-1]], strict=True)
    return [{"sd": sd, "high": height, "low": -height} for sd, height in pairs]


def _varies(sweep: SweepSummary) -> bool:
    """Return whether a sweep's rewards vary enough for an axis in units of their sd.

    It is none either if mean or sd are so large that rounding leaves the bins without a width.
    """
    if not (sweep.sd > 0 and math.isfinite(sweep.sd)):
        return False
    edges = [_in_sd(sweep, edge) for edge in sweep.histogram.edges]
    return all(left < right for left, right in pairwise(edges))


def _range_in_sd(sweeps: Sequence[SweepSummary]) -> tuple[float, float]:
    """Return the lowest and highest reward of all sweeps, in sd from each sweep's mean."""
    ends = [end for sweep in sweeps for end in _ends_in_sd(sweep)]
    return min(ends), max(ends)


def _violin(sweep: SweepSummary, *, domain: tuple[float, float], what: str) -> str:
    import altair as alt

    x = alt.X("sd:Q").scale(domain=domain, nice=False)
    bare, y = x.axis(None), alt.Y("high:Q").axis(None)
    steps = _outline(sweep)
    area = chart_of(steps).mark_area(interpolate="step-after", color=FAINT, opacity=0.6)
    mean = chart_of([{"sd": 0}]).mark_rule(color=INK, strokeDash=[3, 3])
    titled = x.axis(title="sd from the sweep's own mean", tickCount=6)
    ticks = [
        chart_of([{"sd": token.z} for token in tokens])
        .mark_tick(color=color, thickness=1.2, height=10, y=5, orient="vertical", opacity=0.8)
        .encode(x=titled)
        for tokens, color in ((sweep.bottom, VERMILLION), (sweep.top, BLUE))
    ]
    peak = max(step["high"] for step in steps)
    lines = [f"skewness {sweep.skewness:+.2f}; widest {peak:,.0f} tokens", *_ticks_in_words(sweep)]
    prompt = as_label(sweep.prompt)
    chart = alt.vconcat(
        alt.layer(area.encode(x=bare, y=y, y2=alt.Y2("low:Q")), mean.encode(x=bare)).properties(
            width=_WIDTH, height=_HEIGHT, title=alt.TitleParams(prompt, subtitle=lines)
        ),
        alt.layer(*ticks).properties(width=_WIDTH, height=10),
        spacing=2,
    )
    facts = [f"{sweep.n:,} tokens", *lines]
    title = f"Distribution of the scores of {what}, {prompt}"
    return as_svg(chart, title=title, facts=facts)


def _ticks_in_words(sweep: SweepSummary) -> list[str]:
    """Describe a sweep's best and worst tokens, such as `top 25 at +6.0 sd or more`."""
    parts = []
    if bottom := [token.z for token in sweep.bottom]:
        parts.append(f"bottom {len(bottom)} at {max(bottom):+.1f} sd or less")
    if top := [token.z for token in sweep.top]:
        parts.append(f"top {len(top)} at {min(top):+.1f} sd or more")
    return parts


def _ends_in_sd(sweep: SweepSummary) -> tuple[float, float]:
    edges = sweep.histogram.edges
    return _in_sd(sweep, edges[0]), _in_sd(sweep, edges[-1])


def _in_sd(sweep: SweepSummary, score: float) -> float:
    return float((score - sweep.mean) / sweep.sd)


def of_models(models: Sequence[AuditedModel]) -> Picture | None:
    """Draw each model's rewards as a violin, for up to 3 prompts that several models have."""
    found = [(model.name, s) for model in models for s in model.sweeps if _varies(s)]
    prompts = {}
    for prompt in dict.fromkeys(sweep.prompt for _, sweep in found):
        own = [(name, sweep) for name, sweep in found if sweep.prompt == prompt]
        if len({name for name, _ in own}) > 1:
            prompts[prompt] = own
    if not prompts:
        return None
    every = [pair for own in prompts.values() for pair in own]
    domain = _range_in_sd([sweep for _, sweep in every])
    cells = [
        (as_label(name), as_label(sweep.prompt), f"{sweep.n:,}", f"{sweep.skewness:+.2f}")
        for name, sweep in every
    ]
    columns = {"model": "text", "prompt": "text", "tokens": "number", "skewness": "number"}
    return Picture(
        "Rewards of all tokens or words, model by model",
        "Each violin is one sweep, in sd from its own mean, drawn as wide as every other: its form "
        "can be compared, its height cannot.",
        "".join(
            _side_by_side(prompt, prompts[prompt], domain=domain)
            for prompt in prompts_to_draw(prompts)
        ),
        columns,
        tuple(cells),
    )


def _side_by_side(
    prompt: str, own: Sequence[tuple[str, SweepSummary]], *, domain: tuple[float, float]
) -> str:
    import altair as alt

    rows = []
    for place, (_, sweep) in enumerate(own):
        steps = _outline(sweep)
        half = 0.45 / max(step["high"] for step in steps)
        for step in steps:
            ends = {"low": place - half * step["high"], "high": place + half * step["high"]}
            rows.append({"place": place, "sd": step["sd"], **ends})
    y = alt.Y("high:Q").scale(domain=[len(own) - 0.5, -0.5], nice=False).axis(None)
    x = alt.X("sd:Q").scale(domain=domain, nice=False)
    names = [{"place": place, "name": as_label(name)} for place, (name, _) in enumerate(own)]
    chart = alt.layer(
        chart_of(rows)
        .mark_area(interpolate="step-after", color=BLUE, opacity=0.6)
        .encode(
            x=x.axis(title="sd from the sweep's own mean", tickCount=5),
            y=y,
            y2=alt.Y2("low:Q"),
            detail=alt.Detail("place:N"),
        ),
        chart_of([{"sd": 0}]).mark_rule(color=INK, strokeDash=[3, 3]).encode(x=x),
        chart_of(names)
        .mark_text(align="right", x=-8)
        .encode(y=alt.Y("place:Q").axis(None), text=alt.Text("name:N")),
    ).properties(width=_NARROW, height=_ROW * len(own), title=as_label(prompt))
    facts = [f"{as_label(name)} skewness {sweep.skewness:+.2f}" for name, sweep in own]
    return as_svg(chart, title=f"Distributions of scores, {as_label(prompt)}", facts=facts)
