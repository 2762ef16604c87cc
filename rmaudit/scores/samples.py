"""Samples of a policy's whole answers, several to a prompt, and how a model rewards them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rmaudit.scores import answer_files
from rmaudit.scores.answer_files import ASKED, Answered
from rmaudit.scores.stored_scores import checksum

BUNDLED = Path(__file__).parents[1] / "references" / "samples" / "answers.jsonl"


@dataclass(frozen=True, slots=True)
class Samples(Answered):
    """Answers of a policy, and how a model rewards them: what an audit is given.

    Attributes:
        frame: a row for each answer, in the file's order. `prompt`, `turns` (of a conversation, in
            JSON, else ""), `response`, and `reward`, float32 in the model's own units: NaN before
            anything is scored. A line of the file may be there twice: both were drawn.
        source: where they come from, in words.
        noise: the numeric noise of a reward, in the same units; NaN if it was not measured.
        key: of the rewards in the store.
    """


def read(path: Path | None) -> Samples:
    """Return the samples of a JSON Lines file without rewards, the bundled ones if it is None.

    Raises:
        SpecError: as `answer_files.read`.
    """
    found = answer_files.read(path or BUNDLED)[[*ASKED, "response"]]
    name = path.name if path else "SmolLM2-135M-Instruct, bundled"
    prompts = len(found[ASKED].drop_duplicates())
    to = "1 prompt" if prompts == 1 else f"{prompts:,} prompts"
    source = f"{len(found):,} answers to {to} of {name}, {checksum(found)[:12]}"
    return Samples(found.assign(reward=float("nan")), source)
