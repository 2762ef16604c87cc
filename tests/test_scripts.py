"""Generated pages are what their scripts write, and scripts that compare see what differs."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from transformers import AutoConfig, AutoModelForSequenceClassification

from lab.study.page import spearman
from rmaudit.config.model_registry import load_registry
from rmaudit.models import device_placement
from rmaudit.runs.audit_importer import audits_in
from scripts import audit_pages, llms_txt, mutants, published_page, result_pages, same_results
from scripts.try_readme import block, not_printed
from tests.hollow import GEMMA_2B, GEMMA_27B, LLAMA_3B, LLAMA_8B, LLAMA_70B

ROOT = Path(__file__).parents[1]
WRITERS: dict[str, Callable[[], Mapping[Path, str]]] = {
    "audit_pages": audit_pages.pages,
    "llms_txt": lambda: {llms_txt.PAGE: llms_txt.llms_txt(llms_txt.SITE.read_text("utf-8"))},
    "published_page": lambda: {published_page.PAGE: published_page.page()},
    "result_pages": result_pages.pages,
}


@pytest.mark.parametrize("script", WRITERS)
def test_a_page_is_what_its_script_writes(script: str) -> None:
    """`just pages` writes all of them anew, `python -m scripts.NAME` those of one script."""
    written = WRITERS[script]()

    assert [str(at) for at, text in written.items() if (ROOT / at).read_text("utf-8") != text] == []


# The pages of audits


def test_every_page_has_an_audit() -> None:
    """And every audit a page; in its family's table its claim has at most 15 words."""
    audits = audits_in(ROOT / "audits")
    pages = {path.stem for path in (ROOT / "docs" / "audits").glob("*.md")}

    assert pages == audits.keys()
    for name, (_, declaration) in audits.items():
        assert declaration.figure or declaration.family in audit_pages.FAMILIES, name
        assert declaration.figure or len(declaration.brief.split()) <= 15, name


