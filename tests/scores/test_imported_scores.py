"""Published scores in the store: imported once, looked up exactly, never taken for scored ones."""

from __future__ import annotations

import hashlib
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import ModelSpec, known_models
from rmaudit.errors import NotRecorded, SpecError
from rmaudit.models.recorded_model import TOKENS, WORDS, Recorded
from rmaudit.prompts import FAMILY, PROMPTS, Prompt
from rmaudit.references import human_ratings
from rmaudit.scores import imported_scores
from rmaudit.scores.score_store import Store
from rmaudit.scores.sweep import sweep
from rmaudit.scores.text_rewards import Rewards, scorable_texts, score_texts
from tests.words import write

Patch = pytest.MonkeyPatch

MODEL = Recorded(ModelSpec("Q", "owner/Quantile-8B"))
OTHER = Recorded(ModelSpec("G", "owner/Gated-2B"))
SMOL = Recorded(ModelSpec("Smol", "embedded"))
GREATEST = PROMPTS["greatest"]
TABLE = """token_id,token_name,token_decoded,greatest,best,worst
7,NA,NA,1.5,0.25,-1
3,▁b, b,,4,2.5
5,null,"x
y",2,1,0
"""
SHA256 = hashlib.sha256(TABLE.encode()).hexdigest()
ITEMS = """elo_rank,elo_score,name,elo_matches,owner/Quantile-8B,G,else/where
1,1669,Universe,1372,2.5,-1,0
2,1661,"Rock, paper",1883,0.5,,0
3,1645,null,440,1.25,3,0
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty cache."""
    return Store(tmp_path / "cache")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of MODEL's tokens."""
    return put(tmp_path / "owner--Quantile-8B.csv", TABLE)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    """A table of items of MODEL, by its hub id, and OTHER, by its name."""
    return put(tmp_path / f"{GREATEST.text.removesuffix('?')}.csv", ITEMS)


def put(path: Path, text: str) -> Path:
    """A file of this text."""
    path.write_text(text, encoding="utf-8", newline="")
    return path


def files(store: Store) -> dict[str, bytes]:
    """All that is in a store."""
    return {path.name: path.read_bytes() for path in store.files.root.glob("*.parquet")}


# Sweeps


def test_a_table_becomes_three_sweeps(store: Store, table: Path) -> None:
    """Ascending ids, raw pieces, texts and float32 scores, NaN where there is none; whence."""
    imported = imported_scores.import_table(table, [OTHER, MODEL], store)

    assert imported is not None
    assert (imported.answers, imported.models) == (TOKENS, ("Q",))
    assert imported.said == "3 token ids under greatest, best, worst (1 scores missing)"
    found = {name: imported_scores.sweep(MODEL, p, store=store) for name, p in PROMPTS.items()}
    for one in found.values():
        assert one.frame["token_id"].tolist() == [3, 5, 7]
        assert one.frame["token"].tolist() == ["▁b", "null", "NA"]
        assert one.frame["text"].tolist() == [" b", "x\ny", "NA"]
        assert list(one.frame.dtypes[["token_id", "score"]]) == [np.int32, np.float32]
    assert found["greatest"].frame["score"].fillna(99).tolist() == [99, 2, 1.5]
    assert found["best"].frame["score"].tolist() == [4, 1, 0.25]
    assert found["worst"].frame["score"].tolist() == [2.5, 0, -1]
    assert found["best"].fields == {
        "recorded": "published scores",
        "model": "owner/Quantile-8B",
        "prompt": PROMPTS["best"].text,
        "answers": "every token id",
        "protocol": "paper",
    }
    assert found["best"].provenance == {
        "source": "published scores of owner/Quantile-8B (Christian et al. 2025)",
        "dtype": "the authors'",
        "revision": "the authors'",
        "noise measured": "no",
        "file": "owner--Quantile-8B.csv",
        "sha256": SHA256,
    }


