"""Give the contrasts that a gate judges (`measures.contrasts`), of the answers that it asks for.

Prompts and bounds are those of the audits, words and sentences those of the references.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.conversation import from_columns
from rmaudit.errors import MeasureError, SpecError, nearest
from rmaudit.measures import (
    conduct,
    contrasts,
    edits,
    elo_agreement,
    framing_inversion,
    frequency_bias,
    identity_communities,
    identity_terms,
    sentences,
)
from rmaudit.measures.contrasts import GATES, Contrasts
from rmaudit.measures.control_word_matching import Valence
from rmaudit.measures.elo_agreement import ItemScores
from rmaudit.measures.identity_gaps import TermScores, compared
from rmaudit.measures.residual_ranks import basis, residual_ranks
from rmaudit.measures.scores_by_prompt import Answers, normal_scores
from rmaudit.measures.word_spellings import word_of
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.prompts import Prompt
from rmaudit.references import References, counterfactual_sentences
from rmaudit.references.conduct_answers import REFUSALS, RIGHT
from rmaudit.references.surface_features import surface
from rmaudit.references.text_changes import ANSWERS, AS_IT_IS
from rmaudit.runs.audit_importer import Audit, audits_in
from rmaudit.scores import pair_files
from rmaudit.scores.answer_files import ASKED
from rmaudit.scores.changed_answers import subset_of_pairs
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Estimate

Floats = NDArray[np.floating]
_AT_THE_TOP = 2.0627  # sd: the mean of the highest twentieth of normal rewards
_IN_A_HALF = 10  # contexts of sentences: half of those that the audits have
_RANKED = "it goes by the ends of a ranking or its shape, which no weighted sum of rewards makes"
_NONE = "it is informational, and none was made for it"
REFUSED = {
    **dict.fromkeys(("top_tokens", "top_things", "token_kinds", "answer_kinds"), _RANKED),
    "positive_skew": _RANKED,
    "jobs_in_sentences": "it looks for whichever kind of jobs is surest, and names none beforehand",
    "gcg_probes": "its strings are searched for anew in each model",
    "model_agreement": "it compares with another model, whose rewards are no bias",
}


@dataclass(frozen=True)
class GateAsked:
    """A gate on the answers that it asks for: their contrasts, and its own measure of rewards.

    `measure` makes the gate's estimate of the rewards of `contrasts.answers`, (n,), and a random
    generator.
    """

    declaration: Declaration
    contrasts: Contrasts
    measure: Callable[[Floats, np.random.Generator], Estimate]


def gate_on(gate: str, model: RewardModel, references: References) -> GateAsked:
    """Return a gate on those of its answers that `references` may judge.

    Blocks of sentences and groups of pairs are split as words are.

    Raises:
        SpecError: the gate is unknown, or what it judges has no contrast: it says why.
        MeasureError: too few of its answers are left, or they have no controls.
        ReferenceMissing: a reference cannot be had.
    """
    return _MAKERS[checked_gate(gate)](declared(gate)[1], references, model)


def checked_gate(gate: str) -> str:
    """Return the name of a gate that has contrasts; raise `SpecError`, with the reason, if none."""
    known = ", ".join(GATES)
    if gate not in GATES and gate in (audits := audits_in(bundled("audits"))):
        figure = "it is a figure, without a bound" if audits[gate][1].figure else _NONE
        why = REFUSED.get(gate, figure)
        raise SpecError(f"{gate} has no contrast: {why}; allowed: {known}")
    if gate not in GATES:
        raise SpecError(f"unknown gate {gate!r};{nearest(gate, GATES)} allowed: {known}")
    return gate


@cache
def declared(gate: str) -> Audit:
    """Return the function and the declaration of one of rmaudit's own audits."""
    return audits_in(bundled("audits"))[gate]


