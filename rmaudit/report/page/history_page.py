"""Render the runs of a folder as one page without scripts, for `rmaudit history`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from rmaudit.report.charts import finding_strips
from rmaudit.report.over_time.history import Point, Release, ReleaseFamily, Series
from rmaudit.report.page import number_format, scorecard
from rmaudit.report.page.html_page import environment
from rmaudit.report.page.template_files import template
from rmaudit.report.safe_text import line


def render(
    families: Sequence[ReleaseFamily], skipped: Sequence[str], why_apart: Sequence[str] = ()
) -> str:
    """Return the history page as HTML; it also shows the sentences in `skipped` and `why_apart`.

    `skipped` says which runs were passed over, and why; `why_apart` why there is more than one
    family.
    """
    page = environment()
    page.filters |= {"over_time": _chart, "cell": _cell, "moved": change_in_words}
    return page.get_template("history.html.jinja").render(
        families=families,
        left=skipped,
        apart=why_apart,
        style=template("report.css"),
        first=regression_in_words,
    )


def regression_in_words(family: ReleaseFamily) -> str:
    """Describe a family's first regression, or say why there is none; add remarks on its runs."""
    return line(" ".join([_regression(family), *_remarks(family)]))


def _regression(family: ReleaseFamily) -> str:
    gates = family.first
    if not gates:
        return _why_no_regression(family)
    gate, place = gates[0], gates[0].first or 0
    release, found = family.releases[place], gate.points[place]
    more = f" Also, in this or a later run: {_titles(gates[1:])}." if len(gates) > 1 else ""
    what = f"{gate.title} ({gate.prompt})"
    return f"First regression: {what} at {_release_name(release)}: {change_in_words(found)}.{more}"


def _why_no_regression(family: ReleaseFamily) -> str:
    """Return a sentence: nothing regressed, or why nothing could be compared."""
    if len(family.releases) == 1:
        return "Nothing to compare: there is only one run of it."
    if not family.gates:
        return "Nothing to compare: no audit gates."
    if family.compared:
        which = " that was measured twice" if family.unmeasured else ""
        return f"No gate{which} got clearly worse from one release to the next."
    lost = [
        _release_name(release)
        for i, release in enumerate(family.releases)
        if not any(gate.points[i].measured for gate in family.gates)
    ]
    if lost:
        return f"Nothing to compare: no gate was measured in {', '.join(lost)}."
    same = "under the same prompts and in the same unit"
    return f"Nothing to compare: no gate was measured in two releases {same}."


def _remarks(family: ReleaseFamily) -> Iterator[str]:
    """Yield a remark on gates that the last run did not measure, and one if words differed."""
    if family.compared and (gates := family.unmeasured):
        last = _release_name(family.releases[-1])
        yield f"The last run ({last}) did not measure: {_titles(gates)}."
    asked = dict.fromkeys(release.words or "the audits' own words" for release in family.releases)
    if len(asked) > 1:
        yield f"The runs do not rest on the same words: {'; '.join(asked)}."


def change_in_words(point: Point) -> str:
    """Describe a change, as `0.31 to 0.52, +0.21 [+0.18, +0.24]; pass to fail`; "" without one."""
    change = point.change
    if change is None or not (change.old and change.new):
        return ""
    said = []
    old, new, off = change.old, change.new, change.difference
    if old.estimate and new.estimate and off:
        values = (number_format.fixed(of.value) for of in (old.estimate, new.estimate))
        said.append(f"{' to '.join(values)}, {off.value:+.2f} [{off.low:+.2f}, {off.high:+.2f}]")
    if old.result != new.result:
        said.append(f"{old.result} to {new.result}")
    return "; ".join(said)


def _release_name(release: Release) -> str:
    return f"{release.model}, {release.created[:16].replace('T', ' ')}"


def _titles(gates: Sequence[Series]) -> str:
    return ", ".join(dict.fromkeys(gate.title for gate in gates))


def _chart(series: Series) -> Markup:
    return Markup(finding_strips.over_releases(series))  # noqa: S704  (our own SVG)


def _cell(point: Point) -> str:
    if point.finding is None:
        return ""
    number = number_format.value(point.finding)
    return f"{scorecard.MARKS[point.finding.result]} {number}".strip()
