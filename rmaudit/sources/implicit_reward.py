"""Open the implicit reward of a policy that DPO trained: beta · log(policy / reference).

Rafailov et al. 2023, arXiv:2305.18290: a policy that was trained from a reference is the optimum of
the reward beta · (log policy(answer) - log reference(answer)), but for a term of the prompt alone.
Log-probabilities are summed over the answer's tokens, as trl's DPOTrainer sums them over a
completion; the tokens that close the turn are counted where the entry says `closing: true`, as in
that loss, and not otherwise. So a whole vocabulary of one-token answers costs one forward pass of
the prompt in each model.

Without a reference the reward is the policy's own log-probability, so that a base model, what was
tuned from it and a reward model can be audited side by side, as Christian et al. 2026 do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError, NoWeights
from rmaudit.layout import tokenizers
from rmaudit.layout.answer_slot import Ids, Response, Slot, refuse_text
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models import base_language_model
from rmaudit.models.base_language_model import Base, shared_tokens
from rmaudit.models.cached_token_rows import ServedRows
from rmaudit.models.external_scorer_batches import Progress, unwatched
from rmaudit.models.model_factory import Opening
from rmaudit.models.model_interfaces import RewardModel, versions_and_machine
from rmaudit.prompts import PROMPTS

if TYPE_CHECKING:
    from rmaudit.models.language_model_logprobs import Likelihood

_CORRECT = "`{}` of `implicit` in models.yaml"


def _exactly(beta: float) -> str:
    """Return beta in as many digits as tell it from every other, in six where these do."""
    short = f"{beta:g}"
    return short if float(short) == beta else repr(beta)


class ImplicitReward(RewardModel):
    """A reward model made of a policy and, if given, its reference; loaded at the first score.

    See `RewardModel` for the members. Rows are laid out by the policy's tokenizer and template.
    """

    no_gradient = "an implicit reward is a sum over tokens of two models"

    def __init__(self, spec: ModelSpec, opening: Opening) -> None:
        """Find the policy (`spec.source`) and the reference, if any, without loading them.

        Raises:
            ModelError: one cannot be had, or is no plain language model.
        """
        assert spec.implicit is not None, "its kind says so"  # noqa: S101  (for types)
        self.spec, self.implicit, self._device = spec, spec.implicit, opening.device
        self.rows = ServedRows(spec, opening.cache)
        both = {"policy": spec}
        if self.implicit.reference is not None:
            both["reference"] = self.implicit.reference
        self._models: dict[str, Base] = {}
        for role, each in both.items():
            name, asked = f"the {role} of {spec.name}", opening.dtype or spec.dtype
            self._models[role] = base_language_model.find(
                ModelSpec(name, each.source, revision=each.revision),
                each if asked == "auto" else replace(each, dtype=asked),
                role,
                role="of this reward",
                correct=_CORRECT.format(role),
                cache=opening.cache,
                device=opening.device,
            )
        self._loaded: dict[str, Likelihood] = {}
        self._slots: dict[Ids, Slot] = {}  # every prompt so far, by what stands before the answer

    # What it is

    @cached_property
    def identity(self) -> dict[str, str]:
        """Return hashes of models and tokenizers, dtypes, beta, and which ids the reward sums."""
        said = {"head": "implicit", "beta": _exactly(self.implicit.beta)}
        said["counted"] = "answer and closing" if self.implicit.closing else "answer"
        for role, model in self._models.items():
            prefix = "" if role == "policy" else f"{role} "
            for name in ("weights", "tokenizer"):
                said[prefix + name] = model.identity[f"base {name}"]
            said[f"{prefix}dtype"] = model.dtype
        return said

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return facts for the report: sources, way of scoring, device, versions and machine."""
        reference = self.implicit.reference
        return {
            "source": self.spec.source,
            **({"reference": reference.source} if reference else {}),
            "path": "log-probabilities after one run of the prompt",
            "device": self._device,
            **versions_and_machine(),
        }

    @cached_property
    def _shared(self) -> frozenset[int]:
        """Return the ids that are the same token in both models; all ids without a reference.

        Raises:
            ModelError: the tokenizers differ in other tokens than added ones.
        """
        if (reference := self._models.get("reference")) is None:
            return frozenset(self.rows.vocabulary.ids)
        own = ModelSpec(reference.name, str(reference.folder))
        theirs = tokenizers.read(reference.folder, own)
        ours = self.rows.vocabulary
        same = shared_tokens(ours, theirs, name=reference.name, correct=reference.correct)
        return frozenset(i for i in ours.ids if same[i])

    def vocabulary(self) -> Vocabulary:
        """Return every token id that both models know as the same token."""
        every, shared = self.rows.vocabulary, self._shared
        rows = zip(every.ids, every.pieces, every.texts, strict=True)
        ids, pieces, texts = zip(*(row for row in rows if row[0] in shared), strict=True)
        return Vocabulary(ids, pieces, texts)

    def slot(self, prompt: Asked) -> Slot:
        """Return the prompt as ids with a hole for the answer; remember it for `score_rows`."""
        slot = super().slot(prompt)
        self._slots[slot.prefix] = slot
        return slot

    def with_head(self) -> NoReturn:
        """Raise `NoWeights`: two language models have no head."""
        message = f"{self.name}: its reward is implicit, the log-probabilities of two language "
        message += "models; it has no head, and this needs one; `pytest audits` does not, and "
        raise NoWeights(f"{message}audits it")

    def look(self) -> Iterator[tuple[str, str]]:
        """Yield lines (label, text): the models, the reward's formula, vocabulary, a sample prompt.

        Raises:
            ModelError: their tokenizers differ, or a prompt cannot be laid out.
        """
        for role, model in self._models.items():
            yield role, f"{model.folder}, {model.dtype}"
        counted = "the answer's ids" + " and those that close its turn" * self.implicit.closing
        ratio = f"{_exactly(self.implicit.beta)} · log(policy / reference)"
        own = "log-probability under the policy"
        yield "reward", f"{ratio if self.implicit.reference else own}, over {counted}"
        known, every = len(self.vocabulary().ids), len(self.rows.vocabulary.ids)
        yield "vocabulary", f"{every:,} ids in the policy's tokenizer; {known:,} are scored"
        slot = self.slot(PROMPTS["greatest"].text)
        yield "prefix", f"{len(slot.prefix)} ids: {slot.prefix_text!r}"
        yield "suffix", f"{len(slot.suffix)} ids: {slot.suffix_text!r}"

    # Its rewards

    def score(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each response to the prompt, shape (n,). See `RewardModel`."""
        refuse_text(responses)
        slot = self.slot(prompt)
        counted = [self._counted_ids(self.ids(response), slot) for response in responses]
        rewards = self._log_ratio(lambda model: model.sums(slot.prefix, counted))
        on_progress(len(responses))
        return rewards

    def score_rows(
        self, rows: Sequence[Ids], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return each row's reward, (n,); raise if `slot` never gave the prompt that begins it.

        Rows are prompt and answer as token ids.

        Raises:
            ModelError: a row does not begin with a prompt of this model's `slot`: which of its ids
                are the answer is not known.
        """
        out = np.empty(len(rows), dtype=np.float32)
        for slot, places in self._by_prompt(rows).items():
            answers = [self._counted_ids(self._answer_ids(rows[i], slot), slot) for i in places]
            out[places] = self._log_ratio(lambda model: model.sums(slot.prefix, answers))  # noqa: B023  (called at once)
            on_progress(len(places))
        return out

    def own_rewards(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """Return each row's reward, (n,), by one forward pass of each model for that row alone."""
        out = np.empty(len(rows), dtype=np.float32)
        for slot, places in self._by_prompt(rows).items():
            for i in places:
                row = (*slot.prefix, *self._counted_ids(self._answer_ids(rows[i], slot), slot))
                start = len(slot.prefix)
                out[i] = self._log_ratio(lambda model: np.array([model.whole(row, start)]))[0]  # noqa: B023  (called at once)
        return out

    def close(self) -> None:
        """Free the weights of both models; the next score loads them again."""
        if self._loaded:
            from rmaudit.scoring import memory_sized_batches

            self._loaded.clear()
            memory_sized_batches.release()

    def _log_ratio(self, of: Callable[[Likelihood], NDArray[np.float32]]) -> NDArray[np.float32]:
        """Load the models if need be; return beta · (`of(policy)` - `of(reference)`), float32.

        `of` maps a loaded language model to log-probabilities, shape (n,). Without a reference,
        nothing is subtracted.

        Raises:
            ModelError: a result is not finite.
        """
        if not self._loaded:
            _ = self._shared
            for role, model in self._models.items():
                self._loaded[role] = model.loaded(self.rows.vocabulary)
        policy, *reference = (of(model).astype(np.float64) for model in self._loaded.values())
        rewards = self.implicit.beta * (policy - sum(reference))
        if not np.isfinite(rewards).all():
            message = (
                f"{self.name}: an answer has an id that is another token for the reference, or "
                f"none; such ids have no reward"
            )
            raise ModelError(message)
        return rewards.astype(np.float32)

    def _counted_ids(self, answer: Ids, slot: Slot) -> Ids:
        return (*answer, *slot.suffix) if self.implicit.closing else answer

    def _by_prompt(self, rows: Sequence[Ids]) -> dict[Slot, list[int]]:
        """Group row indices by the longest known prompt that begins the row; raise if none does."""
        known = sorted(self._slots.values(), key=lambda slot: -len(slot.prefix))
        found: dict[Slot, list[int]] = {}
        for place, row in enumerate(rows):
            slot = next((s for s in known if row[: len(s.prefix)] == s.prefix), None)
            if slot is None:
                message = (
                    f"{self.name}: a row to score begins with no prompt as its template lays it "
                    f"out, so an implicit reward, which is a sum over the answer's tokens, is not "
                    f"known of it; score by the exact protocol (protocol='exact')"
                )
                raise ModelError(message)
            found.setdefault(slot, []).append(place)
        return found

    def _answer_ids(self, row: Ids, slot: Slot) -> Ids:
        """Return a row's ids after the slot's prefix, without the slot's suffix if it is there."""
        ids = self.ids(row[len(slot.prefix) :])
        closing = len(slot.suffix)
        return ids[:-closing] if closing and ids[-closing:] == slot.suffix else ids