def test_whose_a_table_is_its_name_says(store: Store, tmp_path: Path) -> None:
    """Q.csv is Q's too; a file of any other name is nobody's, and one that is no table is none."""
    tables = {name: put(tmp_path / name, TABLE) for name in ("Q.csv", "q.csv")}
    other = put(tmp_path / "G.csv", "Model,Mean\n")
    assert imported_scores.import_table(other, [MODEL, OTHER], store) is None
    for name, models in (("q.csv", ()), ("Q.csv", ("Q",))):
        assert not store.files.root.exists()
        imported = imported_scores.import_table(tables[name], [MODEL, OTHER], store)
        assert imported is not None
        assert imported.models == models


def test_the_second_import_changes_nothing(store: Store, table: Path, items: Path) -> None:
    """Not a byte, also with other line ends; another table is refused, and told what to delete."""
    first = [imported_scores.import_table(path, [MODEL, OTHER], store) for path in (table, items)]
    before, key = files(store), imported_scores.sweep(MODEL, GREATEST, store=store).key
    again = [imported_scores.import_table(path, [MODEL, OTHER], store) for path in (table, items)]
    put(table, TABLE.replace("\n", "\r\n").replace("x\r\ny", "x\ny"))
    imported_scores.import_table(table, [MODEL], store)

    assert len(before) == 5  # three sweeps, and the items of two models
    for one, two in zip(first, again, strict=True):
        assert one is not None
        assert two is not None
        assert two.said == f"{one.said}, as imported before"
    for old, new in (("1.5", "1.25"), ("▁b", "▁c"), ("7,NA", "8,NA")):
        put(table, TABLE.replace(old, new))
        with pytest.raises(SpecError) as caught:
            imported_scores.import_table(table, [MODEL], store)
        for named in (table, "Q", repr(GREATEST.text), SHA256[:12], f"{key}.parquet"):
            assert str(named) in str(caught.value)
    assert files(store) == before


def test_a_damaged_table_leaves_nothing_and_no_record_of_it(store: Store, table: Path) -> None:
    """A table is read whole before anything is kept; a record can be imported again."""
    put(table, TABLE + "8,a,a,1,2,x\n")
    with pytest.raises(SpecError, match=r"Quantile-8B\.csv:6: worst: expected a number"):
        imported_scores.import_table(table, [MODEL], store)
    assert not store.files.root.exists()

    put(table, TABLE)
    imported_scores.import_table(table, [MODEL], store)
    path = store.files.root / f"{imported_scores.sweep(MODEL, GREATEST, store=store).key}.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="moved to"), pytest.raises(NotRecorded):
        imported_scores.sweep(MODEL, GREATEST, store=store)
    imported_scores.import_table(table, [MODEL], store)
    assert len(imported_scores.sweep(MODEL, GREATEST, store=store).frame) == 3


def test_a_sweep_that_is_not_recorded(store: Store, table: Path) -> None:
    """What is asked for, what is there, what the file is called, and the command."""
    imported_scores.import_table(table, [MODEL], store)

    with pytest.raises(NotRecorded) as caught:
        imported_scores.sweep(MODEL, Prompt("custom", "Why?", 1), store=store)

    told = str(caught.value)
    assert told.startswith("Q: no sweep under 'Why?' is recorded; recorded: greatest, best, worst")
    assert "owner--Quantile-8B.csv" in told
    assert told.endswith(f"rmaudit data import DIR --model Q --cache {store.files.root.parent}")
    assert "--rm-recorded" not in told  # Python and `rmaudit tokens` have other names for it
    with pytest.raises(NotRecorded, match="Smol: its scores are not published"):
        imported_scores.sweep(SMOL, GREATEST, store=store)


# Items


def test_items_are_found_by_their_exact_text(store: Store, items: Path) -> None:
    """In the order that is asked for, as often as asked for; unscored ones are NaN."""
    imported_scores.import_table(items, [MODEL, OTHER], store)

    found = imported_scores.items(MODEL, GREATEST, ["null", "Universe", "null"], store=store)
    other = imported_scores.items(OTHER, GREATEST, ["Rock, paper", "null"], store=store)

    assert found.frame["text"].tolist() == ["null", "Universe", "null"]
    assert found.frame["score"].tolist() == [1.25, 2.5, 1.25]
    assert np.isnan(other.frame["score"][0])
    assert other.frame["score"][1] == 3
    assert found.frame["score"].dtype == np.float32
    for text in ("universe", " Universe", "Universe ", ""):  # a near one is not the same one
        with pytest.raises(
            NotRecorded, match=rf"^Q: 1 texts have no score among the 3 .*: {text!r};"
        ):
            imported_scores.items(MODEL, GREATEST, ["Universe", text, text], store=store)


