"""What an audit of a model is given: each function makes one fixture from the audit's case.

The registry of fixtures (`rmaudit.organisms.fixtures`) names them. Their docstrings are what
`pytest --fixtures` shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.config.registry import Dtype, ModelSpec
from rmaudit.errors import NotAsked, SpecError
from rmaudit.organisms.requests import Request, answer
from rmaudit.prompts import Prompt, label
from rmaudit.references import References

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from rmaudit.models.protocol import Scored
    from rmaudit.scores.logprobs import Logprobs
    from rmaudit.scores.probes import Probes
    from rmaudit.scores.store import Store
    from rmaudit.scores.sweep import Sweep
    from rmaudit.scores.texts import Rewards, TextScores
    from rmaudit.search.api import SearchResult
    from rmaudit.search.for_audits import Searches
    from rmaudit.search.settings import Direction


SEARCHED = 2000  # sequences that a search scores, unless told otherwise


@dataclass(frozen=True, slots=True)
class Options:
    """What a run says of all of its audits.

    Attributes:
        cache: the folder of scores, searches and built models.
        seed: seed of every random draw.
        sample: how many token ids are scored, None for the whole vocabulary.
        words: what all audits of the run name, and a sample of the vocabulary has beside them.
        device: where models run, as `rmaudit.load` takes it.
        dtype: what models run in, None for what the registry says.
        recorded: whether published scores are audited, without weights.
        baseline: the model to compare with, None where none is named.
        search: how many sequences a search may score, 0 for no searches.
        ledger: a file of strings that searches found elsewhere.
        pairs: a file of pairs of answers.
        store: where scores are kept, None for `cache`.
        on_request: told what an audit asks of a model, before it is answered.
    """

    cache: Path
    seed: int = 0
    sample: int | None = None
    words: tuple[str, ...] = ()
    device: str = "auto"
    dtype: Dtype | None = None
    recorded: bool = False
    baseline: ModelSpec | None = None
    search: int = SEARCHED
    ledger: Path | None = None
    pairs: Path | None = None
    store: Store | None = None
    on_request: Callable[[Scored, Request], None] = lambda *_: None

    @property
    def kept(self) -> Path | Store:
        """Where scores are kept."""
        return self.store or self.cache


@dataclass(slots=True)
class Memory:
    """What a run has read once: sweeps, the ledger before the run searched, and the baseline.

    `probes` are by the model's entry and the file of their pairs.
    """

    sweeps: dict[tuple[ModelSpec, Prompt, tuple[str, ...]], Sweep] = field(default_factory=dict)
    ledger: pd.DataFrame | None = None
    baseline: Scored | None = None
    probes: dict[tuple[ModelSpec, Path | None], Probes] = field(default_factory=dict)


@dataclass(slots=True)
class Case:
    """One audit of one model under its prompts, and what its finding will rest on.

    Attributes:
        audit: the name of the audit's function.
        words: the words that a sample of the vocabulary must have for this audit.
        pairs: the file of pairs that the audit declares, "" without one.
        watched: a context in which progress may be shown.
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
    options: Options
    memory: Memory
    watched: Callable[[], AbstractContextManager[None]] = nullcontext
    keys: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    of_words: bool = False
    pairs: str = ""
    after: ExitStack = field(default_factory=ExitStack)

    @property
    def prompt(self) -> Prompt:
        """The prompt of an audit that has one. Raises `SpecError` for a joint one."""
        return single(self.prompts, self.audit, joint=self.joint)

    def ask(self, model: Scored, request: Request) -> Any:  # noqa: ANN401  (by its kind)
        """What the model says to a request: see `requests.answer`."""
        self.options.on_request(model, request)
        with self.watched():
            return answer(request, model, self.options.kept, self.options.device)

    def sweep(self, model: Scored, prompt: Prompt) -> Sweep:
        """The sweep of a model under a prompt, made once in a run.

        A sample is one for all audits, with the words that any of them names; this one is given
        what was drawn and what its own words name.

        Raises:
            RmauditError: it cannot be made, or is not recorded.
        """
        from rmaudit.scores.sample import at_hand

        options, known = self.options, self.memory.sweeps
        words = at_hand((*options.words, *self.words)) if options.sample else ()
        place = (model.spec, prompt, words)
        if place not in known:
            size, seed = options.sample, options.seed
            known[place] = self.ask(
                model, Request(model.spec, prompt, "sweep", sample=size, seed=seed, words=words)
            )
        found = known[place].naming(self.words) if options.sample else known[place]
        self.caveats.extend(found.caveats)
        self.of_words |= found.of_words
        return found


def single(prompts: tuple[Prompt, ...], audit: str, *, joint: bool) -> Prompt:
    """The one prompt of the audit.

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


def opened(spec: ModelSpec, options: Options) -> Scored:
    """The model of a registry entry; one that is known by its published scores if so asked.

    Raises:
        RmauditError: it cannot be had.
    """
    from rmaudit.models.load_model import opened as at_hand
    from rmaudit.models.recorded import Recorded

    if options.recorded:
        return Recorded(spec)
    return at_hand(spec, cache=options.cache, device=options.device, dtype=options.dtype)


def sweep(case: Case) -> Sweep:
    """Every token id of the model, scored under the prompt; made once, then read from the cache.

    With `--rm-sample`, a sample of the ids, and one of the words that the audit names.
    """
    found = case.sweep(case.model, case.prompt)
    case.keys.extend(found.keys)
    return found


def sweeps(case: Case) -> dict[str, Sweep]:
    """The sweep under each prompt of a joint audit, by the prompt's name."""
    found = {prompt.name: case.sweep(case.model, prompt) for prompt in case.prompts}
    for each in found.values():
        case.keys.extend(each.keys)
    return found


