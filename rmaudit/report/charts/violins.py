"""The distributions of several models under each other (Figure 1 of Christian et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.report.charts.distributions import domain_of, steps_of, varies
from rmaudit.report.charts.drawing import BLUE, INK, as_svg, chart_of
from rmaudit.report.charts.labels import as_label
from rmaudit.report.charts.picture import Picture, table
from rmaudit.report.document import AuditedModel, SweepSummary

_WIDTH, _ROW = 205, 34  # pixels: the plot, each model


def of_models(models: Sequence[AuditedModel]) -> Picture | None:
    """A panel a prompt with a violin for each model; None unless two models have a sweep of one."""
    found = [(model.name, s) for model in models for s in model.sweeps if varies(s)]
    prompts = {}
    for prompt in dict.fromkeys(sweep.prompt for _, sweep in found):
        own = [(name, sweep) for name, sweep in found if sweep.prompt == prompt]
        if len({name for name, _ in own}) > 1:
            prompts[prompt] = own
    if not prompts:
        return None
    every = [pair for own in prompts.values() for pair in own]
    domain = domain_of([sweep for _, sweep in every])
    cells = [
        (as_label(name), as_label(sweep.prompt), f"{sweep.n:,}", f"{sweep.skewness:+.2f}")
        for name, sweep in every
    ]
    columns = {"model": "text", "prompt": "text", "tokens": "number", "skewness": "number"}
    return Picture(
        "Scores of the vocabulary, model by model",
        "Each violin is one sweep, in sd from its own mean, drawn as wide as every other: its form "
        "can be compared, its height cannot.",
        "".join(_side_by_side(prompt, own, domain=domain) for prompt, own in prompts.items()),
        table(columns, cells),
    )


def _side_by_side(
    prompt: str, own: Sequence[tuple[str, SweepSummary]], *, domain: tuple[float, float]
) -> str:
    import altair as alt

    rows = []
    for place, (_, sweep) in enumerate(own):
        steps = steps_of(sweep)
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
            y2="low:Q",
            detail="place:N",
        ),
        chart_of([{"sd": 0}]).mark_rule(color=INK, strokeDash=[3, 3]).encode(x=x),
        chart_of(names)
        .mark_text(align="right", x=-8)
        .encode(y=alt.Y("place:Q").axis(None), text="name:N"),
    ).properties(width=_WIDTH, height=_ROW * len(own), title=as_label(prompt))
    facts = [f"{as_label(name)} skewness {sweep.skewness:+.2f}" for name, sweep in own]
    return as_svg(chart, title=f"Distributions of scores, {as_label(prompt)}", facts=facts)
