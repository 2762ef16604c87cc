"""Hold the inputs of one audit as it runs (`Case`): model, prompts, settings, and what it used."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import SpecError
from rmaudit.prompts import Prompt, label
from rmaudit.runs.run_options import RunOptions
from rmaudit.runs.run_scores import Request, Scores
from rmaudit.verdicts.audit_declaration import Declaration

if TYPE_CHECKING:
    from rmaudit.models.model_interfaces import Scored
    from rmaudit.scores.first_token_logprobs import Logprobs
    from rmaudit.scores.score_store import Store
    from rmaudit.scores.sweep_result import Sweep

_Made = TypeVar("_Made")
SEARCHED = RunOptions().search  # sequences that a search scores, unless a run says otherwise


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings that all audits of a run share: its options (`asked`), and what they name.

    `cache` is the folder of scores, searches and built models, `words` what all audits of the run
    name and a sample of the vocabulary has beside its ids, `baseline` the model to compare with.
    Scores are kept in `store`, or else in `cache`. `own_words` are the run's prompts, lexicons and
    language. `watched` is a context in which progress may be shown. `on_request` is told what an
    audit asks of a model, before it is answered.
    """

    cache: Path
    asked: RunOptions = field(default_factory=RunOptions)
    words: tuple[str, ...] = ()
    baseline: ModelSpec | None = None
    store: Store | None = None
    own_words: OwnWords = field(default_factory=OwnWords)
    watched: Callable[[], AbstractContextManager[None]] = nullcontext
    on_request: Callable[[Scored, Request], None] | None = None

    @property
    def scores(self) -> Scores:
        """Return what answers the questions of audits: from the store, or by scoring."""
        return Scores(self.store or self.cache, self.asked.device, self.watched, self.on_request)


@dataclass(frozen=True, slots=True)
class Audited:
    """What a test item audits: the declared audit, its model and its prompts."""

    declaration: Declaration
    spec: ModelSpec
    prompts: tuple[Prompt, ...]

    @property
    def prompt(self) -> str:
        """Return the prompt's name, or the label of several prompts, as the finding shows it."""
        return label(self.prompts)

    @property
    def as_declared(self) -> bool:
        """Return whether the prompts are the audit's own, and not those of the run."""
        return self.prompts in self.declaration.runs


@dataclass(slots=True)
class Memory:
    """Data that the audits of a run share and make only once: sweeps, and whatever `once` makes."""

    sweeps: dict[tuple[ModelSpec, Prompt, tuple[str, ...]], Sweep] = field(default_factory=dict)
    made: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, place: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return what `make` returns; at the same `place` it is called once a run."""
        if place not in self.made:
            self.made[place] = make()
        found: _Made = self.made[place]
        return found


@dataclass(slots=True)
class Case:
    """Inputs of one audit (model, prompts, settings), and the score keys and caveats it collects.

    Attributes:
        audit: the name of the audit's function.
        words: the words that a sample of the vocabulary must have for this audit.
        pairs: the file of pairs that the audit declares, "" without one.
        on_sweep: told each sweep of the run when it is there, before any audit has it.
        keys: the keys of the stored scores that were handed out, in order.
        caveats: sentences about what was handed out, in order.
        of_words: whether a sweep that was handed out is of published words, no vocabulary.
        after: what is to be done once the audit has run.
    """

    audit: str
    model: Scored
    prompts: tuple[Prompt, ...]
    joint: bool
    words: tuple[str, ...]
    options: RunSettings
    memory: Memory
    on_sweep: Callable[[Sweep], None] = lambda _: None
    keys: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    of_words: bool = False
    pairs: str = ""
    after: ExitStack = field(default_factory=ExitStack)

    @property
    def prompt(self) -> Prompt:
        """Return the audit's only prompt; raise `SpecError` for an audit joint over prompts."""
        return single(self.prompts, self.audit, joint=self.joint)

    def logprobs(self, whose: Literal["base", "policy"], prompt: Prompt) -> Logprobs:
        """Return those of the model's base or policy, read once a run. Raises as `Scores.base`."""
        scores, place = self.options.scores, (whose, self.model.spec, prompt)
        ask = scores.base if whose == "base" else scores.policy
        return self.memory.once(place, lambda: ask(self.model, prompt))

    def sweep(self, model: Scored, prompt: Prompt) -> Sweep:
        """Return a model's sweep (each token's reward) under a prompt; add its caveats to the case.

        A model is scored once in a run under each prompt. All audits share one sample, which has
        the words that any of them names; this audit is given the drawn tokens and its own words'.

        Raises:
            RmauditError: it cannot be made, or is not recorded.
        """
        from rmaudit.scores.token_sample import installed_entries

        sample, seed = self.options.asked.sample, self.options.asked.seed
        known, own = self.memory.sweeps, self.options.own_words
        words = installed_entries((*self.options.words, *self.words), own) if sample else ()
        place = (model.spec, prompt, words)
        if place not in known:
            known[place] = self.options.scores.sweep(
                model, prompt, sample=sample, seed=seed, words=words, own_words=own
            )
            self.on_sweep(known[place])
        found = known[place].naming(self.words, own) if sample else known[place]
        self.caveats.extend(found.caveats)
        self.of_words |= found.of_words
        return found


def single(prompts: tuple[Prompt, ...], audit: str, *, joint: bool) -> Prompt:
    """Return the only prompt of the audit with this name; raise if it is joint over several.

    Raises:
        SpecError: the audit is joint.
    """
    if joint:
        message = (
            f"{audit} is joint over its prompts, so it has no single one: take `sweeps`, and name "
            f"a prompt to `rewards`"
        )
        raise SpecError(message)
    return prompts[0]


def opened(spec: ModelSpec, options: RunSettings) -> Scored:
    """Open the model of a registry entry, or only its published scores if the run asks for them.

    Raises:
        RmauditError: the model cannot be opened.
    """
    from rmaudit.models.model_factory import Opening
    from rmaudit.models.model_factory import opened as at_hand

    asked = options.asked
    return at_hand(
        replace(spec, policy=asked.policy) if asked.policy and not asked.recorded else spec,
        Opening(options.cache, asked.device, asked.dtype, options.own_words, asked.recorded),
    )
