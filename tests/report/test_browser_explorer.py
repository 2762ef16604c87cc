"""The token explorer in headless Chromium, over 64,000 tokens under three prompts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from rmaudit.config.model_registry import ModelSpec
from rmaudit.report import packed_scores, writers
from rmaudit.report.results_document import Results
from rmaudit.report.results_of_run import SweepRecord, collect
from tests.report.conftest import happenings, hostile_results, typed
from tests.report.page.test_token_explorer import PROMPTS, swept
from tests.report.runs import RUN

pytestmark = pytest.mark.slow

N = 64_000


def written(results: Results, folder: Path) -> tuple[Results, str]:
    """Results, and the address of their page."""
    writers.write(results, folder)
    return results, (folder / "index.html").as_uri()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, str]:
    """The small results with the sweeps of a large vocabulary."""
    small, made = typed(hostile_results()), swept(N)
    (model,), (sweep,) = small.models, small.models[0].sweeps
    sweeps = tuple(
        replace(own, n=sweep.n, histogram=sweep.histogram, top=sweep.top, bottom=sweep.bottom)
        for own in made.models[0].sweeps
    )
    models = (replace(model, sweeps=sweeps),)
    made = replace(small, models=models, vocabularies=made.vocabularies)
    return written(made, tmp_path_factory.mktemp("large"))


def opened(page: Page, address: str) -> list[str]:
    """Open the report, wait until the explorer is ready; what was requested or complained of."""
    happened = happenings(page)
    page.goto(address)
    expect(page.locator("#explorer[data-ready]")).to_be_attached(timeout=60_000)
    return [what for what in happened if what != address and not what.startswith("data:")]


def rows(page: Page) -> list[list[str]]:
    """The cells of the rows in sight, as a reader sees them."""
    found = page.locator("#explorer tbody tr[data-at]")
    return [row.locator("td").all_inner_texts() for row in found.all()[:5]]


def test_every_token_is_found_sorted_and_spelt(page: Page, large: tuple[Results, str]) -> None:
    """By score under each prompt, by id, by text, by word; against the numbers of the frame."""
    results, address = large
    assert opened(page, address) == []
    status = page.locator("#explorer [data-x=status]")
    expect(status).to_contain_text("64,000 of 64,000 tokens; by score under greatest, best first")
    for number, sweep in enumerate(results.models[0].sweeps):
        frame = packed_scores.frame(results.vocabularies, sweep)
        for down in (True, False):
            head = page.locator(f"#explorer th[data-by=score][data-number='{number}'] button")
            if not (number == 0 and down):  # as it opens
                head.click()
            expect(status).to_contain_text(
                f"by score under {PROMPTS[number]}, {'best' if down else 'worst'} first"
            )
            order = np.argsort(-frame["score"] if down else frame["score"], kind="stable")
            shown = rows(page)
            assert [int(row[1]) for row in shown] == frame["token_id"][order[:5]].tolist()
            scores = [float(row[3 + 3 * number]) for row in shown]
            assert scores == pytest.approx(frame["score"][order[:5]].tolist(), abs=0.006)
    page.locator("#explorer input[type=search]").fill("WORD6399")
    expect(status).to_contain_text("of 64,000 tokens with “WORD6399”")
    texts = [row[0] for row in rows(page)]
    assert texts
    assert all("word6399" in text for text in texts)
    page.locator("#explorer input[type=search]").fill("")
    page.locator("#explorer [data-x=id]").fill("777")
    expect(status).to_contain_text("1 of 64,000 tokens with id 777")
    assert [row[1] for row in rows(page)] == ["777"]


def test_what_is_shown_is_the_true_number_rounded(
    page: Page, large: tuple[Results, str], tmp_path: Path
) -> None:
    """Of all tokens, in the file that the page makes; no rank is further off than its ties."""
    results, address = large
    opened(page, address)
    with page.expect_download() as started:
        page.get_by_role("button", name="Download as CSV").click()
    started.value.save_as(tmp_path / "tokens.csv")
    made = pd.read_csv(tmp_path / "tokens.csv", dtype=str).astype({"id": int})
    made = made.set_index("id").sort_index()
    for sweep in results.models[0].sweeps:
        true = packed_scores.frame(results.vocabularies, sweep)["score"]
        shown = made[f"{sweep.prompt}: score"]
        decimals = len(shown[0].partition(".")[2])
        assert shown.tolist() == [f"{score:.{decimals}f}" for score in true]
        off = (made[f"{sweep.prompt}: rank"].astype(float) - true.rank(ascending=False)).abs()
        alike = shown.groupby(shown).transform("size")
        assert (off <= (alike - 1) / 2).all()
        order = np.argsort(true.to_numpy())
        assert off.to_numpy()[[*order[:500], *order[-500:]]].max() == 0


def test_spellings_of_a_word(page: Page, large: tuple[Results, str]) -> None:
    """Case and spaces apart, by a click; Escape shows all again."""
    opened(page, large[1])
    page.locator("#explorer input[type=search]").fill("love")
    status = page.locator("#explorer [data-x=status]")
    expect(status).to_contain_text("4 of 64,000 tokens with “love”")
    page.locator("#explorer .ex-spell").first.click()
    expect(status).to_contain_text("4 of 64,000 tokens that are spellings of")
    assert {row[0].strip("␣ ") for row in rows(page)} == {"Love", "love", "LOVE"}
    page.keyboard.press("Escape")
    expect(status).to_contain_text("64,000 of 64,000 tokens")


def test_masked_until_asked_for(page: Page, large: tuple[Results, str]) -> None:
    """Found by its text, and still masked; shown by Enter, and by the page's switch."""
    opened(page, large[1])
    page.locator("#explorer [data-x=id]").fill("10")
    expect(page.locator("#explorer [data-x=status]")).to_contain_text("1 of 64,000 tokens")
    explorer = page.locator("#explorer")
    assert "fuck" not in explorer.inner_text()
    assert "fuck" not in explorer.aria_snapshot()
    assert "masked term" in explorer.aria_snapshot()
    page.locator("#explorer tbody tr[data-at='0']").focus()
    page.keyboard.press("Enter")
    assert "fuck" in explorer.inner_text()