def _terms(
    declaration: Declaration, references: References, model: RewardModel, *, communities: bool
) -> GateAsked:
    prompts = declaration.prompts
    valence = Valence(references.lexicon("labmt"), references.sentiment())
    single = frozenset(model.vocabulary().texts)
    found = compared(*references.identity(), valence, single=single)
    tolerated = declaration.bound.ends[1]
    if not communities:
        tolerated *= identity_terms.TOLERATED["erased"]
    judge = identity_communities.worst_community if communities else identity_terms.identity_terms

    def measure(rewards: Floats, rng: np.random.Generator) -> Estimate:
        rows = _by_prompt(prompts, rewards)
        return judge(found, {p.name: TermScores(own, p.direction, 0) for p, own in rows}, rng=rng)

    made = contrasts.of_terms(found, prompts, communities=communities, tolerated=tolerated)
    return GateAsked(declaration, made, measure)


def _sentences(
    declaration: Declaration,
    references: References,
    _: RewardModel,
    *,
    table: Callable[[], pd.DataFrame],
) -> GateAsked:
    most = declaration.bound.ends[1]
    given = table()
    given = given[references.given(contrasts.block_names(given))].reset_index(drop=True)
    return GateAsked(
        declaration,
        contrasts.of_sentences(given, declaration.prompts, tolerated=most),
        lambda rewards, rng: sentences.worst_group(
            given.assign(reward=rewards), rng=rng, noise=0.0, most=most, fewest=_IN_A_HALF
        ),
    )


def _framing(declaration: Declaration, references: References, model: RewardModel) -> GateAsked:
    prompts, valence = declaration.prompts, references.lexicon("labmt")
    words = _spelled(model, valence.index)
    happy = valence[words["text"]].to_numpy(float)
    least = declaration.bound.ends[0]
    rated = {"valence": (happy - happy.mean()) / happy.std()}
    return GateAsked(
        declaration,
        contrasts.of_properties(words, prompts, rated, tolerated=-least),
        lambda rewards, rng: framing_inversion.inversion(
            _answers(words, prompts, rewards), valence, rng=rng
        ),
    )


def _frequency(declaration: Declaration, references: References, model: RewardModel) -> GateAsked:
    """Return the gate, and the excess frequency of the top if rewards were normal."""
    prompts, valence = declaration.prompts, references.lexicon("labmt")
    frequency = references.frequency("wordfreq", valence.index)
    both = pd.concat({"frequency": frequency, "valence": valence}, axis=1).dropna()
    words = _spelled(model, both.index[both.index.str.isalpha()])
    known = both.loc[words["text"].unique()]
    known = known.assign(letters=known.index.str.len().astype(float))
    left = pd.Series(frequency_bias.adjusted(known, "frequency", held="letters")[0], known.index)
    rare = {"frequency": _AT_THE_TOP * np.asarray(left[words["text"]], np.float64)}
    most = declaration.bound.ends[1]
    return GateAsked(
        declaration,
        contrasts.of_properties(words, prompts, rare, tolerated=most, either_way=True),
        lambda rewards, rng: frequency_bias.frequency_bias(
            _answers(words, prompts, rewards), frequency, valence, rng=rng
        ),
    )


def _elo(declaration: Declaration, references: References, _: RewardModel) -> GateAsked:
    prompts = declaration.prompts
    references.refuse_unanswered(prompts)
    items = references.elo()
    names, elo = items["name"].tolist(), items["elo"].to_numpy(float)
    looks = surface(names, references.own_words)
    left = residual_ranks(elo, basis(looks))[0]
    rated = {"rating": normal_scores(elo), "rating beyond the surface": left / left.std()}
    items = items.assign(shown=True)  # nothing is printed of them

    def measure(rewards: Floats, rng: np.random.Generator) -> Estimate:
        scored = {p.name: ItemScores(own, 0.0) for p, own in _by_prompt(prompts, rewards)}
        return elo_agreement.agreement_with_people(items, scored, looks, rng=rng)

    # Kendall's tau of normal values, as a correlation
    most = -math.sin(math.pi / 2 * declaration.bound.ends[0])
    table = pd.DataFrame({"text": names, "answer": names})
    return GateAsked(
        declaration, contrasts.of_properties(table, prompts, rated, tolerated=most), measure
    )


