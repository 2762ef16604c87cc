"""A reward model from a checkpoint folder or hub id: its weights load at the first score.

Opening one reads the tokenizer and the safetensors headers only, so a run that finds every sweep in
the cache loads no weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints import checkpoint_source, file_hashes, head_detection
from rmaudit.checkpoints.heads.linear import AsTheyAre
from rmaudit.config.model_registry import Dtype, ModelSpec
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError, SpecError
from rmaudit.layout import layouts
from rmaudit.layout.answer_slot import Ids, Response, refuse_text
from rmaudit.models.cached_token_rows import Rows
from rmaudit.models.external_scorer_batches import Progress, unwatched
from rmaudit.models.model_interfaces import LOOSELY, RewardModel, Scored, versions_and_machine
from rmaudit.models.transformers_loader import Native
from rmaudit.scoring import Begun, Head, waited_for

if TYPE_CHECKING:
    from rmaudit.checkpoints.adapter_files import Adapter
    from rmaudit.models.forward_parity_check import PathChecks
    from rmaudit.models.loaded_weights import Weights
    from rmaudit.scoring.gradient import Slopes

_RUN_AGAIN = 128  # ids of a prompt that cost less than calls of its own on a CPU

T = TypeVar("T")


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


@dataclass(slots=True)
class InMemory:
    """A checkpoint's loaded weights, which the rewordings of a judge share.

    Attributes:
        weights: the loaded weights; None before they are.
        tried: the results of comparing rewards with the model's own forward, by prefix length.
        warned: whether the user was warned that the pad token ends turns.
    """

    weights: Weights | None = None
    tried: dict[int, PathChecks] = field(default_factory=dict)
    warned: bool = False


class Checkpoint(RewardModel):
    """A reward model from a checkpoint folder or hub id; its weights load at the first score.

    See `RewardModel` for the members.
    """

    def __init__(
        self,
        spec: ModelSpec,
        *,
        cache: Path,
        device: str = "auto",
        loader: Native | None = None,
        memory: InMemory | None = None,
    ) -> None:
        """Find and check the checkpoint, unless a `loader` has.

        `device` is "auto", "spread" or a torch device name. A given `loader` is used as it is; its
        weights need not be on this machine if the model is inspected and not scored. `memory` holds
        the weights that another reading of the same checkpoint shares.

        Raises:
            ModelError: it cannot be had, or is no reward model that rmaudit can score.
        """
        self.spec, self.cache, self.device = spec, cache, device
        self.loader = loader or _loader(spec, cache)
        self.rows = Rows(self.loader, spec.name, cache)
        self._memory = memory or InMemory()
        # As they were when they were opened, and then when they were last loaded.
        self._files = file_hashes.states([] if loader else self.loader.files())

    def with_head(self) -> Checkpoint:
        """Return the model itself, since it has a head."""
        return self

    def sibling(self, spec: ModelSpec) -> Checkpoint | None:
        """Return the judge of another entry, with another template; both share the weights.

        None if its verdict is another.

        Raises:
            ModelError: its tokenizer or template cannot be read.
        """
        other = Checkpoint(spec, cache=self.cache, device=self.device, memory=self._memory)
        return other if other.identity["verdict"] == self.identity["verdict"] else None

    @property
    def adapter(self) -> Adapter | None:
        """Return the adapter that is merged into the weights; None if there is none."""
        return self.loader.checked.adapter

    def with_adapter(self, adapter: Adapter) -> Checkpoint:
        """Return the same model with `adapter` merged into its base in place of its own."""
        loader = Native(replace(self.loader.checked, adapter=adapter), self.cache)
        return Checkpoint(self.spec, cache=self.cache, device=self.device, loader=loader)

    # What it is

    @cached_property
    def identity(self) -> dict[str, str]:
        """Return hashes of weights and tokenizer, and the settings that change a reward."""
        _ = self._hashed  # first: a file that changes between the two is refused at the load
        return {**self.loader.hashes(self.cache), **self.loader.settings}

    @cached_property
    def _hashed(self) -> file_hashes.Stamp:
        """Return the files' hashes and states; raise if one changed since the model was opened."""
        found = file_hashes.stamp(self.loader.files(), self.cache)
        file_hashes.refuse_changed(self._files, model=self.name)
        return found

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return source, versions, layers, `ScoringPath`, device and machine, for the report."""
        import torch

        loaded, loader = self._memory.weights, self.loader
        commit = checkpoint_source.commit_of(loader.folder)
        return {
            "source": self.spec.source,
            **({"revision": commit} if commit else {}),
            **loader.provenance,
            "layers": int(loader.defaults.get_text_config().num_hidden_layers),
            "path": loader.settings["path"] if loaded is None else str(loaded.scorer.path),
            **({LOOSELY: reason} if (reason := self._loose_check) else {}),
            "device": self.device if loaded is None else loaded.device,
            **versions_and_machine(),
            "threads": torch.get_num_threads(),
        }

    @property
    def _loose_check(self) -> str:
        """Return why rewards were not checked in float32; "" if they were, or need not be."""
        tried = self._memory.tried.values()
        return next((each.loosely for each in tried if each.loosely), "")

    # Its rewards

    def score(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each response to the prompt, shape (n,). See `RewardModel`."""
        return waited_for(self.begin(prompt, responses, on_progress=on_progress))

    def score_each(
        self,
        prompts: Sequence[Asked],
        responses: Sequence[str],
        *,
        on_progress: Progress = unwatched,
    ) -> NDArray[np.float32]:
        """Return the reward of each response to its own prompt, shape (n,). See `RewardModel`.

        A call of its own for every prompt is slow if prompts have few answers. Where it costs less
        to run the prompt again for each answer, whole rows (prompt and answer) are scored: the
        prefix that all share runs once, and rows of one length are one batch, whatever their
        prompts.
        """
        begin = partial(self.begin, on_progress=on_progress)
        return self._each(
            prompts, responses, begin, partial(self.begin_rows, on_progress=on_progress)
        )

    def states(
        self,
        prompts: Sequence[Asked],
        responses: Sequence[Response],
        *,
        on_progress: Progress = unwatched,
    ) -> NDArray[np.float32]:
        """Return the state that the head reads of each response to its own prompt, (n, hidden).

        Raises as `score`.
        """
        begin = partial(self._begin, on_progress=on_progress, head=AsTheyAre())
        rows = partial(self._begin_rows, on_progress=on_progress, head=AsTheyAre())
        return self._each(prompts, responses, begin, rows)

    def _each(
        self,
        prompts: Sequence[Asked],
        responses: Sequence[Response],
        begin: Callable[[Asked, Sequence[Response]], Begun],
        begin_rows: Callable[[Sequence[Ids]], Begun],
    ) -> NDArray[np.float32]:
        """Return what `begin` and `begin_rows` give for each response to its own prompt."""
        refuse_text(responses)
        places: dict[Asked, list[int]] = {}
        for place, prompt in enumerate(prompts):
            places.setdefault(prompt, []).append(place)
        slots = {prompt: self.slot(prompt) for prompt in places}
        shared = len(layouts.split_shared_prefix([slot.prefix for slot in slots.values()])[0])
        order: list[int] = []
        found: list[NDArray[np.float32]] = []
        whole: list[int] = []
        for at, (prompt, own) in enumerate(places.items()):
            again = (len(own) - 1) * (len(slots[prompt].prefix) - shared)
            if at and shared and again <= self._most_run_again():
                whole += own
            else:  # the first one loads the weights, which tell whether whole rows will do
                given = [responses[place] for place in own]
                found.append(waited_for(begin(prompt, given)))
                order += own
        if whole:
            asked = [slots[prompts[place]] for place in whole]
            ids = self._ids_of([responses[place] for place in whole])
            rows = [
                (*slot.prefix, *own, *slot.suffix) for slot, own in zip(asked, ids, strict=True)
            ]
            found.append(waited_for(begin_rows(rows)))
            order += whole
        if not found:
            return np.empty(0, dtype=np.float32)
        together = np.concatenate(found)
        scores = np.empty_like(together)
        scores[order] = together
        return scores

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
        scorer = None if self._memory.weights is None else self._memory.weights.scorer
        if scorer is None or scorer.head.reads_prefix or scorer.first:
            return -1
        return max(_RUN_AGAIN, scorer.ids_of_a_start())

    def begin(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
    ) -> Begun:
        """Start `score`; return the rewards or, on a GPU, a function that waits for them."""
        return self._begin(prompt, responses, on_progress)

    def _begin(
        self,
        prompt: Asked,
        responses: Sequence[Response],
        on_progress: Progress,
        head: Head | None = None,
    ) -> Begun:
        refuse_text(responses)
        slot = self.slot(prompt)
        answers = [self.ids(response) for response in responses]
        return self._begin_answers(
            slot.prefix, answers, slot.suffix, slot.suffix, on_progress, head
        )

    def gradient(self, prompt: Asked, answers: Sequence[Sequence[int]]) -> Slopes:
        """Return rewards of `answers` and their gradients with respect to one-hot answer tokens."""
        from rmaudit.scoring import gradient

        slot, ids = self.slot(prompt), [self.ids(answer) for answer in answers]
        scorer = self.weights(slot.prefix, slot.suffix, len(ids)).scorer
        found = gradient.slopes(scorer, slot.prefix, ids, slot.suffix, name=self.name)
        return self._unless_changed(found)

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
        return self._begin_rows(rows, on_progress)

    def _begin_rows(
        self, rows: Sequence[Ids], on_progress: Progress, head: Head | None = None
    ) -> Begun:
        prefix, rests = self.rows.split(rows)
        checked = rests[0] if rests else ()
        return self._begin_answers(prefix, rests, (), checked, on_progress, head)

    def answers_a_call(self, prompt: Asked) -> int:
        """Return how many one-token answers fill one forward pass; 0 before the weights load."""
        if (weights := self._memory.weights) is None:
            return 0
        slot = self.slot(prompt)
        return weights.scorer.rows_a_call(len(slot.prefix), 1 + len(slot.suffix))

    def _begin_answers(  # noqa: PLR0913, PLR0917  (what a row is made of, and how it is run)
        self,
        prefix: Ids,
        answers: Sequence[Ids],
        suffix: Ids,
        checked_suffix: Ids,
        on_progress: Progress,
        head: Head | None,
    ) -> Begun:
        """Check scoring with `checked_suffix`; start it for answers between `prefix` and `suffix`.

        All are token ids. The result is that of `begin`, or what another `head` gives.
        """
        from rmaudit.scoring import engine

        scorer, name = self.weights(prefix, checked_suffix, len(answers)).scorer, self.name
        if head is not None:
            scorer = replace(scorer, head=head)
        begun = engine.begin(scorer, prefix, answers, suffix, on_progress=on_progress, name=name)
        if callable(begun):
            return lambda: self._unless_changed(begun())
        return self._unless_changed(begun)

    def own_rewards(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """Return each row's reward, (n,), by the model's own forward pass on that row alone."""
        if not rows:
            return np.empty(0, dtype=np.float32)
        return self._unless_changed(self.weights(rows[0][:-1], ()).own_rewards(rows))

    # Its weights

    def weights(self, prefix: Ids, suffix: Ids, answers: int = 0) -> Weights:
        """Return the weights, loaded if need be; check scoring if just loaded or if `answers` > 0.

        Weights in memory are not loaded again. The check compares rewards with the model's own
        forward pass, for test answers between `prefix` and `suffix`. It is made again if `answers`
        (a number above 0) are to be scored after a prefix of a new length: on every kind of id for
        `forward_parity_check.MANY` answers or more, on a few rows for fewer.

        Raises:
            ModelError: the weights cannot be loaded, rmaudit's rewards are not the model's own, or
                a file was written to since it was hashed.
        """
        from rmaudit.models import forward_parity_check

        memory = self._memory
        if memory.weights is None:
            _ = self.identity  # what is loaded must be what it says
            self._files = file_hashes.renewed(self._hashed, model=self.name).states
            loaded = self.loader.load(self.device)
            file_hashes.refuse_changed(self._files, model=self.name)
            memory.tried = {}
            self._check_scoring(loaded, prefix, suffix, every=True)
            memory.weights = loaded
        elif answers:
            self._check_scoring(
                memory.weights,
                prefix,
                suffix,
                every=answers >= forward_parity_check.MANY,
            )
        weights = memory.weights
        ends_turns = suffix and suffix[-1] == weights.scorer.pad
        if self.spec.pool == "auto" and ends_turns and not memory.warned:
            forward_parity_check.warn_of_pad(suffix[-1], name=self.name)
            memory.warned = True
        return weights

    def _unless_changed(self, computed: T) -> T:
        """Return `computed`, or free the weights and raise if a checkpoint file has changed.

        It compares the files with what they were when the weights were loaded. The next score loads
        these again if the files hold the same bytes as when they were hashed.

        Raises:
            ModelError: a file was written to since it was hashed, or is gone.
        """
        try:
            file_hashes.refuse_changed(self._files, model=self.name)
        except ModelError:
            self.close()
            raise
        return computed

    def _check_scoring(self, weights: Weights, prefix: Ids, suffix: Ids, *, every: bool) -> None:
        """Check scoring on all test answers if `every`, else on four, unless that was done before.

        Rewards are compared with those of the model's own forward pass. With `every`, every kind of
        id is tried, once for each length of prefix. Without it, four rows are tried, and an earlier
        check at a similar length is enough: texts have hundreds of lengths.
        """
        from rmaudit.models import forward_parity_check

        length, tried = len(prefix), self._memory.tried
        if length in tried and (tried[length].every or not every):
            return
        if not every and forward_parity_check.length_class(length) in map(
            forward_parity_check.length_class, tried
        ):
            return
        try:
            tried[length] = forward_parity_check.check(
                weights,
                prefix,
                suffix,
                name=self.name,
                dtype=self.loader.dtype,
                edges=self.rows.edges,
                every=every,
                sd=max((each.sd for each in tried.values()), default=0.0),
            )
        except ModelError:
            self._unless_changed(None)  # the reason, where a file was written to
            raise

    def close(self) -> None:
        """Free the weights; the next score loads them again."""
        if self._memory.weights is not None:
            from rmaudit.scoring import memory_sized_batches

            self._memory.weights = None
            memory_sized_batches.release()


def _loader(spec: ModelSpec, cache: Path) -> Native:
    checked = head_detection.find(spec, cache)
    if not checked.is_here:
        Native(checked, cache).refuse_misfits()  # whose errors cost no download
    return Native(checked.downloaded(), cache)
