"""Load a checkpoint's weights at the first use, checked, and refuse them once a file changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rmaudit.checkpoints import file_hashes
from rmaudit.errors import ModelError
from rmaudit.layout.answer_slot import Ids
from rmaudit.models.checkpoint_rows import CheckpointRows

if TYPE_CHECKING:
    from rmaudit.models.forward_parity_check import PathChecks
    from rmaudit.models.own_forward import Weights

T = TypeVar("T")


class CheckpointWeights:
    """A checkpoint's weights, which the rewordings of a judge share; nothing is loaded yet.

    Attributes:
        loaded: the weights; None before they are loaded, and once they are freed.
    """

    def __init__(self, rows: CheckpointRows, device: str) -> None:
        """Take the checkpoint; `device` is "auto", "spread" or a torch device name."""
        self._rows, self._device, self._name = rows, device, rows.spec.name
        self.loaded: Weights | None = None
        self._files: file_hashes.States = {}  # as they were when they were last loaded
        self._tried: dict[int, PathChecks] = {}  # by the prefix's length
        self._warned = False  # whether the user was warned that the pad token ends turns

    def get(self, prefix: Ids, suffix: Ids, answers: int = 0) -> Weights:
        """Return the weights, loaded if need be; check scoring if just loaded or if `answers` > 0.

        Weights in memory are not loaded again. The check compares rewards with the model's own
        forward pass, for test answers between `prefix` and `suffix`. It is made again if `answers`
        (a number above 0) are to be scored after a prefix of a new length: on every kind of id for
        `forward_parity_check.MANY` answers or more, on a few rows for fewer.

        Raises:
            ModelError: the weights cannot be loaded, rmaudit's rewards are not the model's own, or
                a file was written to since it was hashed.
        """
        from rmaudit.models import forward_parity_check, transformers_loader

        if (weights := self.loaded) is None:
            _ = self._rows.identity  # what is loaded must be what it says
            self._files = file_hashes.renewed(self._rows.hashed, self._rows.cache, model=self._name)
            weights = transformers_loader.load(self._rows, self._device)
            file_hashes.refuse_changed(self._files, model=self._name)
            self._tried = {}
            self._check(weights, prefix, suffix, every=True)
            self.loaded = weights
        elif answers:
            every = answers >= forward_parity_check.MANY
            self._check(weights, prefix, suffix, every=every)
        ends_turns = suffix and suffix[-1] == weights.scorer.pad
        if self._rows.spec.pool == "auto" and ends_turns and not self._warned:
            forward_parity_check.warn_of_pad(suffix[-1], name=self._name)
            self._warned = True
        return weights

    def _check(self, weights: Weights, prefix: Ids, suffix: Ids, *, every: bool) -> None:
        """Check scoring on all test answers if `every`, else on four, unless that was done before.

        Rewards are compared with those of the model's own forward pass. With `every`, every kind of
        id is tried, once for each length of prefix. Without it, four rows are tried, and an earlier
        check at a similar length is enough: texts have hundreds of lengths.
        """
        from rmaudit.models.forward_parity_check import check, length_class

        length, tried = len(prefix), self._tried
        if length in tried and (tried[length].every or not every):
            return
        if not every and length_class(length) in map(length_class, tried):
            return
        try:
            tried[length] = check(
                weights,
                prefix,
                suffix,
                name=self._name,
                dtype=self._rows.dtype,
                edges=self._rows.edges,
                every=every,
                sd=max((each.sd for each in tried.values()), default=0.0),
            )
        except ModelError:
            self.unless_changed(None)  # the reason, where a file was written to
            raise

    def unless_changed(self, computed: T) -> T:
        """Return `computed`, or free the weights and raise if a checkpoint file has changed.

        It compares the files with what they were when the weights were loaded. The next score loads
        these again if the files hold the same bytes as when they were hashed.

        Raises:
            ModelError: a file was written to since it was hashed, or is gone.
        """
        try:
            file_hashes.refuse_changed(self._files, model=self._name)
        except ModelError:
            self.close()
            raise
        return computed

    @property
    def loose_check(self) -> str:
        """Return why rewards were not checked in float32; "" if they were, or need not be."""
        return next((each.loosely for each in self._tried.values() if each.loosely), "")

    def close(self) -> None:
        """Free the weights; the next use loads them again."""
        if self.loaded is not None:
            from rmaudit.scoring import memory_sized_batches

            self.loaded = None
            memory_sized_batches.release()
