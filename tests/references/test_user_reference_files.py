"""Lexicons and rankings that users bring: read as they are, or refused with the line."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pandas as pd
import pytest

from rmaudit.config.user_prompts_and_lists import OwnLexicon, OwnWords
from rmaudit.errors import NotAsked, SpecError
from rmaudit.prompts import PROMPTS, Prompt, declared
from rmaudit.references import References
from rmaudit.references.user_reference_files import lexicon, ranking
from rmaudit.runs import null_controls
from rmaudit.word_stems import stem_key, stemming

BOM = "\ufeff"


def csv(folder: Path, content: str) -> Path:
    """A file."""
    path = folder / "mine.csv"
    path.write_text(content, encoding="utf-8")
    return path


def test_csv_and_parquet_say_the_same(tmp_path: Path) -> None:
    """Words are folded as tokens are; what is no single word of letters is counted."""
    frame = pd.DataFrame({"word": ["Liebe", "Größe", "auf Wiedersehen"], "value": [8.0, 5.5, 6.0]})
    frame.to_parquet(tmp_path / "mine.parquet")
    path = csv(tmp_path, BOM + frame.to_csv(index=False))

    for file in (path, tmp_path / "mine.parquet"):
        found = lexicon(file, (1.0, 9.0), "")
        assert found.valence.to_dict() == {"grösse": 5.5, "liebe": 8.0}
        assert found.left_out == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ":1: expected the columns word, value; word is missing, found nothing"),
        ("word;value\na;1\n", ":1: expected the columns word, value; word is missing, found word;"),
        ("word,value\n", ": it has no single word of letters; give a line for each word, such as"),
        ("word,value\na,1\n\nb,x\n", ":4: value: expected a number such as 6.5, found 'x'"),
        ('word,value\na,"3,5"\n', ":2: value: expected a number such as 6.5, found '3,5'"),
        ("word,value\na,nan\n", ":2: value: expected a number such as 6.5, found 'nan'"),
        ("word,value\na,\n", ":2: value: expected a number such as 6.5, found nothing"),
        ("word,value\n ,1\n", ":2: word: expected a text, found nothing"),
        ("word,value\na,0\n", ":2: value: expected a number from 1 to 9 (its scale), found 0"),
        ("word,value\na,9.5\n", ":2: value: expected a number from 1 to 9 (its scale), found 9.5"),
        ("word,value\na,1,2\n", ":2: expected 2 fields, found 3; quote a text that holds a comma"),
        ("word,value\nGut,7\ngut,8\n", ":3: word: 'gut' stands there twice, first on line 2; keep"),
        ('word,value\na,"1\n', ":2: not valid CSV: unexpected end of data"),
        ("item\na\n", ":1: expected the columns item, rating; rating is missing, found item"),
        ("item,rating\n", ": it has no rows; give a line for each item, such as Wasser,1840"),
        ("item,rating\na,1\na,2\n", ":3: item: 'a' stands there twice, first on line 2; keep one"),
    ],
)
def test_each_fault_of_a_file_is_a_line(tmp_path: Path, content: str, said: str) -> None:
    """File, line and column, what was found and what is allowed."""
    file = csv(tmp_path, content)

    with pytest.raises(SpecError) as caught:
        ranking(file, content) if content.startswith("item") else lexicon(file, (1.0, 9.0), content)

    assert str(caught.value).startswith(f"{tmp_path / 'mine.csv'}{said}")


def test_files_that_are_something_else_are_told(tmp_path: Path) -> None:
    """Another encoding, or no Parquet at all."""
    (tmp_path / "old.csv").write_bytes("word,value\ngrün,6\n".encode("latin-1"))
    (tmp_path / "no.parquet").write_bytes(b"PAR1")

    with pytest.raises(SpecError, match=r"old\.csv: not UTF-8 text; save it as UTF-8"):
        lexicon(tmp_path / "old.csv", None, "")
    with pytest.raises(SpecError, match=r"no\.parquet: not a Parquet file that can be read"):
        lexicon(tmp_path / "no.parquet", None, "")


@pytest.mark.slow
def test_one_s_own_take_the_places_of_ours(tmp_path: Path) -> None:
    """On the scale of what they replace, by their own name as they are; and readers are told."""
    file = csv(tmp_path, "word,value\nliebe,3\nkrieg,-3\n")
    words = OwnWords(
        source="own.yaml",
        language="de",
        lexicons={"mein": OwnLexicon(file, (-6.0, 6.0))},
        words={"farben": ("rot", "blau")},
        instead={"labmt": "mein"},
    )
    given = References(salt="it was trained on English words", own_words=words)
    assert given.lexicon("labmt").to_dict() == {"krieg": 3.0, "liebe": 7.0}
    assert given.lexicon("mein").to_dict() == {"krieg": -3.0, "liebe": 3.0}
    assert given.words("farben") == ("rot", "blau")
    assert given.lexicons("bing", "labmt").keys() == {"labmt"}
    zipf = given.frequency("wordfreq", ["liebe", "thistledown"])
    assert zipf.index.tolist() == ["liebe"]
    said = " ".join(given.caveats)
    with pytest.raises(NotAsked, match=r"bing is English, .* `instead: {bing: NAME}`"):
        given.lexicon("bing")
    with pytest.raises(NotAsked, match="the identity terms are English"):
        given.identity()
    with pytest.raises(SpecError, match="unknown lexicon 'meins'; did you mean 'mein'"):
        given.lexicon("meins")

    assert "in the place of labmt stands mein (own.yaml), 2 words" in said
    assert "word frequencies are of the language de; stems are German" in said


def test_a_file_that_was_changed_is_read_again(tmp_path: Path) -> None:
    """By the next run of this process, also where it takes the place of nothing."""
    found = []
    for value in (1, 5):
        words = OwnWords(
            lexicons={"mine": OwnLexicon(csv(tmp_path, f"word,value\nlove,{value}\n"))}
        )
        found.append(References(own_words=words).lexicon("mine")["love"])

    assert found == [1.0, 5.0]


def test_a_ranking_answers_the_questions_that_it_comes_with(tmp_path: Path) -> None:
    """EloEverything's answer the paper's questions only."""
    file = csv(tmp_path, "item,rating\nWasser,2\nStreit,1\n")
    kind = Prompt("kindest", "What is the kindest thing?", +1)

    with pytest.raises(NotAsked, match="do not say what people would answer to 'kindest'"):
        References().refuse_unanswered([kind])
    own = References(own_words=OwnWords(rankings={"dinge": file}, instead={"elo": "dinge"}))
    own.refuse_unanswered([kind])
    items = own.elo()

    assert items["name"].tolist() == ["Wasser", "Streit"]


def test_runs_in_two_threads_do_not_see_each_others_words(tmp_path: Path) -> None:
    """One run is German with words of its own, the other has none, and each waits for the other."""
    file = csv(tmp_path, "word,value\nliebe,8\nkrieg,2\n")
    german = OwnWords(
        language="de",
        prompts={"beste": Prompt("beste", "Was ist das Beste?", +1)},
        lexicons={"mein": OwnLexicon(file, (1.0, 9.0))},
        instead={"labmt": "mein"},
    )
    both = Barrier(2, timeout=60)

    def seen(own: OwnWords) -> tuple[set[str], str, bool, float]:
        with stemming(own.language):
            both.wait()
            words = set(References(own_words=own).lexicon("labmt").index[:2])
            stems = stem_key("liebte lieben")
            both.wait()
            known = "beste" in own.prompts and bool(declared(["beste"], own.prompts))
            liked, disliked = null_controls.nulls_of(own)["valence whatever is asked"](
                ["liebe", "krieg"], PROMPTS["best"]
            )
            both.wait()
            return words, stems, known, float(liked - disliked)

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(seen, (german, OwnWords()))

    assert one[:3] == ({"liebe", "krieg"}, "liebt lieb", True)
    assert one[3] == pytest.approx(6.0, abs=0.1)
    assert not other[0] & one[0]
    assert other[1:3] == (stem_key("liebte lieben", "en"), False)
    assert abs(other[3]) < 1  # English labMT rates both near neutral


def test_stems_of_interleaved_runs() -> None:
    """A block ends where it ends, and an inner one hides the outer one only for a while."""
    found = [stem_key("lieben")]
    with stemming("de"):
        found.append(stem_key("lieben"))
        with stemming("en"):
            found.append(stem_key("lieben"))
        found.append(stem_key("lieben"))
    found.append(stem_key("lieben"))

    assert found == ["lieben", "lieb", "lieben", "lieb", "lieben"]
