"""Log the rows that a trainer's model scores in an evaluation, and the rewards that it gives.

They are written as `rmaudit doctor NAME --against FILE` reads them, which then says whether the
saved model gives the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rmaudit.config.paths_and_atomic_writes import in_place_of
from rmaudit.errors import SpecError
from rmaudit.scores.reward_log_file import MOST


class SeenRows:
    """A log of the token ids that a model was given in evaluation mode, and their rewards.

    Only the first `MOST` rows of an evaluation are kept: the doctor reads no more.
    """

    def __init__(self, model: Any, path: Path) -> None:  # noqa: ANN401  (transformers')
        """Watch the forward passes of `model` from now on; nothing is written yet.

        Raises:
            SpecError: the folder of `path` does not exist.
        """
        if not path.parent.is_dir():
            message = f"rows={str(path)!r} of AuditCallback: there is no folder "
            raise SpecError(f"{message}{str(path.parent)!r}; make it, or name another file")
        self._path, self._rows, self._paused = path, list[str](), False
        model.register_forward_hook(self._note, with_kwargs=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Log no rows while the `with` block runs, such as the rows of an audit."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def write(self) -> None:
        """Write the logged rows to the file, in place of older ones, and empty the log."""
        if self._rows:
            with in_place_of(self._path) as own:
                own.write_text("\n".join([*self._rows, ""]), encoding="utf-8")
        self._rows.clear()

    def _note(self, model: Any, _: object, given: Mapping[str, Any], output: Any) -> None:  # noqa: ANN401  (torch's)
        ids, mask = given.get("input_ids"), given.get("attention_mask")
        if self._paused or model.training or ids is None or len(self._rows) >= MOST:
            return
        rewards = output.logits[..., 0].float().tolist()
        masks = [[1] * ids.shape[1]] * len(rewards) if mask is None else mask.tolist()
        for row, kept, reward in zip(ids.tolist(), masks, rewards, strict=True):
            real = [i for i, keep in zip(row, kept, strict=True) if keep]
            self._rows.append(json.dumps({"ids": real, "reward": reward}))
        del self._rows[MOST:]
