"""Read and render the files in `templates/`: Jinja templates, scripts and style sheets."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"


def template(name: str) -> Markup:
    """Return the text of a file in `templates/` as trusted markup."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704  (ours)


def part(name: str, /, **values: object) -> Markup:
    """Render a part of a page from its template, with `values` filled in and escaped."""
    return Markup(_environment().get_template(name).render(values))  # noqa: S704  (escaped)


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
