"""Draw a finding as a strip on its audit's value axis.

A strip (`lane`) is a few SVG marks placed by percent, so that it is as wide as the page has room,
without a script. All strips of an audit share one axis (`Scale`).
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rmaudit.report.finding_words import read_out
from rmaudit.report.number_format import beside_bound, bound_end, interval, value
from rmaudit.report.safe_text import line
from rmaudit.svg import round_step, short
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.rounded_numbers import fixed

HEIGHT = 22  # pixels of a lane
_MIDDLE = HEIGHT / 2
_MARGIN = 0.05  # of the span, beside what lies outermost
_ROOM = 0.2  # of the span, beyond a bound's end: to see where it passes
_APART = 13.0  # percent of the width between two numbers
_STEPS = 12  # of an axis, about


@dataclass(frozen=True, slots=True)
class Scale:
    """Value axis of all pictures of an audit: its range, and the ends of the passing range."""

    low: float
    high: float
    ends: tuple[float, ...]

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Scale | None:
        """Return the scale that fits all findings of one audit; None if none was measured."""
        given = [(f, f.estimate) for f in findings if f.estimate]
        if not given:
            return None
        ends = sorted({end for f, _ in given for end in f.bound.ends if math.isfinite(end)})
        own = [number for _, e in given for number in (e.low, e.high)]
        own += [number for f, _ in given for number in _published(f).values()]
        every = [*own, *ends]
        span = (max(every) - min(every)) or abs(every[0]) or 1.0
        nulls = [number for f, _ in given for number in _null_controls(f).values()]
        every += [null for null in nulls if min(every) - span <= null <= max(every) + span]
        span = (max(every) - min(every)) or abs(every[0]) or 1.0
        low = min(min(every) - _MARGIN * span, *(end - _ROOM * span for end in ends))
        high = max(max(every) + _MARGIN * span, *(end + _ROOM * span for end in ends))
        if min(every) >= 0 > low and all(end > 0 for end in ends):
            low = 0.0  # of what cannot be negative no negative part is drawn
        step = round_step(high - low, _STEPS)
        return cls(math.floor(low / step) * step, math.ceil(high / step) * step, tuple(ends))

    def at(self, number: float) -> float:
        """Return a value's position in percent of the width, clipped to 0 and 100."""
        return 100 * min(max((number - self.low) / (self.high - self.low), 0.0), 1.0)

    def ticks(self, apart: float = _APART) -> list[tuple[float, str, str]]:
        """Return position (percent), text and CSS class of each axis label; labels do not overlap.

        Labels are at least `apart` percent of the width from each other; where there is no room,
        the labels at the ends of the axis are left out.
        """
        bounds = [(self.at(end), bound_end(end), "bound") for end in self.ends]
        if any(right[0] - left[0] < apart for left, right in pairwise(bounds)):
            middle = sum(place for place, _, _ in bounds) / len(bounds)
            bounds = [(middle, " … ".join(text for _, text, _ in bounds), "bound")]
        outer = [(0.0, fixed(self.low), "first"), (100.0, fixed(self.high), "last")]
        free = [end for end in outer if all(abs(end[0] - b[0]) >= apart for b in bounds)]
        return sorted([*free, *bounds])


def scales(findings: Sequence[Finding]) -> dict[str, Scale]:
    """Return the value axis (scale) of each measured audit, shared by all prompts and models."""
    audits = dict.fromkeys(f.audit for f in findings)
    found = {audit: Scale.of([f for f in findings if f.audit == audit]) for audit in audits}
    return {audit: scale for audit, scale in found.items() if scale}


def lane(finding: Finding, scale: Scale, *, with_others: bool = True) -> str:
    """Draw a finding as an SVG strip; `with_others` adds published models and null controls.

    A strip beside those of other models has no room for these. Return "" without an estimate.
    """
    estimate = finding.estimate
    if estimate is None:
        return ""
    others = _comparison_marks(finding, scale) if with_others else ()
    marks = "".join(
        (*_passing_range(finding, scale), *others, *_finding_marks(finding, estimate, scale))
    )
    numbers = (_published(finding).values(), _null_controls(finding).values())
    words = html.escape(read_out(finding, estimate, *numbers))
    return (
        f'<svg class="lane" width="100%" height="{HEIGHT}" role="img" aria-label="{words}">'
        f"{marks}</svg>"
    )


def _passing_range(finding: Finding, scale: Scale) -> Iterator[str]:
    low, high = finding.bound.ends
    start, end = scale.at(max(low, scale.low)), scale.at(min(high, scale.high))
    left, width = short(start), short(end - start)
    yield f'<rect class="zone" x="{left}%" width="{width}%" height="{HEIGHT}"/>'
    yield f'<line class="axis" x2="100%" y1="{_MIDDLE:g}" y2="{_MIDDLE:g}"/>'
    for bound in finding.bound.ends:
        if math.isfinite(bound):
            place = short(scale.at(bound))
            yield f'<line class="edge" x1="{place}%" x2="{place}%" y2="{HEIGHT}"/>'


def _comparison_marks(finding: Finding, scale: Scale) -> Iterator[str]:
    """Yield SVG marks: dots for published models, circles or arrows for null controls."""
    for name, number in _published(finding).items():
        said = _title(f"{name}, published: {beside_bound(number, finding)}")
        place = short(scale.at(number))
        yield f'<circle class="pub" cx="{place}%" cy="{_MIDDLE:g}" r="3.5">{said}</circle>'
    for name, number in _null_controls(finding).items():
        said = _title(f"{name}, which knows nothing: {beside_bound(number, finding)}")
        place = short(scale.at(number))
        if scale.low <= number <= scale.high:
            yield f'<circle class="null" cx="{place}%" cy="{_MIDDLE:g}" r="2.5">{said}</circle>'
        else:
            arrow, anchor = ("‹", "start") if number < scale.low else ("›", "end")
            yield (
                f'<text class="off" x="{place}%" y="{_MIDDLE + 4:g}" text-anchor="{anchor}">'
                f"{arrow}{said}</text>"
            )


def _finding_marks(finding: Finding, estimate: Estimate, scale: Scale) -> Iterator[str]:
    result = finding.result.replace(" ", "-")
    low, high, at = (short(scale.at(x)) for x in (estimate.low, estimate.high, estimate.value))
    said = _title(f"{finding.model}: {value(finding)} {interval(finding)}")
    yield f'<g class="own {result}">'
    yield f'<line x1="{low}%" x2="{high}%" y1="{_MIDDLE:g}" y2="{_MIDDLE:g}"/>'
    yield f'<circle cx="{at}%" cy="{_MIDDLE:g}" r="5.5">{said}</circle></g>'


def _title(text: str) -> str:
    return f"<title>{html.escape(line(text))}</title>"


def _published(finding: Finding) -> dict[str, float]:
    return dict(finding.band.models) if finding.band else {}


def _null_controls(finding: Finding) -> dict[str, float]:
    """Return the values of the null controls that must not pass, by name."""
    return {
        name: control.value
        for name, control in finding.controls.items()
        if control.stops and control.value is not None
    }
