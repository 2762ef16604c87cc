"""Two lists of word frequencies on one scale, and the quirks of the older one's file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rmaudit.errors import SpecError
from rmaudit.references import word_frequency
from rmaudit.references.word_frequency import common, zipf

HEADER = "\tWord\tPoS\t\tFreq\tRa\tDisp\n"


@pytest.fixture
def leech(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file to write in place of the list of Leech, Rayson and Wilson."""
    path = tmp_path / "list.txt"
    monkeypatch.setattr(word_frequency, "locate", lambda name: {"leech": path}[name])
    word_frequency._leech_counts.cache_clear()
    yield path
    word_frequency._leech_counts.cache_clear()


def test_known_words_have_their_zipf_values() -> None:
    """As wordfreq itself gives them, to its two digits; what it has not is left out."""
    found = zipf("wordfreq", ["the", "love", "serendipity", "xqzzt", "Love", "don't"])

    assert found.round(2).to_dict() == {"love": 5.82, "serendipity": 2.74, "the": 7.73}
    assert (found.name, str(found.dtype)) == ("wordfreq", "float64")
    with pytest.raises(SpecError, match="unknown frequency list 'bnc'; known: wordfreq, leech"):
        zipf("bnc", [])


def test_common_words_are_those_from_zipf_three_up() -> None:
    """Once in a million: counted in the list; unique, sorted, alphabetic."""
    words = common()

    assert len(words) == 28367
    assert list(words) == sorted(set(words))
    assert all(word.isalpha() for word in words)
    assert zipf("wordfreq", words).min() >= 2.995
    assert {"love", "depends"} <= set(words)
    assert "serendipity" not in words


def test_the_british_list_has_as_many_forms_as_were_counted(mirror: Path) -> None:
    """11,980 forms, 11,418 of them used at all: read by other means beforehand.

    Forms, not head words, and summed over parts of speech; counts per million plus 3.
    """
    word_frequency._leech_counts.cache_clear()
    counts = word_frequency._leech_counts()

    assert len(counts) == 11980
    assert sum(count > 0 for count in counts.values()) == 11418
    found = zipf("leech", ["best", "loves", "axis", "lying", "stadia", "aardvark"])

    # lying: "lie (/lay)" 39, "lie (/lied)" 7; axis: marked single, and yet followed by its forms
    assert (10 ** (found - 3)).round(6).to_dict() == {
        "axis": 10,
        "best": 347,
        "loves": 13,
        "lying": 46,
        "stadia": 1,
    }


def test_a_head_word_is_left_for_its_forms(leech: Path) -> None:
    """A single row counts by itself; forms are folded, split at slashes, freed of stars."""
    leech.write_text(
        HEADER + "\tlove\tVerb\t%\t9\t1\t0.9\n\t@\t@\tLove\t4\t1\t0.9\n\t@\t@\tloved\t5#\t1\t0.9\n"
        "\tlove*\tNoC\t:\t20\t1\t0.9\nlie (/lay)\tVerb\t%\t7\t1\t0.9\n\t@\t@\tlie\t7\t1\t0.9\n"
        "\tfurther*\tAdj\t[see far]\n\tpole/Pole\tNoC\t:\t3\t1\t0.9\n\tnone\tPron\t:\t0\t1\t0.9\n",
        encoding="latin-1",
    )

    found = zipf("leech", ["love", "loved", "lie", "pole", "further", "none"])

    assert (10 ** (found - 3)).round(6).to_dict() == {"lie": 7, "love": 24, "loved": 5, "pole": 3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Word\tFreq\n", r"list.txt:1: expected the columns \['', 'Word', .*, found 'Word\\tFreq'"),
        (
            HEADER + "\tlove\tVerb\t:\tmany\t1\t0.9\n",
            r"list.txt:2: expected a word, four fields and a number, found 'love\\tVerb\\t:\\tmany",
        ),
        (HEADER + "\ta\tb\t:\t1\t1\t0.9\n\tlove\n", r"list.txt:3: .*, found 'love'"),
    ],
)
def test_a_row_of_another_kind_is_an_error(leech: Path, text: str, expected: str) -> None:
    """File and line, what is expected, what is there."""
    leech.write_text(text, encoding="latin-1")

    with pytest.raises(SpecError, match=expected):
        zipf("leech", ["love"])