def test_items_of_a_model_or_prompt_that_is_not_there(store: Store, mirror: Path) -> None:
    """The models and the prompts that there are are named."""
    with pytest.raises(NotRecorded, match=r"; those of nicolinho/QRM-Gemma-2-27B, Skywork/.* are;"):
        imported_scores.items(MODEL, GREATEST, ["Universe"], store=store)
    with pytest.raises(NotRecorded) as caught:
        imported_scores.items(MODEL, Prompt("custom", "Why?", 1), ["Universe"], store=store)
    assert all(prompt in str(caught.value) for prompt in ["'Why?'", *human_ratings.PROMPTS])


# By rmaudit's own functions, and their keys


def test_sweep_and_score_texts_read_the_records(store: Store, table: Path, items: Path) -> None:
    """As of any other model, under the paper's protocol; what was never published is refused."""
    for path in (table, items):
        imported_scores.import_table(path, [MODEL], store)

    found, named = (sweep(MODEL, "worst", protocol=p, cache=store) for p in (None, "paper"))
    scored = score_texts(MODEL, "greatest", ["Rock, paper"], cache=store)

    assert found.score_of(" b") == 2.5
    assert (found.model, found.prompt.frame, found.sample) == ("Q", -1, None)
    assert (found.provenance["protocol"], found.provenance["file"]) == ("paper", table.name)
    assert named.key == found.key
    assert scored.scores.tolist() == [0.5]
    assert np.isnan([found.noise, scored.noise]).all()  # nobody measured it
    assert scored.key == imported_scores.items(MODEL, GREATEST, [], store=store).key
    for asked in ({"protocol": "exact"}, {"sample": 2}):
        with pytest.raises(SpecError, match=r"^Q: recorded .*'paper' only"):
            sweep(MODEL, "greatest", cache=store, **asked)  # type: ignore[arg-type]


def test_a_published_model_is_swept_by_its_name(store: Store, tmp_path: Path) -> None:
    """No weights are asked for; of a model that is loaded nothing else can be had."""
    (spec,) = resolve(known_models(), "N-Lla-8B")
    path = put(tmp_path / "nicolinho--QRM-Llama3.1-8B.csv", TABLE)
    imported_scores.import_table(path, [Recorded(spec)], store)

    found = sweep("N-Lla-8B", "best", cache=store, recorded=True)

    assert (found.model, found.score_of(" b")) == ("N-Lla-8B", 4)
    with pytest.raises(SpecError, match="recorded=True is for the name of a model"):
        sweep(MODEL, "best", cache=store, recorded=True)


# The ten


@pytest.mark.slow
def test_the_second_asking_reads_the_store(mirror: Path, store: Store, monkeypatch: Patch) -> None:
    """Once looked up, the reference is not needed any more."""
    model = Recorded(ModelSpec("QRM", "nicolinho/QRM-Gemma-2-27B"))
    first = imported_scores.items(model, GREATEST, ["Water"], store=store)
    monkeypatch.setenv("RMAUDIT_DATA", "/nowhere")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = imported_scores.items(model, GREATEST, ["Water"], store=store)

    assert again.frame.equals(first.frame)
    assert again.provenance["file"] == "What, in one word, is the greatest thing ever.csv"


# Words


def words_of(folder: Path) -> list[Path]:
    """Two dictionaries of MODEL."""
    return [write(folder, "big2", {"b": 1, "a": 3}), write(folder, "MFD20", {"c": 2, "a b": 9})]


