"""Open a reward model of a checkpoint folder or hub id: weights load at the first score.

Opening one reads the tokenizer and the safetensors headers only, so a run that finds every sweep in
the cache loads no weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints import checkpoint_source, head_detection
from rmaudit.checkpoints.adapter_files import Adapter
from rmaudit.config.model_registry import Dtype, ModelSpec
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.conversation import Asked
from rmaudit.errors import SpecError
from rmaudit.layout import layouts
from rmaudit.layout.answer_slot import Ids, Response, refuse_text
from rmaudit.models.checkpoint_rows import CheckpointRows
from rmaudit.models.checkpoint_weights import CheckpointWeights
from rmaudit.models.external_scorer_batches import Progress, unwatched
from rmaudit.models.model_interfaces import LOOSELY, RewardModel, Scored, versions_and_machine
from rmaudit.models.transformers_loader import refuse_misfits
from rmaudit.scoring import Begun, Head, waited_for

if TYPE_CHECKING:
    from rmaudit.models.own_forward import Weights
    from rmaudit.scoring.gradient import Slopes

_RUN_AGAIN = 128  # ids of a prompt that cost less than calls of its own on a CPU


def from_spec(
    spec: ModelSpec,
    *,
    cache: Path | None = None,
    device: str = "auto",
    dtype: Dtype | None = None,
) -> Checkpoint:
    """Open the checkpoint of a models.yaml entry, to run in `dtype` or else in the entry's.

    Raises as `model_factory.load` does.
    """
    if dtype is not None and dtype not in get_args(Dtype):
        raise SpecError(f"unknown dtype {dtype!r}; known: {', '.join(get_args(Dtype))}")
    asked = spec if dtype is None else replace(spec, dtype=dtype)
    return Checkpoint(asked, cache=cache or default_cache(), device=device)


def with_head(model: Scored) -> Checkpoint:
    """Return a model that must be a checkpoint; raise `NoWeights` if it is none."""
    return cast("Checkpoint", model.with_head())


class Checkpoint(RewardModel):
    """A reward model from a checkpoint folder or hub id; its weights load at the first score.

    See `RewardModel` for the members.
    """

    rows: CheckpointRows

    def __init__(  # noqa: PLR0913  (keyword-only after the subject)
        self,
        spec: ModelSpec,
        *,
        cache: Path,
        device: str = "auto",
        rows: CheckpointRows | None = None,
        weights: CheckpointWeights | None = None,
        head: Head | None = None,
    ) -> None:
        """Find and check the checkpoint, unless its `rows` are given.

        `device` is "auto", "spread" or a torch device name. The weights of given rows need not be
        on this machine if the model is inspected and not scored. `weights` are those that another
        reading of the same checkpoint shares. What `head` gives stands in the rewards' place.

        Raises:
            ModelError: it cannot be had, or is no reward model that rmaudit can score.
        """
        self.spec, self.cache, self.device = spec, cache, device
        self.rows = rows or _rows(spec, cache)
        self._weights = weights or CheckpointWeights(self.rows, device)
        self._head = head

    def with_head(self) -> Checkpoint:
        """Return the model itself, since it has a head."""
        return self

    def reading(self, head: Head) -> Checkpoint:
        """Return the model with `head` in place of its own; both share the weights."""
        return Checkpoint(
            self.spec,
            cache=self.cache,
            device=self.device,
            rows=self.rows,
            weights=self._weights,
            head=head,
        )

    def sibling(self, spec: ModelSpec) -> Checkpoint | None:
        """Return the judge of another entry, with another template; both share the weights.

        None if its verdict is another.

        Raises:
            ModelError: its tokenizer or template cannot be read.
        """
        other = Checkpoint(spec, cache=self.cache, device=self.device, weights=self._weights)
        return other if other.identity["verdict"] == self.identity["verdict"] else None

    @property
    def adapter(self) -> Adapter | None:
        """Return the adapter that is merged into the weights; None if there is none."""
        return self.rows.checked.adapter

    def with_adapter(self, adapter: Adapter) -> Checkpoint:
        """Return the same model with `adapter` merged into its base in place of its own."""
        rows = CheckpointRows(replace(self.rows.checked, adapter=adapter), self.cache)
        return Checkpoint(self.spec, cache=self.cache, device=self.device, rows=rows)

    # What it is

    @property
    def identity(self) -> dict[str, str]:
        """Return hashes of weights and tokenizer, and the settings that change a reward."""
        return self.rows.identity

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return source, versions, layers, `ScoringPath`, device and machine, for the report."""
        import torch

        loaded, rows = self._weights.loaded, self.rows
        commit = checkpoint_source.commit_of(rows.folder)
        return {
            "source": self.spec.source,
            **({"revision": commit} if commit else {}),
            **rows.provenance,
            "layers": int(rows.defaults.get_text_config().num_hidden_layers),
            "path": rows.settings["path"] if loaded is None else str(loaded.scorer.path),
            **({LOOSELY: reason} if (reason := self._weights.loose_check) else {}),
            "device": self.device if loaded is None else loaded.device,
            **versions_and_machine(),
            "threads": torch.get_num_threads(),
        }

    # Its rewards

    def score(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each response to the prompt, shape (n,). See `RewardModel`."""
        return waited_for(self.begin(prompt, responses, on_progress=on_progress))

    def begin(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
    ) -> Begun:
        """Start `score`; return the rewards or, on a GPU, a function that waits for them."""
        refuse_text(responses)
        slot = self.slot(prompt)
        answers = [self.ids(response) for response in responses]
        return self._begin(slot.prefix, answers, slot.suffix, slot.suffix, on_progress)

    def score_rows(
        self, rows: Sequence[Ids], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each row of ids (prompt and answer); their common prefix runs once.

        Raises:
            ModelError: the rows share no first id, one has an unknown id, or the weights cannot
                be loaded.
            ScoreError: a reward is not a finite number.
        """
        return waited_for(self.begin_rows(rows, on_progress=on_progress))

    def begin_rows(self, rows: Sequence[Ids], *, on_progress: Progress = unwatched) -> Begun:
        """Start `score_rows`; return the rewards or, on a GPU, a function that waits for them."""
        prefix, rests = self.rows.split(rows)
        return self._begin(prefix, rests, (), rests[0] if rests else (), on_progress)

    def _begin(
        self,
        prefix: Ids,
        answers: Sequence[Ids],
        suffix: Ids,
        checked_suffix: Ids,
        on_progress: Progress,
    ) -> Begun:
        """Check scoring with `checked_suffix`; start it for answers between `prefix` and `suffix`.

        All are token ids.
        """
        from rmaudit.scoring import engine

        scorer, name = self.weights(prefix, checked_suffix, len(answers)).scorer, self.name
        if self._head is not None:
            scorer = replace(scorer, head=self._head)
        begun = engine.begin(scorer, prefix, answers, suffix, on_progress=on_progress, name=name)
        if callable(begun):
            return lambda: self._weights.unless_changed(begun())
        return self._weights.unless_changed(begun)

    def score_each(
        self,
        prompts: Sequence[Asked],
        responses: Sequence[Response],
        *,
        on_progress: Progress = unwatched,
    ) -> NDArray[np.float32]:
        """Return the reward of each response to its own prompt, shape (n,). See `RewardModel`.

        A call of its own for every prompt is slow if prompts have few answers. Where it costs less
        to run the prompt again for each answer, whole rows (prompt and answer) are scored: the
        prefix that all share runs once, and rows of one length are one batch, whatever their
        prompts.
        """
        refuse_text(responses)
        places: dict[Asked, list[int]] = {}
        for place, prompt in enumerate(prompts):
            places.setdefault(prompt, []).append(place)
        slots = {prompt: self.slot(prompt) for prompt in places}
        shared = len(layouts.split_shared_prefix([slot.prefix for slot in slots.values()])[0])
        scores: dict[int, Any] = {}  # by the place of the response
        whole: list[int] = []
        for number, (prompt, own) in enumerate(places.items()):
            again = (len(own) - 1) * (len(slots[prompt].prefix) - shared)
            if number and shared and again <= self._most_run_again():
                whole += own
            else:  # the first one loads the weights, which tell whether whole rows will do
                given = [responses[place] for place in own]
                found = self.score(prompt, given, on_progress=on_progress)
                scores.update(zip(own, found, strict=True))
        if whole:
            rows = []
            for place, ids in zip(whole, self._ids_of([responses[i] for i in whole]), strict=True):
                slot = slots[prompts[place]]
                rows.append((*slot.prefix, *ids, *slot.suffix))
            found = self.score_rows(rows, on_progress=on_progress)
            scores.update(zip(whole, found, strict=True))
        return np.array([scores[place] for place in range(len(prompts))], dtype=np.float32)

    def _ids_of(self, responses: Sequence[Response]) -> list[Ids]:
        """Return the token ids of each response, as `ids` does; texts are tokenized together."""
        texts = [each for each in responses if isinstance(each, str)]
        tokenized = iter(self.tokenized(texts))
        return [next(tokenized) if isinstance(r, str) else self.ids(r) for r in responses]

    def _most_run_again(self) -> int:
        """Return how many prompt ids are cheaper to rerun than another call; -1 if rows cannot mix.

        Rows (prompt and answer ids) of different prompts cannot be scored together before the
        weights are loaded, if the head reads the prompt's states, or if the model is an encoder,
        for which it matters where an answer begins.
        """
        scorer = None if self._weights.loaded is None else self._weights.loaded.scorer
        if scorer is None or scorer.head.reads_prefix or scorer.first:
            return -1
        return max(_RUN_AGAIN, scorer.ids_of_a_start())

    def answers_a_call(self, prompt: Asked) -> int:
        """Return how many one-token answers fill one forward pass; 0 before the weights load."""
        if (weights := self._weights.loaded) is None:
            return 0
        slot = self.slot(prompt)
        return weights.scorer.rows_a_call(len(slot.prefix), 1 + len(slot.suffix))

    def own_rewards(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """Return each row's reward, (n,), by the model's own forward pass on that row alone."""
        if not rows:
            return np.empty(0, dtype=np.float32)
        found = self.weights(rows[0][:-1], ()).own_rewards(rows)
        return self._weights.unless_changed(found)

    def gradient(self, prompt: Asked, answers: Sequence[Sequence[int]]) -> Slopes:
        """Return rewards of `answers` and their gradients with respect to one-hot answer tokens."""
        from rmaudit.scoring import gradient

        slot, ids = self.slot(prompt), [self.ids(answer) for answer in answers]
        scorer = self.weights(slot.prefix, slot.suffix, len(ids)).scorer
        found = gradient.slopes(scorer, slot.prefix, ids, slot.suffix, name=self.name)
        return self._weights.unless_changed(found)

    # Its weights

    def weights(self, prefix: Ids, suffix: Ids, answers: int = 0) -> Weights:
        """Return the weights, loaded and checked. See `CheckpointWeights.get`."""
        return self._weights.get(prefix, suffix, answers)

    def close(self) -> None:
        """Free the weights; the next score loads them again."""
        self._weights.close()


def _rows(spec: ModelSpec, cache: Path) -> CheckpointRows:
    checked = head_detection.find(spec, cache)
    if not checked.is_here:
        refuse_misfits(CheckpointRows(checked, cache))  # whose errors cost no download
    return CheckpointRows(checked.downloaded(), cache)
