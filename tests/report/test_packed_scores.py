"""Packed scores: what comes out is what went in, and damage is said."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.errors import ResultsError
from rmaudit.report import packed_scores
from rmaudit.report.results_document import Packed, Results, SweepSummary
from rmaudit.report.results_of_run import collect
from rmaudit.report.results_reader import contradiction
from tests.report.conftest import HOSTILE
from tests.report.runs import RUN, SPEC, record

TEXTS = st.text(st.characters(), max_size=5)  # lone surrogates and NUL among them
ROWS = st.tuples(TEXTS, TEXTS, st.floats(width=32, allow_infinity=False))


def column(texts: list[str]) -> pd.Series[str]:
    """Texts as pandas holds them: lone surrogates only as objects."""
    lone = any("\ud800" <= character <= "\udfff" for text in texts for character in text)
    return pd.Series(texts, dtype=object if lone else "str")


def framed(rows: list[tuple[str, str, float]]) -> pd.DataFrame:
    """A swept frame of (piece, text, score), its ids 3, 5, and so on."""
    return pd.DataFrame(
        {
            "token_id": np.arange(3, 3 + 2 * len(rows), 2, dtype=np.int32),
            "token": column([piece for piece, _, _ in rows]),
            "text": column([text for _, text, _ in rows]),
            "score": np.array([score for _, _, score in rows], dtype=np.float32),
        }
    )


def collected(*frames: pd.DataFrame, **change: Any) -> Results:
    """Results of a model with these sweeps."""
    sweeps = [record([0], frame=frame, key=f"key{i}", **change) for i, frame in enumerate(frames)]
    return collect(RUN, [SPEC], sweeps, [])


def small() -> tuple[Results, SweepSummary]:
    """Results of a sweep of hostile tokens, and their sweep."""
    frame = framed([(text, f" {text}", float(i)) for i, text in enumerate(HOSTILE)])
    made = collected(frame)
    return made, made.models[0].sweeps[0]


@pytest.mark.slow
@given(rows=st.lists(ROWS, min_size=1, max_size=20))
def test_a_sweep_comes_back_as_it_was(rows: list[tuple[str, str, float]]) -> None:
    """Ids, pieces, texts and scores, bit by bit: any character, empty texts, unscored tokens."""
    frame = framed([("a", "b", 1.0), *rows])
    made = collected(frame)

    found = packed_scores.frame(made.vocabularies, made.models[0].sweeps[0])

    pd.testing.assert_frame_equal(found, frame, check_exact=True)
    assert np.array_equal(
        found["score"].to_numpy().view("u4"), frame["score"].to_numpy().view("u4")
    )
    assert contradiction(made) == ""


def test_sweeps_of_the_same_rows_share_a_vocabulary() -> None:
    """Another text, piece or id makes another one; other scores do not."""
    rows = [("Ġa", " a", 1.0), ("Ġb", " b", 2.0)]
    first, second = framed(rows), framed([("Ġa", " a", 9.0), ("Ġb", " b", 2.0)])
    piece, text = framed([("Ga", " a", 1.0), rows[1]]), framed([("Ġa", "a", 1.0), rows[1]])
    other = first.assign(token_id=np.array([3, 6], dtype=np.int32))
    moved = framed([("Ġ", " a", 1.0), ("aĠb", " b", 2.0)])  # the same letters in all

    made = collected(first, second, piece, text, other, moved)

    digests = [sweep.vocabulary for sweep in made.models[0].sweeps]
    assert digests[0] == digests[1]
    assert len(set(digests)) == len(made.vocabularies) == 5


def test_pieces_that_are_the_texts_are_not_kept_twice() -> None:
    """Published tables have no pieces of their own."""
    frame = framed([("a", "a", 1.0), ("b", "b", 2.0)])
    made = collected(frame)

    assert [rows.pieces for rows in made.vocabularies.values()] == [None]
    found = packed_scores.frame(made.vocabularies, made.models[0].sweeps[0])
    pd.testing.assert_frame_equal(found, frame)


def test_the_encoding_by_hand() -> None:
    """1.0 and 2.0 are 00 00 80 3f and 00 00 00 40: planes 0000, 0000, 8000, 3f40."""
    made = packed_scores.pack(np.array([1, 2], dtype=np.float32))

    planes = zlib.decompress(base64.b64decode(made.data))
    assert planes.hex() == "0000000080003f40"
    assert (made.type, made.n, made.encoding) == ("float32", 2, "planes+zlib+base64")


def damaged(data: str, how: str) -> str:
    """Packed bytes that were cut short, lengthened, edited, or are none."""
    planes = bytearray(zlib.decompress(base64.b64decode(data)))
    if how == "edited":
        planes[-1] ^= 1
    changed = {"edited": planes, "short": planes[:-1], "long": planes + b"x"}
    if how in changed:
        return base64.b64encode(zlib.compress(bytes(changed[how]))).decode()
    return {"cut": data[:-8], "no base64": "é" + data[1:], "no zlib": "A" * 8}[how]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("edited", "scores of sweep key0 ('worst') do not have the sha256 beside them"),
        ("short", "scores of sweep key0 ('worst') are 39 bytes, not 40"),
        ("long", "scores of sweep key0 ('worst') are more than 40 bytes, not 40"),
        ("cut", "scores of sweep key0 ('worst') are "),
        ("no base64", "scores of sweep key0 ('worst') are damaged (string argument should"),
        ("no zlib", "scores of sweep key0 ('worst') are damaged (Error -3"),
    ],
)
def test_damaged_scores_are_one_line(how: str, said: str) -> None:
    """It says where, what, and what to do: no score is read from damaged bytes."""
    made, sweep = small()
    assert sweep.scores is not None
    data = damaged(sweep.scores.data, how)
    sweep = replace(sweep, scores=replace(sweep.scores, data=data))

    with pytest.raises(ResultsError) as error:
        packed_scores.frame(made.vocabularies, sweep)

    assert str(error.value).startswith(said)
    assert str(error.value).endswith("; copy the file anew, or run the audits again")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("part", ["lengths", "utf8"])
def test_a_damaged_vocabulary_is_said(part: str) -> None:
    """Edited texts are not read, nor texts that were packed anew under the same digest."""
    made, sweep = small()
    ((digest, whole),) = made.vocabularies.items()
    packed = getattr(whole.texts, part)

    def read(other: Packed) -> None:
        texts = replace(whole.texts, **{part: other})
        packed_scores.frame({digest: replace(whole, texts=texts)}, sweep)

    with pytest.raises(ResultsError, match=r"texts of vocabulary \w{12} do not have the sha256"):
        read(replace(packed, data=damaged(packed.data, "edited")))
    with pytest.raises(ResultsError, match=r"^vocabulary \w{12} is not what its digest says"):
        read(packed_scores.pack(packed_scores.unpack(packed, "texts")[::-1]))
    with pytest.raises(ResultsError, match=r"^vocabulary \w{12} is not there; copy"):
        packed_scores.frame({}, sweep)


def test_scores_of_other_rows_are_refused() -> None:
    """One score more than there are tokens is no sweep."""
    made, sweep = small()
    sweep = replace(sweep, scores=packed_scores.pack(np.zeros(11, dtype=np.float32)))

    with pytest.raises(
        ResultsError, match="has 11 scores \\(float32\\) of 10 tokens, allowed: one each"
    ):
        packed_scores.frame(made.vocabularies, sweep)


def test_a_summary_without_scores_says_so() -> None:
    """Of a family of wordings only summaries are kept."""
    made = collected(framed([("a", "a", 1.0)]), whole=False)

    with pytest.raises(ResultsError, match="has no score per token, only its summary; audit its"):
        packed_scores.frame(made.vocabularies, made.models[0].sweeps[0])
    assert made.vocabularies == {}
    assert contradiction(made) == ""
