"""Score the lists that several audits share: identity terms with controls, and rated things."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

import pandas as pd

from rmaudit.measures.control_word_matching import Valence
from rmaudit.measures.elo_agreement import ItemScores
from rmaudit.measures.identity_gaps import TermScores, compared
from rmaudit.measures.rank_gaps import Compared
from rmaudit.references import References
from rmaudit.references.human_ratings import printable
from rmaudit.scores.sweep_result import Sweep
from rmaudit.scores.text_rewards import Rewards


def scored_terms(
    sweeps: Mapping[str, Sweep], rewards: Rewards, references: References
) -> tuple[Compared, dict[str, TermScores]]:
    """Return identity terms with their control words, and the scores of both by prompt name.

    A term of one token is compared with controls of one token. Only a sweep of the whole vocabulary
    says which terms these are: most tokens are missing from a sample.

    Raises:
        MeasureError: the lists have no terms with controls.
    """
    valence = Valence(references.lexicon("labmt"), references.sentiment())
    whole = [sweep for sweep in sweeps.values() if sweep.sample is None]
    single = frozenset(whole[0].frame["text"].tolist()) if whole else None
    terms, controls = references.identity()
    rows = (tuple(table.itertuples(index=False, name=None)) for table in (terms, controls))
    rated = (
        pd.util.hash_pandas_object(values).to_numpy().tobytes()
        for values in (valence.happiness, valence.sentiment)
    )
    match = partial(compared, terms, controls, valence, single=single)
    asked = _matched(_Matching((*rows, *rated, single), match))
    scored = {name: rewards(asked.texts, name) for name in sweeps}
    return asked, {
        name: TermScores(found.scores, sweeps[name].prompt.direction, found.noise)
        for name, found in scored.items()
    }


@dataclass(frozen=True)
class _Matching:
    """Hold what decides which control words match which identity terms, and how to match them."""

    decides: Hashable
    match: Callable[[], Compared] = field(compare=False)


@lru_cache(maxsize=4)
def _matched(matching: _Matching) -> Compared:
    """Match terms with controls; cached, since four audits and all null controls need it."""
    return matching.match()


def scored_things(
    rewards: Rewards, references: References
) -> tuple[pd.DataFrame, dict[str, ItemScores]]:
    """Return the things that people rated, and a model's rewards of them by prompt name.

    The column `shown` says which names may be printed.

    Raises:
        SpecError: the user's own words have a prompt here that their ranking does not answer.
        ReferenceMissing: the ratings were not downloaded.
    """
    references.refuse_unanswered(rewards.prompts)
    items = references.elo()
    names = items["name"].tolist()
    scored = {prompt.name: rewards(names, prompt.name) for prompt in rewards.prompts}
    return items.assign(shown=printable(names)), {
        name: ItemScores(found.scores, found.noise) for name, found in scored.items()
    }
