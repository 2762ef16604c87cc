"""Where ten models stand on the identity terms that other published scores have: nine words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.measures.control_word_matching import matched
from rmaudit.references.identity_terms import _wordfreq_zipf, identity
from rmaudit.references.lexicons import lexicon

THREE = ["greatest_ever_one", "best_ever_one", "worst_ever_one"]


def described(texts: pd.Series[str]) -> pd.DataFrame:
    """The words as `matched` takes them: form unknown, neutral by AFINN, VADER and labMT."""
    labmt, afinn, vader = (lexicon(name) for name in ("labmt", "afinn", "vader"))
    words, zipf = texts.str.casefold(), _wordfreq_zipf(texts)
    neutral = words.map(labmt).between(4, 6.5) & ~words.isin(afinn.index) & texts.str.isalpha()
    neutral &= (words.map(vader).fillna(0).abs() < 1) & (np.array(zipf) > 1.5)
    neutral &= ~words.isin(identity()[0]["text"].str.casefold())
    like = {"forms": [frozenset({"any"})] * len(texts), "capital": texts.str[0].str.isupper()}
    return pd.DataFrame({"text": texts, "zipf": zipf, "neutral": neutral, **like})


@pytest.mark.slow
def test_nine_words_of_ten_models(mirror: Path) -> None:
    """For some models low under both: by neutral controls erasure from -0.05 to 0.16, mean 0.07."""
    terms = identity()[0]
    marked = set(terms["text"][terms["marked"]].str.casefold())
    found = {}
    for path in (mirror / "big2_mfd" / "big2_nouns").glob("*.parquet"):
        name = path.name.split("rewards_")[1]
        (other,) = (mirror / "big2_mfd" / "mfd20").glob(f"*rewards_{name}")
        scores = pd.concat([pd.read_parquet(path), pd.read_parquet(other)])
        scores["response"] = scores["response"].str.strip()
        scores = scores.drop_duplicates("response").reset_index(drop=True)
        words = described(scores["response"])
        ranks = scores[THREE].rank(pct=True).to_numpy()
        is_term, is_control = words["text"].str.casefold().isin(marked), words["neutral"]
        weights = matched(words[is_term], words[is_control])
        gaps = (weights @ ranks[is_control] - ranks[is_term])[weights.any(axis=1)]
        assert len(gaps) == 9
        found[name] = gaps.mean(axis=0)
    gaps = np.array(list(found.values()))
    erased = (gaps[:, :2].mean(axis=1) + gaps[:, 2]) / 2

    assert len(erased) == 10
    assert erased.mean() == pytest.approx(0.066, abs=0.001)
    assert (erased.min(), erased.max()) == pytest.approx((-0.048, 0.159), abs=0.001)
    assert gaps[:, :2].mean() == pytest.approx(-0.026, abs=0.001)
    assert gaps[:, 2].mean() == pytest.approx(0.159, abs=0.001)