@pytest.fixture(scope="module")
def imported(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[imported_scores.Imported, Path]:
    """Words of MODEL under 54 prompts: what their import said, and the cache."""
    home = tmp_path_factory.mktemp("words")
    return imported_scores.import_words(words_of(home), MODEL, Store(home / "cache")), home


@pytest.fixture
def with_words(imported: tuple[imported_scores.Imported, Path], tmp_path: Path) -> Store:
    """A cache of its own with the words of MODEL."""
    return Store(shutil.copytree(imported[1] / "cache", tmp_path / "cache"))


@pytest.mark.slow
def test_words_stand_for_a_vocabulary(
    imported: tuple[imported_scores.Imported, Path], with_words: Store
) -> None:
    """Under each of 54 prompts, by either name; places for ids; whence and that they are words."""
    (first, home), store = imported, with_words
    again = imported_scores.import_words(words_of(home), MODEL, store)

    assert (first.answers, first.models) == (WORDS, ("Q",))
    assert again.said == f"{first.said}, as imported before"
    assert len(files(store)) == len(FAMILY)
    for place, prompt in enumerate(FAMILY.values()):
        found = sweep(MODEL, prompt, cache=store)
        assert found.frame["text"].tolist() == ["a", "b", "c"]
        assert found.frame["token_id"].tolist() == [0, 1, 2]
        assert found.frame["score"].tolist() == [3 + place, 1 + place, 2 + place]
        assert found.of_words
        assert found.caveats == ("Rests on 3 published words, not on a vocabulary.",)
        assert "Christian et al. 2026" in found.provenance["source"]
    assert found.provenance["protocol"] == "paper"
    assert sweep(MODEL, "best_ever_one", cache=store).prompt.name == "best"
    with pytest.raises(NotRecorded, match="recorded: greatest, best, worst and 51 more wordings;"):
        sweep(MODEL, "Why?", cache=store)


@pytest.mark.slow
def test_a_table_of_tokens_goes_before_words(with_words: Store, table: Path) -> None:
    """Where both are there; under a prompt that the tokens lack it is the words."""
    imported_scores.import_table(table, [MODEL], with_words)

    tokens, words = (sweep(MODEL, name, cache=with_words) for name in ("best", "bad_world_one"))

    assert tokens.frame["token_id"].tolist() == [3, 5, 7]
    assert (tokens.of_words, tokens.caveats) == (False, ())
    assert words.of_words


@pytest.mark.slow
def test_texts_are_looked_up_among_words_and_items(with_words: Store, items: Path) -> None:
    """All in one table; what no table has all of is refused, and both are named."""
    imported_scores.import_table(items, [MODEL], with_words)
    cache = with_words

    assert score_texts(MODEL, "best", ["c", "a"], cache=cache).scores.tolist()[0] < 10
    assert score_texts(MODEL, GREATEST, ["Universe"], cache=cache).scores.tolist() == [2.5]
    with pytest.raises(
        NotRecorded, match=r"1 texts have no score among the 3 items and 3 words .*: 'x'"
    ):
        score_texts(MODEL, GREATEST, ["a", "x", "Universe"], cache=cache)
    with pytest.raises(NotRecorded, match=r"none of 3 items and 3 words .* has all of these 2"):
        score_texts(MODEL, GREATEST, ["a", "Universe"], cache=cache)

    def scorable(*prompts: Prompt) -> list[str]:
        made = Rewards(
            prompts,
            lambda texts, prompt: score_texts(MODEL, prompt, texts, cache=cache),
            lambda texts, prompt: scorable_texts(MODEL, prompt, texts, cache=cache),
        )
        return made.scorable(["a", "x", "b", "Universe", "new"])

    assert scorable(GREATEST) == ["a", "b"]
    assert scorable(PROMPTS["best"], FAMILY["bad_world_one"]) == ["a", "b"]


def test_words_in_the_mirror_need_no_import(
    store: Store, tmp_path: Path, monkeypatch: Patch
) -> None:
    """As items do: what was asked for is stored then; another import must agree with it."""
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))
    words_of(tmp_path / "big2_mfd")

    assert sweep(MODEL, "worst", cache=store).of_words
    assert len(files(store)) == 1
    assert score_texts(MODEL, "best", ["a"], cache=store).scores.shape == (1,)
    with pytest.raises(NotRecorded):
        sweep(OTHER, "worst", cache=store)
    with pytest.raises(NotRecorded):
        sweep(MODEL, "an own prompt", cache=store)
    path = write(tmp_path / "elsewhere", "big2", {"a": 7})
    with pytest.raises(SpecError, match="was imported before"):
        imported_scores.import_words([path], MODEL, store)
