"""Run the gates on a reward head of R-Smol-135M, with scores made from cached hidden states.

Everything is as in `pytest audits --rm-baseline R-Smol-135M`, but for the backbone's work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from lab import organism
from lab.training.states import States
from rmaudit.config.model_registry import FILE, ModelSpec, load_registry
from rmaudit.conversation import Asked, as_text
from rmaudit.layout.answer_slot import Response
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import ALL, CUSTOM, PROMPTS, Prompt, label, name_of, prompt_named
from rmaudit.runs.audit_case import Case, Memory, RunSettings
from rmaudit.runs.audit_importer import audits_in
from rmaudit.runs.fixture_registry import FIXTURES
from rmaudit.runs.run_options import RunOptions
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Estimate

AUDITS = Path(__file__).parents[2] / "audits"
PROBES = ("love", "Peace", "war", "table", "Buddhist", "yard pytest dead", "The Beatles")
Gates = dict[str, dict[str, float | str]]


class FromStates(Checkpoint):
    """A built checkpoint whose scores are a reward head times cached hidden states.

    Its weights are never run, so the numeric noise (some 1e-6) is 0 here.
    """

    def __init__(
        self,
        spec: ModelSpec,
        states: States,
        cache: Path,
        head: NDArray[np.float32] | None = None,
    ) -> None:
        """Take the entry of R-Smol-135M or an organism, and another head, shape (hidden,)."""
        super().__init__(spec, cache=cache)
        if head is None:
            head = load_file(self.rows.folder / "model.safetensors")["score.weight"][0]
        self.head = head
        self.known = states

    def begin(
        self,
        prompt: Asked,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """Return the scores of responses; nothing is left to wait for (see `RewardModel.begin`)."""
        self.asked = self.slot(prompt), prompt
        rows = [self.ids(response) for response in responses]
        scores: NDArray[np.float32] = self.known.of(prompt_of(prompt), rows) @ self.head
        on_progress(len(rows))
        return scores

    def own_rewards(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """Return the scores of whole rows of token ids, of the prompt that was asked last."""
        slot, prompt = self.asked
        return self.score(
            prompt, [row[len(slot.prefix) : len(row) - len(slot.suffix)] for row in rows]
        )


def prompt_of(text: Asked) -> Prompt:
    """Return the prompt with this name or text; else a custom one, which asks for good things."""
    if not isinstance(text, str):
        return Prompt(CUSTOM, as_text(text), +1, text)
    name = text if text in ALL else name_of(text)
    return prompt_named(name) if name in ALL else Prompt(CUSTOM, text, +1)


def spec_of(name: str, cache: Path) -> ModelSpec:
    """Return the registry entry of an organism, whose checkpoint is built if need be."""
    return load_registry(organism.build(name, cache) / FILE).default


def probes(model: Checkpoint) -> dict[str, dict[str, float]]:
    """Return the model's scores of the texts in `PROBES`, by prompt and text."""
    return {
        name: dict(
            zip(PROBES, model.score(prompt.text, PROBES).astype(float).round(5), strict=True)
        )
        for name, prompt in PROMPTS.items()
    }


def gates(
    model: Checkpoint,
    baseline: Checkpoint,
    *,
    without: str = "",
    only: Collection[str] | None = None,
) -> Gates:
    """Return each gate's value, interval and verdict, by its name (and prompt, if several)."""
    found: Gates = {}
    for declared, prompts, estimate in estimates(model, baseline, without=without, only=only):
        of = label(prompts) if len(declared.runs) > 1 else ""
        ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
        rounded: dict[str, float | str] = {key: round(float(x), 4) for key, x in ends.items()}
        name = declared.name + (f"[{of}]" if of else "")
        found[name] = {**rounded, "verdict": str(declared.bound.judge(estimate))}
    return found


def estimates(
    model: Checkpoint,
    baseline: Checkpoint,
    *,
    without: str = "",
    only: Collection[str] | None = None,
) -> Iterator[tuple[Declaration, tuple[Prompt, ...], Estimate]]:
    """Run the gates; yield each one's declaration, prompts and estimate.

    `only` names the gates that run, None for all; `without` names one that does not.
    """
    with TemporaryDirectory() as cache:
        options = RunSettings(Path(cache), RunOptions(search=0), baseline=baseline.spec)
        memory = Memory()
        memory.once(("baseline", baseline.spec), lambda: baseline)
        for function, declared in audits_in(AUDITS).values():
            wanted = declared.name != without and (only is None or declared.name in only)
            if declared.severity.gates and wanted:
                for prompts in declared.runs:
                    case = Case(
                        *(function.__name__, model, prompts, declared.joint, declared.words),
                        *(options, memory),
                    )
                    yield declared, prompts, _measured(function, case)


def _measured(function: Callable[..., Estimate], case: Case) -> Estimate:
    takes = function.__annotations__.keys() - {"return"}
    with case.after:
        made = {name: FIXTURES[name].for_model for name in takes}
        return function(**{name: make(case) for name, make in made.items() if make})