def _conduct(
    declaration: Declaration, references: References, _: RewardModel, *, kinds: tuple[str, ...]
) -> GateAsked:
    given = pair_files.conduct_pairs(None, kinds).frame
    given = _with_asked(given, references)
    return GateAsked(
        declaration,
        contrasts.of_pairs(given, kinds),
        lambda rewards, rng: conduct.better_wins(
            given.assign(reward=rewards), kinds, rng=rng, noise=0.0
        ),
    )


def _edits(declaration: Declaration, references: References, _: RewardModel) -> GateAsked:
    given = _with_asked(subset_of_pairs(None).frame, references)
    changed = {AS_IT_IS: given["response"]} | {
        name: given["response"].map(change) for name, change in ANSWERS.items()
    }

    def measure(rewards: Floats, rng: np.random.Generator) -> Estimate:
        columns = dict(zip(changed, rewards.reshape(len(changed), -1), strict=True))
        return edits.shift(given, pd.DataFrame(columns), rng=rng, noise=0.0)

    most = declaration.bound.ends[1]
    made = contrasts.of_changes(given, pd.DataFrame(changed), tolerated=most)
    return GateAsked(declaration, made, measure)


def _by_prompt(prompts: tuple[Prompt, ...], rewards: Floats) -> Iterator[tuple[Prompt, Floats]]:
    """Return each prompt with its rewards, of all that stand one prompt after the other."""
    return zip(prompts, rewards.reshape(len(prompts), -1), strict=True)


def _answers(
    words: pd.DataFrame, prompts: tuple[Prompt, ...], rewards: Floats
) -> dict[str, Answers]:
    """Return the rewards of words under each prompt, as measures take them."""
    return {
        prompt.name: Answers(words[["text"]].assign(score=own), prompt.direction, 0.0)
        for prompt, own in _by_prompt(prompts, rewards)
    }


def _with_asked(pairs: pd.DataFrame, references: References) -> pd.DataFrame:
    """Return the rows of those groups that may judge, with `asked`: the prompt, or its turns."""
    kept = pairs[references.given(pairs["group"])].reset_index(drop=True)
    asked = [from_columns(*row) for row in kept[ASKED].itertuples(index=False)]
    return kept.assign(asked=pd.Series(asked, dtype=object))


def _spelled(model: RewardModel, words: pd.Index[str]) -> pd.DataFrame:
    """Return the token ids (`answer`, tuples of one) that spell one of `words`, with the word."""
    vocabulary = model.vocabulary()
    spelled = word_of(pd.Series(vocabulary.texts, dtype="str"))
    kept = spelled.isin(words).to_numpy()
    ids = np.array(vocabulary.ids)[kept].tolist()
    if not ids:
        raise MeasureError(f"{model.name}: no token of its vocabulary spells one of these words")
    return pd.DataFrame({"text": spelled[kept].to_numpy(), "answer": [(each,) for each in ids]})


_MAKERS: Mapping[str, Callable[[Declaration, References, RewardModel], GateAsked]] = {
    "identity_terms": partial(_terms, communities=False),
    "identity_communities": partial(_terms, communities=True),
    "sentences_communities": partial(_sentences, table=counterfactual_sentences.communities),
    "first_names": partial(_sentences, table=counterfactual_sentences.first_names),
    "political_sides": partial(_sentences, table=counterfactual_sentences.politics),
    "dialect": partial(_sentences, table=counterfactual_sentences.dialect),
    "framing_inversion": _framing,
    "frequency_bias": _frequency,
    "elo_agreement": _elo,
    "conduct_right": partial(_conduct, kinds=RIGHT),
    "conduct_refusals": partial(_conduct, kinds=REFUSALS),
    "edits": _edits,
}
HALVED = (  # whose audits leave out what trained a model; the others have too few contexts for that
    *("identity_terms", "identity_communities"),
    *("framing_inversion", "frequency_bias", "elo_agreement"),
)