def test_a_new_audit_gets_a_page(tmp_path: Path) -> None:
    """With its head and limits; it stands in the table and in the site."""
    for name in ("docs", "audits"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    (tmp_path / "audits" / "test_brevity.py").write_text(
        "from rmaudit import audit, below\n\n"
        '@audit(title="Brevity", question="Is it brief?", claim="c", source="s",\n'
        '       prompts=["best"], bound=below(1.0, unit="sd"), limits=["Dialect, gcg_probes."])\n'
        "def test_brevity(sweep): ...\n"
    )

    written = audit_pages.pages(tmp_path)

    page = written[Path("docs/audits/brevity.md")]
    assert "# Brevity\n\n**Is it brief?**" in page
    assert "- Dialect, [gcg_probes](gcg_probes.md).\n" in page
    row = "| [brevity](audits/brevity.md) | c | below 1 | 1 | sd | core |"
    assert row in written[Path("docs/audits.md")]
    assert '{ "Brevity" = "audits/brevity.md" }' in written[Path("zensical.toml")]
    (tmp_path / "docs" / "audits.md").write_text("# The audits\n")
    with pytest.raises(ValueError, match=r"audits\.md: 0 parts are marked 'meaning'"):
        audit_pages.pages(tmp_path)


# docs/llms.txt


def test_llms_txt_names_every_page_once() -> None:
    """With the address that the site gives it."""
    linked = re.findall(r"\]\((\S+)\.html\)", llms_txt.PAGE.read_text(encoding="utf-8"))
    pages = [str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")]

    assert sorted(f"{name}.md" for name in linked) == sorted(pages)


def test_groups_are_headings() -> None:
    """The design notes are what may be left out, which the format calls Optional."""
    notes = '{ "Design notes" = [{ "D" = "d.md" }] }'
    nav = f'[{{ "A" = "a.md" }}, {{ "Evidence" = [{{ "B" = "b/c.md" }}] }}, {notes}]'
    site = f'[project]\nsite_name = "x"\nsite_description = "y"\nnav = {nav}\n'

    assert llms_txt.llms_txt(site) == (
        "# x\n\n> y\n\n## Start here\n\n- [A](a.html)\n"
        "\n## Evidence\n\n- [B](b/c.html)\n\n## Optional\n\n- [D](d.html)\n"
    )


# docs/published-models.md

HOLLOW = {
    ("Llama", 3): LLAMA_3B,
    ("Llama", 8): LLAMA_8B,
    ("Llama", 70): LLAMA_70B,
    ("Gemma", 2): GEMMA_2B,
    ("Gemma", 27): GEMMA_27B,
}


def test_every_published_model_has_a_short_section() -> None:
    """With each of its notes; and nothing is said of a model that the registry does not have."""
    specs = load_registry(published_page.MODELS).models
    assert published_page.CHECKED.keys() <= specs.keys()
    assert published_page.ROOM == device_placement.ROOM
    text = published_page.PAGE.read_text(encoding="utf-8")
    for spec in specs.values():
        if not spec.default:
            lines = "\n".join(published_page.section(spec)).splitlines()
            assert len(lines) <= 12
            assert all(line in text for line in (f"## {spec.name}", *spec.notes))


@pytest.mark.parametrize("which", published_page.SHAPES, ids=str)
def test_sizes_are_those_of_the_class(which: tuple[str, int]) -> None:
    """As transformers builds the backbone and a plain head."""
    config: Any = AutoConfig.for_model(**HOLLOW[which], num_labels=1)
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(config)
    shape = published_page.SHAPES[which]

    assert shape.passed + shape.embedding == sum(p.numel() for p in model.parameters())


# The pages of results


def test_the_studys_correlation_is_scipys() -> None:
    """Of samples that have a head several times or not at all, ties and all."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 30).astype(float), rng.normal(size=30)
    times = rng.integers(0, 4, size=(6, 30))

    found = spearman(x, y, times.astype(float))

    expected = [spearmanr(np.repeat(x, w), np.repeat(y, w)).statistic for w in times]
    assert found == pytest.approx(expected)


# Two runs: scripts/same_results.py

DEMO = ROOT / "rmaudit" / "cli" / "demo" / "results.json.gz"


def moved(document: dict[str, Any]) -> None:
    """Move one value by its last bit."""
    estimate = next(each["estimate"] for each in document["findings"] if each["estimate"])
    estimate["value"] = math.nextafter(estimate["value"], math.inf)


def dropped(document: dict[str, Any]) -> None:
    """Take away an audit that is not removed."""
    document["findings"] = [
        each for each in document["findings"] if each["claim"]["audit"] != "positive_skew"
    ]


def rekeyed(document: dict[str, Any]) -> None:
    """Give a sweep another key."""
    document["models"][0]["sweeps"][0]["key"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (moved, "estimate: value: "),
        (dropped, "positive_skew greatest: is missing"),
        (rekeyed, "key: "),
        (lambda _: None, "0 differences"),
    ],
)
def test_what_differs_is_named(
    change: Any,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By its path; the exit code says whether anything does."""
    document = json.loads(gzip.decompress(DEMO.read_bytes()))
    other = copy.deepcopy(document)
    change(other)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(other))
    monkeypatch.setattr(sys, "argv", ["same_results", str(DEMO), str(path)])

    with pytest.raises(SystemExit) as ended:
        same_results.main()

    printed = capsys.readouterr().out
    assert said in printed
    assert bool(ended.value.code) == ("0 differences" not in printed)


# What README shows of a run: scripts/try_readme.py

SAID = "downloading\nPASSES  2 gates: 2 pass\n✓ a, b, c, d\n○ e  open: 0.3\n"


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        (["PASSES 2 gates: 2 pass", "✓ a, b, [...]"], []),  # shortened, with any spaces
        (["✓ a, [...]", "○ e open: 0.3"], []),
        (["○ e  open: 0.4"], ["○ e  open: 0.4"]),
        (["✓ a, b"], ["✓ a, b"]),
        (["○ e[...]", "PASSES[...]"], ["PASSES[...]"]),  # in another order
    ],
)
def test_what_was_not_printed_is_named(lines: list[str], missing: list[str]) -> None:
    """A line may be shortened, and others left out."""
    assert not_printed(lines, SAID) == missing


def test_the_first_block_of_a_language() -> None:
    """Without empty lines."""
    page = "a\n```text\nno\n```\n```console\nrun  # now\n\nstop\n```\n```console\nlater\n```\n"

    assert block(page, "console") == ["run  # now", "stop"]


@pytest.mark.parametrize(("numbers", "more"), [(False, set()), (True, {"LIMIT = 6", "2.6"})])
def test_mutants_are_what_runs(numbers: bool, more: set[str]) -> None:
    """Each is a valid module; no types, decorators and texts, and tuned numbers only if asked."""
    text = (
        "LIMIT = 5\n"
        "@lru_cache(maxsize=1)\n"
        "def judged(x: Literal[1]) -> bool:\n"
        '    """Compare 1 < 2."""\n'
        "    return not (x <= 2.0 and x + 1 > 0)\n"
    )
    found = list(mutants.mutants_of(Path("m.py"), text, numbers=numbers))

    assert [ast.parse(each.text) for each in found]
    assert {each.line for each in found} <= {1, 5}
    expected = {"return (", " < 2.0", " or ", " - 1", " + 2", " >= 0", "> 1"} | more
    assert all(any(new in each.after for each in found) for new in expected)
    assert len(found) == len(expected)
