"""Built answers: of strong words first, none rare, no word twice in two forms, the same again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rmaudit.references.answers_from_words import COUNTS, FREQUENT, STRONG, built_answers


def test_answers_are_of_the_words_that_the_prompt_asks_for() -> None:
    """Four of five of the happiest words; of the saddest, where the worst is asked for."""
    letters = [chr(97 + i) for i in range(26)]
    words = [f"{a}{b}zk" for a in letters[:20] for b in letters[:20]]
    valence = pd.Series(np.random.default_rng(0).permutation(len(words)), index=words, dtype=float)
    zipf = pd.Series(5.0, index=words)

    for frame in (1, -1):
        found = built_answers(valence, zipf, frame)

        ordered = valence.sort_values(ascending=frame < 0).index[:STRONG]
        used = [set(text.casefold().replace(",", "").split()) - {"and"} for text in found]
        assert {len(each) for each in used} == {*COUNTS}
        strong = np.mean([each <= {*ordered} for each in used])
        assert 0.8 < strong < 0.9
        assert 1000 < len(found) == len(set(found)) <= sum(COUNTS.values())
        assert found == built_answers(valence[::-1], zipf[::-1], frame)  # in any order


def test_no_answer_has_a_rare_word_or_two_forms_of_one() -> None:
    """Of each stem one word is taken, and none below three uses in a million."""
    valence = pd.Series({"sad": 1.0, "sorry": 1.1, "loved": 8.97, "joy": 9.0, "love": 8.95})
    valence["rare"] = 8.99
    zipf = pd.Series(FREQUENT, index=valence.index)
    zipf["rare"] = FREQUENT - 0.1

    found = built_answers(valence, zipf, 1)

    words = {word for text in found for word in text.casefold().replace(",", "").split()}
    assert words == {"sad", "sorry", "love", "joy", "and"}
