"""Hold what a sweep gives: the reward of every token id of a vocabulary."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import MeasureError, SpecError
from rmaudit.measures.ranking_comparison import FEWEST, kendall_tau, shared
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.models import model_interfaces
from rmaudit.models.recorded_model import WORDS
from rmaudit.models.text_scorer import OWN_WORDS
from rmaudit.prompts import Prompt
from rmaudit.scores.score_parquet import noise_of
from rmaudit.scores.token_sample import Sample, mask_of_words, plain_words

if TYPE_CHECKING:
    from rmaudit.svg import Drawing

_SHOWN_AT_EITHER_END = 8  # tokens at either end, in a notebook
_OURS = OwnWords()
_MOST_STEADY_NOISE = 0.3  # sd of the scores, as `rmaudit doctor` has it of a server


@dataclass(frozen=True, slots=True, repr=False)
class Sweep:
    """Rewards of every token id of a model's vocabulary, as the one-token answer to a prompt.

    `frame` has one row per token id, ascending: `token_id` (int32), `token` (the tokenizer's raw
    piece), `text` (the decoded text), `score` (float32, the model's own units, higher is better).
    Where `sample` is not None it has not every id, but those that `sample` says: drawn ones, whose
    scores are stored under `key`, and ones named by words; then `drawn` is the sweep of the drawn
    ones alone, and `more` that of the named ones, which has a key of its own.
    Where `of_words` is true it has published words, or texts that a scorer names, in place of a
    vocabulary, and `token_id` is a word's place among them.
    """

    model: str
    prompt: Prompt
    key: str
    frame: pd.DataFrame
    provenance: Mapping[str, Any]
    sample: Sample | None = None
    drawn: Sweep | None = None
    more: Sweep | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the sweep's cache keys: one, and another if a sample includes the ids of words."""
        return (self.key,) if self.more is None else (self.key, self.more.key)

    @property
    def noise(self) -> float:
        """Return the numeric noise of a score in the model's units; NaN if not measured."""
        return noise_of(self.frame, self.provenance)

    @property
    def answers(self) -> Answers:
        """Return the rewards as measures of several prompts take them: with frame and noise."""
        return Answers(self.frame, self.prompt.direction, self.noise)

    @property
    def of_words(self) -> bool:
        """Return whether the rows are words in place of a tokenizer's token ids."""
        return self.provenance.get("answers") in {WORDS, OWN_WORDS}

    @property
    def caveats(self) -> tuple[str, ...]:
        """Return caveats for readers, as sentences: on sampling, words as rows, noise, protocol."""
        published = self.provenance.get("answers") == WORDS
        what = "published words" if published else "texts that its scorer names"
        words = f"Rests on {len(self.frame):,} {what}, not on a vocabulary."
        said = [] if self.sample is None else [self.sample.caveat]
        said += [words] if self.of_words and not said else []
        sd = float(self.frame["score"].std())
        if self.noise > _MOST_STEADY_NOISE * sd:
            again = f"Asked again, rewards are {self.noise:.2g} off, and their own sd is {sd:.2g}: "
            said.append(f"{again}they are drawn at random, or the model changed in between.")
        return (*said, *model_interfaces.caveats_of_scores(self.provenance))

    def naming(self, words: Sequence[str], own_words: OwnWords = _OURS) -> Sweep:
        """Return a sampled sweep restricted to its random ids and the ids that `words` name.

        A sweep of the whole vocabulary is returned unchanged.

        Raises:
            SpecError: an entry is neither a word nor a lexicon.
            ReferenceMissing: a lexicon cannot be had.
        """
        if self.sample is None or self.drawn is None or self.more is None:
            return self
        ids, chosen = self.frame["token_id"], mask_of_words(self.frame["text"], words, own_words)
        own = ids.isin(self.more.frame["token_id"]) & chosen
        if not own.any():
            return self.drawn
        # an id that was drawn does not bring its word, or words of many spellings would come first
        others = ids.isin(self.drawn.frame["token_id"]) & ~chosen
        whole = self.sample.whole or len(plain_words(words)) == len(words)
        return replace(
            self,
            frame=self.frame[own | others].reset_index(drop=True),
            provenance={**self.provenance, "named_ids": int(own.sum())},
            sample=replace(self.sample, named=int(own.sum()), whole=whole),
        )

    def top(self, n: int = 25) -> pd.DataFrame:
        """Return the `n` tokens with the highest rewards, best first; ties by token id."""
        return self.frame.sort_values("score", ascending=False, kind="stable").head(n)

    def bottom(self, n: int = 25) -> pd.DataFrame:
        """Return the `n` tokens with the lowest rewards, worst first; ties by token id."""
        return self.frame.sort_values("score", kind="stable").head(n)

    def tau(self, other: Sweep) -> float:
        """Return Kendall's tau-b of two sweeps' rewards, over the texts that both have.

        1 is the same order, -1 the opposite one. The models may have different vocabularies.

        Raises:
            MeasureError: they share fewer than 30 texts.
        """
        both = shared(self.frame, other.frame)
        if len(both) < FEWEST:
            few = f"{self.model} and {other.model} share {len(both)} texts, too few"
            raise MeasureError(f"{few}: tau needs {FEWEST}; a larger sample has more")
        return kendall_tau(both["model"].to_numpy(), both["baseline"].to_numpy())

    def score_of(self, text: str) -> float:
        """Return the score of the token whose decoded text is `text` (mind a leading space).

        Raises:
            MeasureError: no token, or more than one, decodes to this text.
        """
        found = self.frame[self.frame["text"] == text]
        if len(found) == 1:
            return float(found["score"].iloc[0])
        if len(found):
            message = f"{len(found)} tokens decode to {text!r}: ids {list(found['token_id'][:5])}"
            raise MeasureError(message)
        near = difflib.get_close_matches(text, set(self.frame["text"]) - {text}, n=3)
        where = "" if self.sample is None else f" in a sample of {self.sample}"
        message = f"no single token{where} decodes to {text!r}; nearest: {near}"
        raise MeasureError(f"{message}; see model.score for texts")

    def compare(self, other: Sweep) -> pd.DataFrame:
        """Return a table of the tokens that this sweep and `other` share, with rewards and ranks.

        The columns are `text`, `reward`, `reward_other`, `rank`, `rank_other` and `rose`, by how
        many ranks a token stands higher in `other`.

        Raises:
            SpecError: `other` is no sweep.
            MeasureError: no token is in both.
        """
        from rmaudit.scores import sweep_notebook_views  # it takes scipy and word lists: a second

        if not isinstance(other, Sweep):
            message = f"a sweep is compared with another sweep, got {other!r}"
            raise SpecError(f"{message}; give what rmaudit.sweep returns")
        of_words = self.of_words or other.of_words
        joined = sweep_notebook_views.compared(self.frame, other.frame, of_words=of_words)
        if joined.empty:
            message = f"{self.model} and {other.model} share no token that reads alike in both"
            raise MeasureError(f"{message}; compare sweeps of one vocabulary, or of whole words")
        return joined

    def tilt(self, policy: pd.Series[float], *, nats: float) -> pd.DataFrame:
        """Return each token's probability in `policy`, before and after ideal RLHF of KL `nats`.

        The optimum is the policy with the highest mean reward within a KL of `nats` of `policy`.
        Its likeliest tokens come first.
        `policy` has natural log-probabilities by token id, as `rmaudit.base_logprobs` gives them.
        The columns are those of `frame`, and the probabilities `before` and `after`; see
        `rmaudit.measures.optimal_policy`.

        Raises:
            MeasureError: the sweep is a sample, no id has both a score and a log-probability, all
                rewards are equal, or not even the highest alone is so many nats away.
        """
        from rmaudit.measures.optimal_policy import tilted

        if self.sample is not None:
            raise MeasureError("the optimum is a sum over every token id, and this is a sample")
        likely = self.frame["token_id"].map(policy)
        both = self.frame["score"].notna() & likely.notna()
        if not both.any():
            raise MeasureError("no token id has both a reward and a log-probability")
        given = self.frame[both]
        laws = [tilted(likely[both], given["score"], far).logprobs for far in (0.0, nats)]
        before, after = (np.exp(law) for law in laws)
        found = given.assign(before=before, after=after)
        return found.sort_values("after", ascending=False, kind="stable").reset_index(drop=True)

    def plot(self) -> Drawing:
        """Return a histogram of the rewards as a picture, which a notebook displays."""
        from rmaudit.scores import sweep_notebook_views

        title = f"{self.model}: {self.prompt.text}"
        return sweep_notebook_views.histogram(title, self.frame["score"].to_numpy(float))

    def __repr__(self) -> str:
        from rmaudit.scores.sweep_notebook_views import reward_format

        scores = self.frame["score"]
        style = reward_format(scores)
        what = "published words" if self.of_words else "token ids"
        what += f", a sample of {self.sample}" if self.sample is not None else ""
        return (
            f"<Sweep of {self.model} under {self.prompt.name!r}: {len(scores):,} {what}, rewards "
            f"{scores.min():{style}} to {scores.max():{style}}, mean {scores.mean():{style}}>"
        )

    def _repr_html_(self) -> str:
        from rmaudit.scores import sweep_notebook_views

        return sweep_notebook_views.table(
            repr(self), self.top(_SHOWN_AT_EITHER_END), self.bottom(_SHOWN_AT_EITHER_END)
        )
