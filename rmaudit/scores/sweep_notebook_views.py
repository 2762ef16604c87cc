"""Show sweeps in a notebook: best and worst tokens, a histogram, and a comparison of two sweeps.

Words that hurt are masked, as in the report.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit import svg
from rmaudit.invisible_characters import spelled_out
from rmaudit.measures.ranking_comparison import paired
from rmaudit.references.offensive_text_masks import mask, masked

_BINS = 80
_HEIGHT = 160  # pixels of the histogram
_LONGEST_TOKEN = 24  # characters of a token in a line of several


def reward_format(rewards: Iterable[float], decimals: int = 2) -> str:
    """Return a format such as `.2f`; `.4g` where so many decimals would hide what differs."""
    spread = float(np.nanstd(np.fromiter(rewards, float)))
    return ".4g" if 0 < spread < 10 ** (1 - decimals) else f".{decimals}f"


def table(title: str, best: pd.DataFrame, worst: pd.DataFrame) -> str:
    """Return HTML: the title, and the best and the worst tokens with rewards; slurs are masked.

    Both frames have the columns `text` and `score`.
    """
    both = pd.concat([_shown(best), _shown(worst)], axis=1, keys=["best", "worst"])
    style = f"{{:{reward_format([*best['score'], *worst['score']])}}}"
    rows = both.to_html(float_format=style.format, index=False)  # escapes what tokens hold
    hurts = "<p>These are a model's likings; words that hurt are masked.</p>"
    return f"<p>{escape(title)}</p>{hurts}{rows}"


def in_lines(model: str, prompt: str, best: pd.DataFrame, worst: pd.DataFrame) -> list[str]:
    """Return two lines of text: the highest tokens with rewards, and the lowest; long ones are cut.

    Prompts are called "best" and "worst", so these words would say something else here.
    """
    said, style = [], f"+{reward_format([*best['score'], *worst['score']])}"
    for end, rows in (("highest", best), ("lowest", worst)):
        shown = [
            f"{text if len(text) <= _LONGEST_TOKEN else f'{text[:_LONGEST_TOKEN]}…'} "
            f"{reward:{style}}"
            for text, reward in zip(map(quoted_or_masked, rows["text"]), rows["score"], strict=True)
        ]
        said.append(f"rmaudit: {model} · {prompt}, {end}: {', '.join(shown)}")
    return said


def histogram(title: str, scores: NDArray[np.float32]) -> svg.Drawing:
    """Return a histogram of rewards, without the names of tokens."""
    found = scores[np.isfinite(scores)].astype(float)
    counts, edges = np.histogram(found, bins=_BINS)
    y = svg.Axis(0, float(max(counts.max(), 1)), _HEIGHT, 0)
    beside, left = svg.axis_left(y, "answers")
    x = svg.Axis(float(edges[0]), float(edges[-1]), 0, svg.WIDTH - left - 30)
    beneath, height = svg.axis_below(x, _HEIGHT, "reward")
    ends = [x.at(edge) for edge in edges.tolist()]
    bars = [
        (start, y.at(count), end, _HEIGHT)
        for start, end, count in zip(ends[:-1], ends[1:], counts.tolist(), strict=True)
    ]
    drawn = svg.chart(
        [svg.boxes(bars, 0.8), beside, beneath],
        height=_HEIGHT + height,
        name=f"{title}: histogram of {len(found):,} rewards",
        left=left,
        title=title,
    )
    return svg.Drawing(svg.of_its_own(drawn))


def compared(one: pd.DataFrame, other: pd.DataFrame, *, of_words: bool) -> pd.DataFrame:
    """Join two sweeps' shared tokens: `text`, both rewards, both ranks, and ranks gained (`rose`).

    Ranks are among the shared tokens, 1 is the highest reward, ties at their average. `rose` is
    by how many places a token stands higher in `other`. Tokens are paired by their ids where both
    frames have one vocabulary, else by texts that are one token's alone in either; `of_words`
    says that a frame has words in place of token ids. Without a shared token the result is empty.
    """
    columns = ["token_id", "text"]
    first, second = (each[columns].reset_index(drop=True) for each in (one, other))
    ids = np.intersect1d(first["token_id"], second["token_id"])
    texts = [each.set_index("token_id")["text"].loc[ids] for each in (first, second)]
    by_id = bool(len(ids)) and not of_words and texts[0].equals(texts[1])
    both = paired(one, other, by_id=by_id)
    rank, rank_other = (both[side].rank(ascending=False) for side in ("baseline", "model"))
    return pd.DataFrame(
        {
            "text": both["text"],
            "reward": both["baseline"],
            "reward_other": both["model"],
            "rank": rank,
            "rank_other": rank_other,
            "rose": rank - rank_other,
        }
    )


def quoted_or_masked(text: str) -> str:
    """Return a token in quotes with hidden characters spelled out, or masked if it is a slur."""
    return mask(text) if masked(text) else spelled_out(repr(text))


def _shown(rows: pd.DataFrame) -> pd.DataFrame:
    texts = [quoted_or_masked(text) for text in rows["text"]]
    return pd.DataFrame({"token": texts, "reward": rows["score"].to_numpy(float)})