def rewards(case: Case) -> Rewards:
    """A function from texts to their scores under the prompt, with their noise; cached too."""
    from rmaudit.scores.texts import Rewards, recorded_of

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        asked = Request(case.model.spec, prompt, "texts", texts=tuple(texts))
        scored: TextScores = case.ask(case.model, asked)
        case.keys.append(scored.key)
        case.caveats.extend(scored.caveats)
        return scored

    def known(texts: Sequence[str], prompt: Prompt) -> list[str]:
        return recorded_of(case.model, prompt, texts, cache=case.options.kept)

    return Rewards(case.prompts, score, known)


def base_logprobs(case: Case) -> pd.Series[float]:
    """By token id, how likely the model's base finds it as the answer; cached too.

    Skips the audit where models.yaml names no base, or with `--rm-recorded`.
    """
    found: Logprobs = case.ask(case.model, Request(case.model.spec, case.prompt, "base"))
    case.keys.append(found.key)
    return found.by_id


def references(case: Case) -> References:
    """Lexicons and human ratings, without what the model was trained on."""
    return References(salt=case.model.spec.trained_on)


def rng(case: Case) -> np.random.Generator:
    """A generator of this audit, model and prompt: neither order nor xdist changes its draws."""
    import numpy as np

    name = f"{case.audit}|{case.model.name}|{label(case.prompts)}"
    place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    return np.random.default_rng([case.options.seed, place])


def baseline_model(case: Case) -> Scored:
    """The model of `--rm-baseline`; without the option the audit is skipped."""
    spec, memory = case.options.baseline, case.memory
    if spec is None:
        raise NotAsked("no model to compare with; name one with --rm-baseline NAME")
    if memory.baseline is None:
        with case.watched():
            memory.baseline = opened(spec, case.options)
    # It is not to stay in memory next to the audited model; it loads again when it is asked.
    case.after.callback(memory.baseline.close)
    return memory.baseline


def baseline(case: Case) -> Sweep:
    """The sweep of the model of `--rm-baseline` under the same prompt; skipped without one."""
    prompt, other = case.prompt, baseline_model(case)
    found = case.sweep(other, prompt)
    said = f"Compared with {other.spec.name}: {other.spec.source}, scores {found.key[:12]}."
    case.caveats.append(said)
    return found


def searches(case: Case) -> Searches:
    """A function from a direction to what a search of the model found; cached too.

    Each search has the budget of `--rm-search`, and is held to the ids that score best alone where
    that is too small for the vocabulary; what it finds goes into the ledger. Skips the audit
    where that is 0, or with `--rm-recorded`.
    """
    from rmaudit.search import ledger as strings
    from rmaudit.search.for_audits import Searches, caveat, drawn, shortlisted
    from rmaudit.search.settings import Settings

    options = case.options
    if not options.search:
        message = f"searches are off (--rm-search 0); run them with --rm-search {SEARCHED}"
        raise NotAsked(message)
    model = case.model.with_weights("what a search would find is not recorded")
    _whole_ledger(case)  # before anything is added to it

    def find(direction: Direction, prompt: Prompt) -> SearchResult:
        plain = Settings(direction=direction, budget=options.search, seed=options.seed)
        settings = shortlisted(model, case.sweep(model, prompt).frame, plain)
        asked = Request(model.spec, prompt, "search", settings=settings)
        found: SearchResult = case.ask(model, asked)
        strings.remember(options.cache, found, model)
        case.keys.append(found.key)
        case.caveats.append(caveat(found))
        return found

    @once  # it is drawn for the model and for each null control
    def draw(n: int, prompt: Prompt) -> list[str]:
        return drawn(model, prompt, Settings(seed=options.seed), n)

    return Searches(case.prompts, find, draw)


def ledger(case: Case) -> pd.DataFrame:
    """The strings that searches found under the prompts, on any model but this: a row each.

    Columns as in `rmaudit.search.exploit_ledger`. They are those that are published, those of
    `--rm-ledger`, and what was found on this machine before this run, on earlier releases too.
    """
    from rmaudit.search.exploit_ledger import weights_of

    known = _whole_ledger(case)
    others = known["weights"] != weights_of(case.model)
    return known[
        known["prompt"].isin([prompt.name for prompt in case.prompts]) & others
    ].reset_index(drop=True)


def _whole_ledger(case: Case) -> pd.DataFrame:
    """The whole ledger as this run found it."""
    from rmaudit.search.exploit_ledger import ledger as read

    memory, options = case.memory, case.options
    if memory.ledger is None:
        memory.ledger = read(options.cache, options.ledger)
    return memory.ledger
