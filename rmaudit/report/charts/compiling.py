"""Charts in a page, compiled to SVG: all of them at once, in a child process.

The compiler ends the process that it runs in where memory is short; a report must not go with it.
So a chart is put into a page as a comment that holds its spec (`drawing.as_svg`), and `compiled`
puts the SVG in its place.
"""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rmaudit.report.charts.labels import with_terms
from rmaudit.report.safe_text import line

FONT = "system-ui, sans-serif"
UNDRAWN = (
    '<p class="undrawn">This picture could not be drawn: the chart compiler failed, as it does '
    "where memory is short. The numbers stand in the table.</p>"
)
_WORKER = Path(__file__).with_name("worker.py")
_DEATHS = 2  # of the compiler, after which the rest is not tried
_LONGEST = 600  # seconds that all charts of a page may take
_CHART = re.compile(r"<!--chart ([A-Za-z0-9+/=]+)-->")  # no text of others has it: `<` is escaped
_TAG = re.compile(r"<[^>]+>")  # as yet no attribute holds a text of others
_NEEDLESS = re.compile(
    r" (xmlns(:xlink)?|version|class|font-family|role|aria-roledescription|stroke-miterlimit"
    r'|pointer-events)="[^"]*"'
)
_LONG = re.compile(r"-?\d+\.\d{3,}")


def comment(chart: Mapping[str, Any]) -> str:
    """A chart as a comment of a page: `spec`, `title`, `facts`, `terms` and `id`."""
    return f"<!--chart {base64.b64encode(json.dumps(chart).encode()).decode()}-->"


def charts_in(markup: str) -> list[dict[str, Any]]:
    """The charts that `compiled` would draw, in their order."""
    return [json.loads(base64.b64decode(found)) for found in _CHART.findall(markup)]


def compiled(markup: str) -> str:
    """`markup` with an SVG in the place of each chart.

    Where the compiler fails, there is a sentence that says so.
    """
    charts = charts_in(markup)
    svgs = iter(_svgs([chart["spec"] for chart in charts]))
    drawn = iter([_named(chart, svg) for chart, svg in zip(charts, svgs, strict=True)])
    return _CHART.sub(lambda _: next(drawn), markup)


def _svgs(specs: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """The SVG of each; None where the compiler refuses one or dies of it."""
    done: list[str | None] = []
    deaths = 0
    while len(done) < len(specs):
        if deaths == _DEATHS:
            return done + [None] * (len(specs) - len(done))
        lines, whole = _run(specs[len(done) :])
        done += [json.loads(each) for each in lines]
        if not whole:
            deaths += 1
            done += [None] * (len(done) < len(specs))  # the one that it died of
    return done


def _run(specs: Sequence[Mapping[str, Any]]) -> tuple[list[str], bool]:
    """The lines that the worker wrote, and whether it came to its end."""
    try:
        ended = subprocess.run(  # noqa: S603  (our own worker)
            [sys.executable, "-P", str(_WORKER)],
            input=json.dumps(specs),
            capture_output=True,
            encoding="utf-8",
            timeout=_LONGEST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # no memory to start it
        return [], False
    lines = ended.stdout.splitlines(keepends=True)
    return [each for each in lines if each.endswith("\n")], ended.returncode == 0


def _named(chart: Mapping[str, Any], svg: str | None) -> str:
    """The SVG with its terms, and a name for readers who do not see it."""
    if svg is None:
        return UNDRAWN
    name = html.escape(line(f"{chart['title']}. {'; '.join(chart['facts'])}."))
    title = html.escape(line(chart["title"]))
    root = f'font-family="{FONT}" role="img" aria-label="{name}"><title>{title}</title>'
    own = f' id="{html.escape(chart["id"])}"' if chart["id"] else ""
    svg = with_terms(_smaller(svg), chart["terms"])
    return re.sub(r"^<svg([^>]*)>", lambda found: f"<svg{own}{found[1]} {root}", svg)


def _smaller(svg: str) -> str:
    """A third less: hundredths of a pixel, and no attribute that nothing here needs.

    Nor have marks roles: a role without a name is a picture that says nothing.
    """
    return _TAG.sub(lambda tag: _LONG.sub(_rounded, _NEEDLESS.sub("", tag[0])), svg)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}"
