"""Write docs/llms.txt, which lists the pages of the documentation for language models.

python -m scripts.llms_txt

The format is that of llmstxt.org: a title, a summary, and links under headings. Pages and headings
are those of the navigation in zensical.toml; links are relative, as the site has no fixed address.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE, PAGE = ROOT / "zensical.toml", ROOT / "docs" / "llms.txt"
_SKIPPABLE = {"Design notes": "Optional"}  # the heading of what a reader in a hurry leaves out
_Nav = Sequence[Mapping[str, object]]


def llms_txt(site: str) -> str:
    """Return the text of llms.txt; `site` is the text of the site's settings, zensical.toml."""
    project = tomllib.loads(site)["project"]
    head = f"# {project['site_name']}\n\n> {project['site_description']}\n"
    return head + "".join(f"\n{part}" for part in _sections("Start here", project["nav"]))


def _sections(title: str, nav: _Nav) -> Iterator[str]:
    """Yield a section that links the pages of `nav`, then the sections of each group within it.

    The design notes are headed as what may be skipped.
    """
    pages, groups = list[str](), list[tuple[str, _Nav]]()
    for entry in nav:
        for name, target in entry.items():
            if isinstance(target, str):
                pages.append(f"- [{name}]({target.removesuffix('.md')}.html)\n")
            elif isinstance(target, list):
                groups.append((name, target))
    yield f"## {title}\n\n{''.join(pages)}"
    for name, group in groups:
        yield from _sections(_SKIPPABLE.get(name, name), group)


if __name__ == "__main__":
    PAGE.write_text(llms_txt(SITE.read_text(encoding="utf-8")), encoding="utf-8")