def test_hostile_tokens_are_text(page: Page, large: tuple[Results, str]) -> None:
    """By id, each of the first ones: nothing runs, and what would not show is spelled out."""
    happened = opened(page, large[1])
    page.locator("#explorer th[data-by=id] button").click()
    shown = [row[0] for row in rows(page)]
    assert shown[:4] == ["<script>alert(1)</script>", "]]>", "\\x00", "\\u202egnp.exe"]
    assert shown[4] == "\\ud800"
    assert page.locator("#explorer img").count() == 0
    assert happened == []


def test_keys_move_and_few_rows_are_drawn(page: Page, large: tuple[Results, str]) -> None:
    """To the end and back, with the row's number told, and never more than some dozens drawn."""
    opened(page, large[1])
    page.locator("#explorer tbody tr[data-at='0']").focus()
    page.keyboard.press("End")
    expect(page.locator("#explorer tr:focus")).to_have_attribute("aria-rowindex", str(N + 2))
    assert page.locator("#explorer tbody tr[data-at]").count() < 100
    page.keyboard.press("Home")
    expect(page.locator("#explorer tr:focus")).to_have_attribute("aria-rowindex", "3")
    grid = page.locator("#explorer table")
    assert grid.get_attribute("aria-rowcount") == str(N + 2)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, str]:
    """Two models over words of lexicons, terms that name people, and what begins a formula."""
    texts = [" Muslim", " love", "Love", " hate", "xqzv", " =2+5", " shit", "ove", "table"]
    named = pd.Series([*texts, *(f" w{i}" for i in range(40))], dtype=object)
    frame = pd.DataFrame({"token_id": np.arange(len(named)), "token": named, "text": named})
    rng = np.random.default_rng(0)
    records = [
        SweepRecord(
            *(model, prompt, f"What is {prompt}?", f"{model}{prompt}"),
            frame.assign(score=rng.normal(size=len(frame)).astype(np.float32)),
            {},
        )
        for model in ("A", "B")
        for prompt in ("best", "worst")
    ]
    made = collect(RUN, [ModelSpec(name, "a/b") for name in "AB"], records, [])
    return written(replace(made, comparison=()), tmp_path_factory.mktemp("two"))


