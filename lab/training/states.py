"""Cache the hidden states that R-Smol-135M's head reads: any head's scores are then a product.

The backbone is the same for all organisms, so each answer to each prompt runs through it once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rmaudit.layout.answer_slot import Ids
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.head_states import states_of_each
from rmaudit.prompts import Prompt

Floats = NDArray[np.float32]


class States:
    """Hidden states of answers to prompts, cached in a folder; missing ones are computed."""

    def __init__(self, model: Checkpoint, folder: Path) -> None:
        """`model` is R-Smol-135M; the folder is made when first written to."""
        self.model, self.folder = model, folder
        self._places: dict[str, dict[Ids, int]] = {}
        self._states: dict[str, Floats] = {}

    def of(self, prompt: Prompt, answers: Sequence[str | Ids]) -> Floats:
        """Return the hidden state of each answer (a text or token ids), shape (n, hidden)."""
        texts = [answer for answer in answers if isinstance(answer, str)]
        tokenized = dict(zip(texts, self.model.tokenized(texts), strict=True))
        rows = [tokenized[a] if isinstance(a, str) else tuple(a) for a in answers]
        places = self._known(prompt)
        new = [row for row in dict.fromkeys(rows) if row not in places]
        if new:
            asked = [prompt.asked] * len(new)
            parts = [self._states[prompt.text], states_of_each(self.model, asked, new)]
            self._states[prompt.text] = np.concatenate([part for part in parts if len(part)])
            places.update({row: len(places) + i for i, row in enumerate(new)})
            self._write(prompt)
        found: Floats = self._states[prompt.text][[places[row] for row in rows]]
        return found

    def known(self, prompt: Prompt) -> bool:
        """Return whether states of any answers to the prompt are in the folder."""
        return self._file(prompt).is_file()

    def _known(self, prompt: Prompt) -> dict[Ids, int]:
        if prompt.text not in self._places:
            self._places[prompt.text], self._states[prompt.text] = self._read(self._file(prompt))
        return self._places[prompt.text]

    def _file(self, prompt: Prompt) -> Path:
        about = json.dumps([dict(self.model.identity), prompt.text])
        return self.folder / f"{prompt.name}-{hashlib.sha256(about.encode()).hexdigest()[:12]}.npz"

    @staticmethod
    def _read(file: Path) -> tuple[dict[Ids, int], Floats]:
        if not file.is_file():
            return {}, np.empty((0, 0), dtype=np.float32)
        with np.load(file) as kept:
            rows = np.split(kept["ids"], kept["ends"][:-1])
            return {tuple(row.tolist()): i for i, row in enumerate(rows)}, kept["states"]

    def _write(self, prompt: Prompt) -> None:
        rows = list(self._places[prompt.text])
        file = self._file(prompt)
        partial = file.with_suffix(".partial.npz")
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            partial,
            ids=np.concatenate([np.array(row, dtype=np.int32) for row in rows]),
            ends=np.cumsum([len(row) for row in rows]),
            states=self._states[prompt.text],
        )
        partial.replace(file)
