"""Gates on the answers that they ask for: they find what audits find, and halves are apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.conversation import as_text
from rmaudit.errors import SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.measures.contrasts import GATES
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.prompts import CUSTOM, PROMPTS, Prompt
from rmaudit.references import References
from rmaudit.references.conduct_answers import JUDGED
from rmaudit.runs.gate_contrasts import GateAsked, checked_gate, declared, gate_on
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.null_controls import features, noise
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.scores.changed_answers import probes_of, subset_of_pairs
from rmaudit.scores.pair_files import conduct_pairs

SENTENCES = ("sentences_communities", "first_names", "political_sides", "dialect")
ANSWERS = ("conduct_right", "conduct_refusals", "edits")
WORDS = ("identity_terms", "identity_communities", "framing_inversion", "frequency_bias")


class Worded:
    """A model that is its vocabulary: words of the references, some of them in two spellings."""

    name = "worded"

    @cache  # noqa: B019  (there is one)
    def vocabulary(self) -> Vocabulary:
        """Return words as tokens."""
        terms, controls = References().identity()
        known = [*References().lexicon("labmt").index[::5], *terms["text"][::3], *controls["text"]]
        texts = tuple(dict.fromkeys([*known, *(word.capitalize() for word in known[::4])]))
        return Vocabulary(tuple(range(len(texts))), texts, texts)


MODEL = Worded()


def scored(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
    """What a text's words mean, as the prompt asks, and what is the text's own."""
    meant = prompt.frame * features(texts)["valence"].to_numpy(float)
    return meant + noise(texts, prompt, what="own", seed=1)


def gate(name: str, **halves: Any) -> GateAsked:
    """The gate on this vocabulary."""
    return gate_on(name, cast("RewardModel", MODEL), References(**halves))


def rewards(of: GateAsked) -> NDArray[np.float64]:
    """The rewards of a gate's answers."""
    texts, answers = MODEL.vocabulary().texts, of.contrasts.answers
    frames = {prompt.asked: prompt for prompt in (*PROMPTS.values(), *of.declaration.prompts)}
    found = np.empty(len(answers))
    codes, asked = pd.factorize(answers["prompt"])
    for code, one in enumerate(asked):
        mine = codes == code
        said = (one, +1) if isinstance(one, str) else (as_text(one), +1, one)
        prompt = frames.get(one) or Prompt(CUSTOM, *said)
        given = answers["answer"][mine]
        found[mine] = scored([x if isinstance(x, str) else texts[x[0]] for x in given], prompt)
    return found


def test_every_gate_that_is_named_has_contrasts() -> None:
    """The names are in another package than what makes the contrasts; each is tried below."""
    assert sorted(GATES) == sorted([*SENTENCES, *WORDS, "elo_agreement", *ANSWERS])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *[*SENTENCES, *WORDS, "elo_agreement"],
        # conduct_refusals goes the same way on fewer contexts
        *(
            pytest.param(x, marks=pytest.mark.nightly if x == "conduct_right" else ())
            for x in ANSWERS
        ),
    ],
)
def test_a_gate_finds_what_its_audit_finds(name: str) -> None:
    """Value and interval, of the same scorer, on all answers."""
    texts = MODEL.vocabulary().texts
    vocabulary = pd.DataFrame({"token_id": range(len(texts)), "token": texts, "text": texts})
    given = {
        "references": References(),
        "conduct": conduct_pairs(None, JUDGED),
        "probes": probes_of(subset_of_pairs(None)),
    }
    function, declaration = declared(name)
    trial = Trial(scored, declaration.prompts, vocabulary, given=given)

    its = measure(function, trial)

    made = gate(name)
    mine = made.measure(rewards(made), np.random.default_rng(0))
    for end in ("value", "low", "high"):
        assert getattr(mine, end) == pytest.approx(getattr(its, end), abs=2e-3)


@pytest.mark.parametrize("name", ["dialect", "conduct_refusals"])
def test_halves_share_no_unit_and_lose_none(name: str) -> None:
    """What is fitted on one half is judged on the other; each half's contrast is a difference."""
    whole, fitted, held = gate(name), gate(name, salt="x", fitting=True), gate(name, salt="x")
    units = [set(each.contrasts.answers["unit"]) for each in (whole, fitted, held)]

    assert not units[1] & units[2]
    assert units[1] | units[2] == units[0]
    for each in (fitted, held):
        assert each.contrasts.coefficients.sum().to_numpy() == pytest.approx(0.0)


def test_what_has_no_contrast_is_refused_by_name() -> None:
    """With the reason, or what is near; and with all that are allowed."""
    assert checked_gate("dialect") == "dialect"
    with pytest.raises(SpecError, match=r"top_tokens.*ends of a ranking.*allowed: identity_terms"):
        checked_gate("top_tokens")
    with pytest.raises(SpecError, match=r"'dialects'.*dialect.*allowed: "):
        checked_gate("dialects")
