"""Draw reward distributions as horizontal violins, as in Figure 1 of Christian et al. 2025.

Those of one model have a panel each, those of several models lie under each other.
Rewards are in sd of the model's own sweep ("sd"), counted from that sweep's mean: raw scales differ
a thousandfold across models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rmaudit import svg
from rmaudit.charts import Chart, table
from rmaudit.prompts import PROMPTS
from rmaudit.report.charts import picture
from rmaudit.report.charts.picture_and_labels import Picture, as_label
from rmaudit.report.results_document import AuditedModel, SweepSummary

_SIDE, _WIDTH, _HEIGHT, _TICKS = 8, 308, 96, 14  # pixels: beside the plot, it, the violin, ticks
_NAMES, _NARROW, _ROW = 110, 205, 34  # of several models: their names, the plot, each model
_AXIS = "sd from the sweep's own mean"
_UNIT = 0.1  # sd: heights are tokens in so much, whatever the histogram's bins were


def prompts_to_draw(prompts: Iterable[str]) -> list[str]:
    """Return those of the three standard prompts that are given, or else the first three given.

    The numbers of other prompts, such as 54 wordings, are in the table.
    """
    every = list(dict.fromkeys(prompts))
    return [prompt for prompt in every if prompt in PROMPTS] or every[: len(PROMPTS)]


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
    form = {"prompt": "text", "tokens": ",", "mean": ".4g", "sd": ".4g", "skewness": "+.2f"}
    cells = ((s.prompt, s.n, s.mean, s.sd, s.skewness, *_ends_in_sd(s)) for s in rows)
    chart = Chart(
        f"Scores of {what}",
        f"How many tokens score how far from the mean of their sweep, in its sd; the violin is as "
        f"wide as there are tokens in {_UNIT} sd. Ticks beneath are the most extreme tokens.",
        (),
        *table(form | {"least, sd": "+.2f", "most, sd": "+.2f"}, cells),
    )
    drawn = (_violin(each, domain=domain, what=what) for each in rows if each.prompt in kept)
    return picture(chart, "".join(drawn))


def _heights(sweep: SweepSummary) -> list[float]:
    """Return a violin's half-width in each bin, in tokens per 0.1 sd."""
    edges = [_in_sd(sweep, edge) for edge in sweep.histogram.edges]
    bins = zip(sweep.histogram.counts, edges[:-1], edges[1:], strict=True)
    return [_UNIT * count / (right - left) for count, left, right in bins]


def _outline(sweep: SweepSummary, x: svg.Axis, middle: float, half: float, kind: str) -> str:
    """Return a violin around `middle`; its widest bin has `half` pixels to either side."""
    heights = _heights(sweep)
    ends = [svg.short(x.at(_in_sd(sweep, edge))) for edge in sweep.histogram.edges]
    out = [half * height / (max(heights) or 1.0) for height in heights]
    above = [f"V{svg.short(middle - each)}H{end}" for each, end in zip(out, ends[1:], strict=True)]
    below = [f"V{svg.short(middle + each)}H{end}" for each, end in zip(out, ends[:-1], strict=True)]
    path = f"M{ends[0]} {svg.short(middle)}{''.join(above)}{''.join(reversed(below))}Z"
    return f'<path class="{kind} area" opacity="0.6" d="{path}"/>'


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
    prompt, ticks = as_label(sweep.prompt), _ticks_in_words(sweep)
    widest = max(_heights(sweep))
    lines = [f"skewness {sweep.skewness:+.2f}; widest {widest:,.0f} tokens", *ticks]
    x = svg.Axis(*domain, 0, _WIDTH)
    axis, beneath = svg.axis_below(x, _HEIGHT + _TICKS, _AXIS)
    marks = [_outline(sweep, x, _HEIGHT / 2, _HEIGHT / 2, "faint")]
    marks += [svg.line(x.at(0.0), 0, x.at(0.0), _HEIGHT, "ink dashed"), axis]
    marks += [
        svg.line(x.at(token.z), _HEIGHT + 2, x.at(token.z), _HEIGHT + _TICKS - 2, kind)
        for tokens, kind in ((sweep.bottom, "red"), (sweep.top, "blue"))
        for token in tokens
    ]
    return svg.chart(
        marks,
        height=_HEIGHT + _TICKS + beneath,
        name=f"Distribution of the scores of {what}, {prompt}",
        facts=[f"{sweep.n:,} tokens", *lines],
        left=_SIDE,
        title=prompt,
        subtitle=lines,
    )


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
    form = {"model": "text", "prompt": "text", "tokens": ",", "skewness": "+.2f"}
    chart = Chart(
        "Rewards of all tokens or words, model by model",
        "Each violin is one sweep, in sd from its own mean, drawn as wide as every other: its form "
        "can be compared, its height cannot.",
        (),
        *table(form, ((name, s.prompt, s.n, s.skewness) for name, s in every)),
    )
    kept = prompts_to_draw(prompts)
    return picture(chart, "".join(_side_by_side(p, prompts[p], domain=domain) for p in kept))


def _side_by_side(
    prompt: str, own: Sequence[tuple[str, SweepSummary]], *, domain: tuple[float, float]
) -> str:
    x, height = svg.Axis(*domain, 0, _NARROW), _ROW * len(own)
    axis, beneath = svg.axis_below(x, height, _AXIS)
    marks = []
    for place, (name, sweep) in enumerate(own):
        middle = _ROW * (place + 0.5)
        marks.append(_outline(sweep, x, middle, 0.45 * _ROW, "blue"))
        shown = svg.fitted(as_label(name), _NAMES - 8)
        marks.append(svg.text(-8, middle + 4, shown, anchor="end"))
    marks += [svg.line(x.at(0.0), 0, x.at(0.0), height, "ink dashed"), axis]
    return svg.chart(
        marks,
        height=height + beneath,
        name=f"Distributions of scores, {as_label(prompt)}",
        facts=[f"{as_label(name)} skewness {sweep.skewness:+.2f}" for name, sweep in own],
        left=_NAMES,
        title=as_label(prompt),
    )
