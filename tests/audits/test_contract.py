"""What every shipped audit keeps: its declaration, its page, and a run on a toy checkpoint."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from rmaudit.prompts import FAMILY
from rmaudit.references.variants import BROUGHT
from tests.audits.planted import AUDITS, declarations
from tests.plugin.conftest import Ran, run_in
from tests.toys import toy_checkpoint, toy_language_model, toy_tokenizer

DECLARED = {declaration.name: declaration for declaration in declarations()}
PAGES = sorted((AUDITS.parent / "docs" / "audits").glob("*.md"))
THREE = ("greatest", "best", "worst")
STATED = {  # severity, prompts, joint
    "base_leakage": ("info", THREE, False),
    "elo_agreement": ("gate", ("greatest", "greatest_concept", "preferred"), True),
    "framing_inversion": ("gate", THREE, True),
    "framing_steepness": ("info", THREE, True),
    "frequency_bias": ("gate", THREE, True),
    "funnel": ("info", ("best", "worst"), True),
    "gcg_probes": ("gate", THREE, True),
    "identity_erasure": ("gate", THREE, True),
    "identity_hostility": ("gate", THREE, True),
    **{
        f"invariance_{name}": ("info", (), False)
        for name in (
            *("spacing", "padding", "case", "flattery", "empty", "length"),
            *("who_asks", "whose_choice"),
        )
    },
    "model_agreement": ("gate", THREE, False),
    "multi_token_framing": ("info", THREE, True),
    "numerics": ("info", THREE, False),
    "pair_accuracy": ("info", (), False),
    "pessimal_frames": ("info", ("best", "worst"), True),
    "pessimal_identity": ("info", THREE, False),
    "positive_skew": ("gate", THREE, False),
    "prompt_stability": ("info", tuple(prompt.name for prompt in FAMILY.values()), True),
    "search_headroom": ("info", THREE, False),
    "surface_form": ("info", THREE, False),
    "value_tilt": ("info", tuple(prompt.name for prompt in FAMILY.values()), True),
}


def test_what_gates_and_under_which_prompts() -> None:
    """A release is gated by these and no others."""
    assert {
        name: (str(each.severity), tuple(prompt.name for prompt in each.prompts), each.joint)
        for name, each in DECLARED.items()
    } == STATED


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_page_says_what_the_audit_does_not_show(page: Path) -> None:
    """Word for word, but for Markdown; an audit that shows everything was not thought about."""
    text = re.sub(r"\[([\w/]+)\]\(\S+?\)", r"\1", page.read_text(encoding="utf-8")).replace("`", "")
    flat = " ".join(text.split())

    assert DECLARED[page.stem].limits
    assert [limit for limit in DECLARED[page.stem].limits if limit not in flat] == []


def test_every_audit_has_a_page() -> None:
    """And every page an audit."""
    assert [page.stem for page in PAGES] == sorted(DECLARED)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """All audits on a toy whose tokens are words of labMT, with a base, a baseline and searches."""
    from rmaudit.references import References

    home = tmp_path_factory.mktemp("contract")
    tokenizer = toy_tokenizer(list(References().lexicon("labmt").index[::12]))
    toy_checkpoint(home / "toy", tokenizer=tokenizer)
    toy_language_model(home / "lm", tokenizer=tokenizer)
    (home / "models.yaml").write_text("models: {Toy: {source: ./toy, base: ./lm, default: true}}\n")
    args = ("--rm-baseline", "Toy", "--rm-search", "480", "--rm-cache", str(home / "cache"))
    args += ("--rm-pairs", str(BROUGHT))
    return Ran(run_in(home, [str(AUDITS), *args]), home)


@pytest.mark.slow
@pytest.mark.parametrize("name", STATED)
def test_each_runs_on_a_checkpoint(name: str, ended: Ran, mirror: Path) -> None:
    """Under each of its prompts: finite numbers, its own kind of evidence, and null controls."""
    found = [finding for finding in ended.findings if finding["audit"] == name]

    _, prompts, joint = STATED[name]
    assert len(found) == (1 if joint else len(prompts) or 1)
    for finding in found:
        estimate: dict[str, Any] = finding["estimate"]
        assert estimate is not None, finding["why"]
        assert estimate["low"] <= estimate["value"] <= estimate["high"]
        assert all(map(math.isfinite, estimate["secondary"].values()))
        assert estimate["n"] > 0
        assert estimate["unit"] == DECLARED[name].bound.unit
        assert estimate["evidence"] is None or estimate["evidence"]["kind"]
        assert finding["limits"] == list(DECLARED[name].limits)
        assert finding["sweeps"]
        tried = {control["verdict"] for control in finding["controls"].values()} - {"SKIPPED"}
        assert bool(tried) is (name != "numerics")  # null controls have no noise
