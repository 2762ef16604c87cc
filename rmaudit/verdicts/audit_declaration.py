"""Declare audits by `@audit`, which stores a claim, bound and prompts with its test function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from rmaudit.errors import SpecError
from rmaudit.prompts import ALL, Prompt
from rmaudit.prompts import declared as prompts_of
from rmaudit.verdicts.estimates_and_bounds import Bound, Severity
from rmaudit.verdicts.findings import Claim, title_of

# Fixtures whose answers have prompts of their own.
WITH_PROMPTS = frozenset(
    {"pairs", "probes", "wordings", "samples", "fresh", "conduct", "same_worth"}
)
UNBOUNDED = Bound(None, None, "")  # a figure's
_NO_PROMPT = "an audit needs a list of at least one prompt, got prompts"
_ATTRIBUTE = "__rmaudit__"
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declaration:
    """Declaration of an audit: its name, and what `audit` was given; there is what each means.

    One whose `bound` is `UNBOUNDED` is a figure: it is measured and shown, and nothing judges it.
    `pairs` is the absolute path of a file of pairs, "" without one. `named` are the prompts as they
    were given: a name may be one of the run's own, which is known only when the run reads the
    declaration (`declared`).
    """

    name: str
    claim: str
    source: str
    prompts: tuple[Prompt, ...]
    bound: Bound
    base_rate: str = ""
    words: tuple[str, ...] = ()
    joint: bool = False
    severity: Severity = Severity.CORE
    limits: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    fixed: str = ""
    pairs: str = ""
    costly: bool = False
    across_prompts: bool = False
    named: tuple[str | Prompt, ...] = field(default=(), repr=False, compare=False)
    title: str = ""
    question: str = ""
    harm: str = ""
    matters: str = ""
    family: str = ""
    brief: str = ""

    @property
    def figure(self) -> bool:
        """Return whether it is a figure, which has no bound and is not judged."""
        return self.bound == UNBOUNDED

    @property
    def runs(self) -> list[tuple[Prompt, ...]]:
        """Return the prompts of each measurement: all at once if `joint`, else one at a time.

        It is one empty tuple if the audit has no prompts, because its pairs have their own.
        """
        return self._runs(self.prompts)

    def _runs(self, prompts: tuple[Prompt, ...]) -> list[tuple[Prompt, ...]]:
        if not self.prompts:
            return [()]
        return [prompts] if self.joint else [(prompt,) for prompt in prompts]

    def instead(self, prompts: tuple[Prompt, ...]) -> list[tuple[Prompt, ...]]:
        """Return the prompts of each measurement on a run's `prompts`, or its own without any.

        A joint audit takes the prompts whose frames are among its own; if it has one prompt of each
        frame, the first of each. Where `refusal` gives a reason, `prompts` are used unchanged.
        """
        if not prompts:
            return self.runs
        if not self.joint or self.refusal(prompts):
            return self._runs(prompts)
        own = [prompt.frame for prompt in self.prompts]
        kept = [prompt for prompt in prompts if prompt.frame in own]
        if sorted(own) == [-1, 1]:
            kept = [next(prompt for prompt in kept if prompt.frame == frame) for frame in own]
        return [tuple(kept)]

    def refusal(self, prompts: tuple[Prompt, ...]) -> str:
        """Return why `prompts` cannot replace the prompts of the audit; "" if they can.

        An audit of pairs always uses the prompts of its pairs.
        """
        if self.fixed:
            return "" if set(prompts) <= set(self.prompts) else self.fixed
        frames = {prompt.frame for prompt in self.prompts}
        if self.joint and (missing := sorted(frames - {prompt.frame for prompt in prompts})):
            which = " and ".join(map(str, missing))
            return f"it compares prompts of the frames 1 and -1, and none of frame {which} is asked"
        return ""

    def claimed(self, **of: str) -> Claim:
        """Return the audit's claim about one model, under one prompt or several joined ones.

        `of` are the fields of `Claim` that an audit does not know: `model` (its name),
        `model_source`, `prompt`, `nodeid`, `repeat` and `weights`.
        """
        shared = {each.name for each in fields(Claim)} & {each.name for each in fields(self)}
        said: dict[str, Any] = {name: getattr(self, name) for name in shared}
        return Claim(audit=self.name, text=self.claim, **{"repeat": "", **said, **of})


def audit(  # noqa: PLR0913  (keyword-only)
    *,
    source: str,
    claim: str = "",
    bound: Bound | None = None,
    title: str = "",
    question: str = "",
    harm: str = "",
    matters: str = "",
    family: str = "",
    brief: str = "",
    prompts: Sequence[str | Prompt] = (),
    pairs: str | Path | None = None,
    base_rate: str = "",
    words: Sequence[str] = (),
    joint: bool = False,
    severity: Literal["core", "gate", "info"] = "core",
    limits: Sequence[str] = (),
    stops: Sequence[str] = (),
    fixed: str = "",
    costly: bool = False,
    across_prompts: bool = False,
) -> Callable[[_Function], _Function]:
    """Return a decorator that declares a test function as an audit.

    The function measures: it takes fixtures (`reward_model`, `prompt`, `sweep`, `rewards`,
    `base_logprobs`, `policies`, `references`, `rng`) and returns an `Estimate`. The plugin runs it
    for every model and prompt, judges the estimate by `bound` and records the finding. The function
    stays plain pytest.

    Without a `bound` the audit is a figure: it has a question and no claim, and what it measures is
    shown with its chart, without pass or fail.

    `title` names the audit for people, in two or three words; without one it is made from the
    function's name. `question` is the question that the audit answers, one plain sentence. `harm`
    says in another what a model that is trained on a reward that fails may do to people, and
    `matters` why a value where harm begins (`below(0.5, harm=1.0, ...)`) matters, in users' terms.
    They travel in the finding, so a report's reader sees them before the claim.

    `family` and `brief`, the claim in at most fifteen words, are its place and its row in the
    tables of docs/audits.md.

    With `joint` it runs once per model, over all the prompts: it takes `sweeps`, by the prompts'
    names, and names a prompt to `rewards`. Prompts are rmaudit's, by name, or one's own:
    `Prompt("kindest", "What, in one word, is the kindest thing ever?", +1)`. None are needed where
    the function takes `pairs` or `probes`, which have their own: those of the file `pairs`, JSON
    Lines of `prompt`, `chosen` and `rejected` (a path from the audit's own folder), or else of the
    run's `--rm-pairs`.

    A run passes if no audit shows harm and those of the `severity` "core" show that there is none.
    One of "gate" may leave that open; one of "info" never fails a run: it is measured, judged and
    shown.

    `words` matter to a run on a sample of the vocabulary (`--rm-sample`) only: the sweep then has
    tokens of these words besides. Each is a word, all of whose tokens are there, or
    "lexicon:labmt" and the like for a reference lexicon, of whose words some are drawn.
    An audit of the whole distribution names none.

    `base_rate` says where known models stand. It may be left out where rmaudit's own table of the
    ten published models has the audit and all of its prompts: else the plugin asks for it when it
    collects.

    `limits` say, a sentence each, what the audit does not show: a report prints them beside it.

    `stops` names the null controls that must not pass: scorers that know nothing of the claim
    (`rmaudit.runs.null_controls.NULLS`). The report names those that pass all the same.

    `fixed` is why `--rm-prompts` cannot ask this audit other prompts, in a few words: it is then
    not run, and says so.

    A `costly` audit needs so many scores of its own that a run leaves it out unless it is wanted:
    with `--rm-all`, or by the name of its file. It does not gate.

    Write `across_prompts=True` where the audit subtracts rewards of different prompts, or measures
    their spread over prompts. It is then not run of implicit rewards, and says so, for these are
    known up to a number for each prompt.

    Raises:
        SpecError: a figure has no question, or what only an audit with a bound has; one with a
            bound has no claim; a gate is costly; there is no prompt, or two have one name; the
            severity is none; or `words`, `limits` or `stops` is one string. The plugin checks the
            names of prompts, which may be those of a models.yaml, and each entry of `words` when
            it collects.
    """
    said = dict(locals())  # a declaration's fields; `declare` has those that differ
    for name in ("prompts", "bound", "severity", "pairs", "title", "brief"):
        del said[name]
    if isinstance(prompts, str):
        raise SpecError(f"{_NO_PROMPT}={prompts!r}")
    known = all(isinstance(each, Prompt) or each in ALL for each in prompts)
    asked = prompts_of(prompts) if known else ()
    if isinstance(words, str):
        raise SpecError(f"an audit's words are a list, got words={words!r}")
    if severity not in tuple(Severity):
        raise SpecError(f"unknown severity {severity!r}; known: {', '.join(Severity)}")

    judged: dict[str, object] = {
        "claim": claim,
        "harm": harm,
        "matters": matters,
        "family": family,
        "brief": brief,
    }
    judged |= {"base_rate": base_rate, "severity": severity != "core"}
    judged |= {"stops": stops}
    _refuse_half_a_figure(bound, question, judged)
    if costly and bound is not None and severity != "info":
        raise SpecError(
            "a costly audit is left out of most runs, so it does not gate: give severity='info', "
            "or no bound"
        )
    if isinstance(limits, str):
        raise SpecError(f"an audit's limits are a list of sentences, got limits={limits!r}")
    if isinstance(stops, str):
        raise SpecError(f"an audit's stops are a list of null controls, got stops={stops!r}")

    said |= {name: tuple(said[name]) for name in ("words", "limits", "stops")}

    def declare(function: _Function) -> _Function:
        name = function.__name__.removeprefix("test_")
        if not prompts and not WITH_PROMPTS & set(inspect.signature(function).parameters):
            raise SpecError(f"{_NO_PROMPT}={prompts!r}; or take the fixture pairs or probes")
        declaration = Declaration(
            **said,
            name=name,
            prompts=asked,
            bound=bound or UNBOUNDED,
            severity=Severity(severity) if bound else Severity.INFO,
            pairs=str(_folder(function) / pairs) if pairs else "",
            named=tuple(prompts),
            title=title or title_of(name),
            brief=brief or claim,
        )
        setattr(function, _ATTRIBUTE, declaration)
        return function

    return declare


def _refuse_half_a_figure(bound: Bound | None, question: str, judged: Mapping[str, object]) -> None:
    """Raise `SpecError` for a figure with what is `judged`, or no question; or without a claim."""
    if bound is None and (given := [name for name, value in judged.items() if value]):
        message = f"an audit without a bound is a figure, which has no {given[0]}"
        raise SpecError(f"{message}: give a bound, or leave that out")
    if not (judged["claim"] if bound else question):
        raise SpecError("an audit with a bound needs a claim, a figure needs a question")


def _folder(function: Callable[..., Any]) -> Path:
    """Return the folder of the file that defines an audit; the current one for a notebook cell."""
    file = Path(inspect.getfile(function))
    return file.parent.absolute() if file.is_file() else Path.cwd()


def is_audit(function: object) -> bool:
    """Return whether the function was declared as an audit."""
    return isinstance(getattr(function, _ATTRIBUTE, None), Declaration)


def declared(function: object, own: Mapping[str, Prompt] | None = None) -> Declaration | None:
    """Return a function's `Declaration`, with prompts by name from `own` too; None if no audit.

    `own` are the user's prompts of this run, by name.

    Raises:
        SpecError: a name of a prompt is unknown, or stands for two prompts.
    """
    found = getattr(function, _ATTRIBUTE, None)
    if not isinstance(found, Declaration):
        return None
    if own or (found.named and not found.prompts):
        return replace(found, prompts=prompts_of(found.named, own or {}))
    return found
