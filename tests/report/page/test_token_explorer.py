"""The explorer's part of a page: how large it is, and that it has every token as it was scored."""

from __future__ import annotations

import base64
import html as escapes
import json
import re
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.references.offensive_text_masks import masked
from rmaudit.report import packed_scores
from rmaudit.report.page import token_explorer
from rmaudit.report.results_document import Results
from rmaudit.report.results_of_run import SweepRecord, collect
from tests.report.conftest import HOSTILE
from tests.report.runs import RUN

PROMPTS = ("greatest", "best", "worst")


def swept(
    n: int, *, models: int = 1, seed: int = 0, unscored: int = 0, scale: float = 1.0
) -> Results:
    """Results of models over one vocabulary of `n` ids, of which the first are hostile."""
    rng = np.random.default_rng(seed)
    texts = [*HOSTILE, " fuck", "Love", " love", "LOVE", *(f" word{i}" for i in range(n))][:n]
    named = pd.Series(texts, dtype=object)  # lone surrogates are no strings of Arrow's
    frame = pd.DataFrame({"token_id": np.arange(n, dtype=np.int32), "token": named, "text": named})

    def scores() -> NDArray[np.float32]:
        drawn = (scale * rng.gamma(4.0, size=n)).astype(np.float32)
        drawn[:unscored] = np.nan
        return drawn

    records = [
        SweepRecord(
            *(f"Toy-{model}", prompt, f"What is {prompt}?", f"{model}-{prompt}"),
            frame=frame.assign(score=scores()),
            provenance={},
        )
        for model in range(models)
        for prompt in PROMPTS
    ]
    specs = [ModelSpec(f"Toy-{model}", "a/b") for model in range(models)]
    return replace(collect(RUN, specs, records, []), comparison=())


def index_of(page: str) -> Any:
    """What the page's script reads first."""
    (found,) = re.findall(r'data-x="index">(.*?)</script>', page, re.DOTALL)
    return json.loads(escapes.unescape(found))


def test_without_scores_there_is_none() -> None:
    """Such as of a run of recorded models."""
    assert token_explorer.explorer(collect(RUN, [ModelSpec("a", "a/b")], [], [])) == ""


def column_of(page: str, number: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A column of the first table, and its arrays as the page's script unpacks them."""
    islands = re.findall(r'id="explorer-[0-9]+">(.*?)</script>', page, re.DOTALL)
    column = index_of(page)["tables"][0]["columns"][number]

    def array(name: str, dtype: str) -> NDArray[Any]:
        planes = np.frombuffer(zlib.decompress(base64.b64decode(islands[column[name]])), np.uint8)
        return np.frombuffer(planes.reshape(4, -1).T.tobytes(), dtype)

    return column, {"levels": array("levels", "<u4")} | {
        "rows": array("rows", "<u4"),
        "ends": array("ends", "<f4"),
    }


@pytest.mark.parametrize("scale", [1.0, 3e-7, 4e5])
def test_scores_are_as_true_as_they_are_shown(scale: float) -> None:
    """To hundredths of their sd or finer; the best and the worst to the last bit."""
    results = swept(3000, models=2, scale=scale)
    page = str(token_explorer.explorer(results))
    index = index_of(page)
    assert len(index["vocabularies"]) == 1
    assert [table["vocabulary"] for table in index["tables"]] == [0, 0]
    for number, sweep in enumerate(results.models[0].sweeps):
        true = packed_scores.scores_of(sweep, 3000)
        column, packed = column_of(page, number)
        assert column["step"] == 10.0 ** round(np.log10(column["step"]))
        assert column["sd"] / 2000 <= column["step"] <= column["sd"] / 200
        assert packed["ends"].tolist() == true[packed["rows"]].tolist()
        assert {*np.argsort(true)[:500], *np.argsort(true)[-500:]} == {*packed["rows"].tolist()}
        middle = np.flatnonzero(packed["levels"])
        assert len(middle) == 2000
        steps = packed["levels"][middle] + column["first"] - 1
        assert np.abs(steps - true[middle] / column["step"]).max() <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("room", [150_000, 120_000, 110_000])
def test_a_page_has_the_room_that_it_has(room: int) -> None:
    """Six sweeps of 6,000 tokens fit into 150 kB with their decimals; else coarser, and said so."""
    page = str(token_explorer.explorer(swept(6000, models=2), room=room))
    script = len(str(token_explorer.SCRIPT)) + 10_000  # which is not what grows
    assert len(page) < room + script
    assert ("scores are rounded" in page) is (room == 150_000)
    assert ("a score marked ≈ is within" in page) is (room < 150_000)


def test_an_unscored_token_has_no_score_on_a_page_with_less_room() -> None:
    """Its level is 0, as that of the best and worst, which are listed."""
    page = str(token_explorer.explorer(swept(6000, unscored=40), room=60_000))
    column, packed = column_of(page, 0)

    assert column["decimals"] is None
    unset = np.flatnonzero(packed["levels"] == 0).tolist()
    assert sorted({*unset} - {*packed["rows"].tolist()}) == [*range(40)]


@pytest.mark.nightly
def test_ten_models_of_the_largest_vocabularies_fit() -> None:
    """By what a token takes: 12 MB have 1.5 bytes for each of 256k ids, ten models, 3 prompts."""
    n, models = 100_000, 3
    room = (token_explorer.PAGE - 3_000_000) * n * models // (256_000 * 10)
    page = str(token_explorer.explorer(swept(n, models=models), room=room))
    assert len(page) < room + len(str(token_explorer.SCRIPT)) + 10_000
    assert "Left out" not in page
    found = re.search(r"is within ([\d.]+) standard deviations", page)
    assert found is not None
    assert float(found[1]) < 0.2


def test_no_token_is_markup_and_no_masked_one_is_plain() -> None:
    """All texts are in compressed islands: none can end a script or be read before it is asked."""
    assert masked(" fuck")
    page = str(token_explorer.explorer(swept(200)))
    assert "fuck" not in page
    assert page.count("<script") == page.count("</script>")
    assert "alert(1)" not in page