def test_no_barrier(page: Page, two: tuple[Results, str]) -> None:
    """What axe-core finds, in light and dark: nothing serious."""
    opened(page, two[1])
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found = Axe().run(page, context="#explorer").response["violations"]
        assert [each["id"] for each in found if each["impact"] in {"serious", "critical"}] == []


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        ({"lexicon": "AFINN"}, {"␣love", "Love", "␣hate"}),
        ({"lexicon": "AFINN", "once": True}, {"Love", "␣hate"}),  # of love the best spelling
        ({"identity": True}, {"␣Muslim"}),
        ({"whole": True, "lexicon": "labMT"}, {"␣love", "Love", "␣hate", "␣Muslim"}),
    ],
)
def test_filters(
    page: Page, two: tuple[Results, str], ask: dict[str, Any], expected: set[str]
) -> None:
    """By lexicon, by whether it names people or is a whole word, one spelling; told in words."""
    results, address = two
    opened(page, address)
    frame = packed_scores.frame(results.vocabularies, results.models[0].sweeps[0])
    if ask.get("once") and frame["score"][1] > frame["score"][2]:
        expected = (expected - {"Love"}) | {"␣love"}
    for name, value in ask.items():
        field = page.locator(f"#explorer [data-x={name}]")
        field.check() if value is True else field.select_option(label=value)

    status = page.locator("#explorer [data-x=status]")
    shown = re.compile(r"^\d of 49 tokens (in|that|one)" if len(expected) > 1 else "^1 of 49")
    expect(status).to_have_text(shown)
    listed = page.locator("#explorer tbody td:first-child bdi:not(.real)")
    expect(listed).to_have_count(len(expected))  # all filters have acted
    assert set(listed.all_inner_texts()) == expected  # a masked one besides, where a list has it
    page.get_by_role("button", name="Show all").click()
    expect(status).to_contain_text("49 of 49 tokens; by score")


def test_differences_and_the_file(page: Page, two: tuple[Results, str], tmp_path: Path) -> None:
    """Of two prompts, and of two models, in sd; what is downloaded is what is shown, masked."""
    results, address = two
    assert opened(page, address) == []
    z = {}
    for model in results.models:
        for sweep in model.sweeps:
            scores = packed_scores.frame(results.vocabularies, sweep)["score"].astype(float)
            z[model.name, sweep.prompt] = (scores - scores.mean()) / scores.std(ddof=0)
    status = page.locator("#explorer [data-x=status]")
    page.locator("#explorer [data-x=first]").select_option(label="best")
    for second, other in (("A, worst", ("A", "worst")), ("B, best", ("B", "best"))):
        page.locator("#explorer [data-x=second]").select_option(label=second)
        told = "worst" if other[0] == "A" else "B, best"
        expect(status).to_contain_text(f"by the difference best − {told}, greatest first")
        gap = z["A", "best"] - z[other]
        shown = [float(row[-1]) for row in rows(page)]
        assert shown == pytest.approx(sorted(gap, reverse=True)[:5], abs=0.006)

    with page.expect_download() as started:
        page.get_by_role("button", name="Download as CSV").click()
    started.value.save_as(tmp_path / "tokens.csv")
    made = pd.read_csv(tmp_path / "tokens.csv", index_col="id", keep_default_na=False)
    assert len(made) == 49
    assert made["best − B, best, sd"].sort_index().to_numpy() == pytest.approx(gap, abs=1e-5)
    assert made.loc[[5, 6], "token"].tolist() == ["␣=2+5", "[swear word]"]
    assert "shit" not in (tmp_path / "tokens.csv").read_text(encoding="utf-8")
