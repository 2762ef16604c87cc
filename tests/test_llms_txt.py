"""docs/llms.txt lists the pages of the site, and is as its script writes it."""

from __future__ import annotations

import re

from scripts.llms_txt import PAGE, ROOT, SITE, llms_txt


def test_it_is_as_the_script_writes_it() -> None:
    """After a change of the navigation: python -m scripts.llms_txt."""
    assert PAGE.read_text(encoding="utf-8") == llms_txt(SITE.read_text(encoding="utf-8"))


def test_it_names_every_page_once() -> None:
    """With the address that the site gives it."""
    linked = re.findall(r"\]\((\S+)\.html\)", PAGE.read_text(encoding="utf-8"))
    pages = [str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")]

    assert sorted(f"{name}.md" for name in linked) == sorted(pages)


def test_groups_are_headings() -> None:
    """A group within the explanation is what may be left out, which the format calls Optional."""
    deep = '{ "Deep" = [{ "D" = "d.md" }] }'
    nav = f'[{{ "A" = "a.md" }}, {{ "Explanation" = [{{ "B" = "b/c.md" }}, {deep}] }}]'
    site = f'[project]\nsite_name = "x"\nsite_description = "y"\nnav = {nav}\n'

    assert llms_txt(site) == (
        "# x\n\n> y\n\n## Start here\n\n- [A](a.html)\n"
        "\n## Explanation\n\n- [B](b/c.html)\n\n## Optional\n\n- [D](d.html)\n"
    )
