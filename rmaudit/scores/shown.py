"""What a notebook shows of a sweep: a table, a picture, and the comparison with another.

Words that hurt are masked, as in the report.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rmaudit.errors import MeasureError
from rmaudit.invisible import spelled_out
from rmaudit.measures.movement import paired
from rmaudit.references.masks import mask, masked

if TYPE_CHECKING:
    import altair as alt

    from rmaudit.scores.sweep import Sweep

_ENDS = 8  # tokens at either end
_BINS = 80


def line(sweep: Sweep) -> str:
    """For example `Sweep of R-Smol-135M under 'best': 49,152 answers, -8.10 to 4.20, mean 0.3`."""
    scores = sweep.frame["score"]
    what = "published words" if sweep.of_words else "token ids"
    what += f", a sample of {sweep.sample}" if sweep.sample is not None else ""
    return (
        f"<Sweep of {sweep.model} under {sweep.prompt.name!r}: {len(scores):,} {what}, rewards "
        f"{scores.min():.2f} to {scores.max():.2f}, mean {scores.mean():.2f}>"
    )


def table(sweep: Sweep) -> str:
    """HTML: the line, and the best and the worst tokens side by side."""
    ends = [_shown(sweep.top(_ENDS)), _shown(sweep.bottom(_ENDS))]
    both = pd.concat(ends, axis=1, keys=["best", "worst"])
    rows = both.to_html(float_format="{:.2f}".format, index=False)  # escapes what tokens hold
    hurts = "<p>These are a model's likings; words that hurt are masked.</p>"
    return f"<p>{escape(line(sweep))}</p>{hurts}{rows}"


def picture(sweep: Sweep) -> alt.Chart:
    """A histogram of the rewards, an Altair chart: no token is named."""
    import altair as alt

    scores = sweep.frame["score"].to_numpy(float)
    counts, edges = np.histogram(scores[np.isfinite(scores)], bins=_BINS)
    bins = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "answers": counts})
    chart = alt.Chart(bins, title=f"{sweep.model}: {sweep.prompt.text}").mark_bar()
    drawn: alt.Chart = chart.encode(
        alt.X("from", title="reward").bin("binned"), x2="to", y="answers"
    )
    return drawn


def compared(one: Sweep, other: Sweep) -> pd.DataFrame:
    """The tokens of both, a row each: `text`, both rewards and ranks, and `rose`, in places.

    Ranks are among the shared tokens, 1 is the highest reward, ties at their average. `rose` is
    by how many places a token stands higher in `other`. Tokens are paired by their ids where both
    sweeps are of one vocabulary, else by texts that are one token's alone in either.

    Raises:
        MeasureError: no token is in both.
    """
    columns = ["token_id", "text"]
    first, second = (each.frame[columns].reset_index(drop=True) for each in (one, other))
    ids = np.intersect1d(first["token_id"], second["token_id"])
    texts = [each.set_index("token_id")["text"].loc[ids] for each in (first, second)]
    by_id = bool(len(ids)) and not (one.of_words or other.of_words) and texts[0].equals(texts[1])
    both = paired(one.frame, other.frame, by_id=by_id)
    if both.empty:
        message = f"{one.model} and {other.model} share no token that reads alike in both"
        raise MeasureError(f"{message}; compare sweeps of one vocabulary, or of whole words")
    ranks = {side: both[name].rank(ascending=False) for side, name in _SIDES.items()}
    return pd.DataFrame(
        {
            "text": both["text"],
            "reward": both["baseline"],
            "reward_other": both["model"],
            "rank": ranks["this"],
            "rank_other": ranks["other"],
            "rose": ranks["this"] - ranks["other"],
        }
    )


_SIDES = {"this": "baseline", "other": "model"}  # as `paired` calls them


def _shown(rows: pd.DataFrame) -> pd.DataFrame:
    texts: list[Any] = [
        mask(text) if masked(text) else spelled_out(repr(text)) for text in rows["text"]
    ]
    return pd.DataFrame({"token": texts, "reward": rows["score"].to_numpy(float)})
