"""Evidence and chart of `after_training`: a policy as it is trained more and more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from rmaudit.charts import Chart, Move, Moves, Points, row_of, table
from rmaudit.verdicts.evidence import Evidence

AT = 4.0  # nats: about best of 150
NATS = (0.5, 1.0, 2.0, AT, 8.0)
DRAWS = (4, 16, 64, 1024)
START = "as it is"
# Harms whose onset is measured, other than the kinds of unwanted words.
HAPPINESS, LETTERLESS = "happiness turns back", "answers without a letter"


@dataclass(frozen=True)
class Likely:
    """A word that becomes likely: its share of the answers before and after some training."""

    word: str
    before: float
    after: float


@dataclass(frozen=True)
class ListShare:
    """The share of a policy's answers that are words of the list of unwanted words `name`."""

    name: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The policy's answers to a prompt after some training, at a KL of `nats` from its start.

    `draws` is the n of best of n, and 0 for the optimum under a KL. `happiness` is the mean of the
    rated words, `variety` the effective number of words (e to the power of their entropy), `zipf`
    the mean Zipf frequency, `letterless` the share of answers without a letter, `listed` the shares
    of words that nobody wants, by what they are; `likely` are the likeliest words.
    """

    prompt: str
    draws: int
    nats: float
    happiness: float
    variety: float
    zipf: float
    letterless: float
    listed: tuple[ListShare, ...]
    likely: tuple[Likely, ...]

    @property
    def how(self) -> str:
        """Return the amount of training as text: "best of 16", "4 nats" or "as it is"."""
        if self.draws:
            return f"best of {self.draws:,}"
        return f"{self.nats:.3g} nats" if self.nats else START

    @property
    def in_chart(self) -> bool:
        """Return whether the static chart shows this stage; the page's simulator shows all."""
        if self.draws:
            return self.draws in DRAWS
        return any(abs(self.nats - nats) < 1e-6 for nats in (0.0, *NATS))  # noqa: PLR2004 (exact)


@dataclass(frozen=True)
class Onset:
    """The KL in nats at which a harm begins, with a 95 % interval, as far as training was traced.

    None says that the harm, or this end of its interval, is not within `traced` nats.
    """

    harm: str
    nats: float | None
    low: float | None
    high: float | None
    traced: float

    @property
    def how(self) -> str:
        """Return the onset as text: "2.3 nats [1.8, 3.1]" or "not within 16 nats"."""
        far = f"not within {self.traced:.3g} nats"
        low, high = (
            f"beyond {self.traced:.3g}" if x is None else f"{x:.2g}" for x in (self.low, self.high)
        )
        if self.nats is None:
            return far if self.low is None else f"{far} [{low}, {high}]"
        return f"{self.nats:.2g} nats [{low}, {high}]"


@dataclass(frozen=True, kw_only=True)
class AfterTrainingEvidence(Evidence):
    """The policy under each prompt, as it is and after more and more training; its harms' onsets.

    An onset is of the mean over prompts.
    """

    kind: Literal["after_training"] = "after_training"
    stages: tuple[Stage, ...]
    onsets: tuple[Onset, ...] = ()

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart: happiness by amount of training, and the words that become likely."""
        by_prompt: dict[str, list[Stage]] = {}
        for _, evidence in found:
            for stage in evidence.stages:
                if stage.in_chart:
                    by_prompt.setdefault(stage.prompt, []).append(stage)
        if not by_prompt:
            return None
        every = [own for stages in by_prompt.values() for stage in stages for own in stage.listed]
        lists = list(dict.fromkeys(own.name for own in every))
        onsets = [own for _, evidence in found for own in evidence.onsets]
        return Chart(
            "What training on this reward would make of the policy",
            "The policy's one-token answers as they are, at the best policy within so many nats of "
            "it (RLHF's optimum under a KL penalty), and as best of n picks them: exact sums over "
            "the whole vocabulary. A hollow dot is a word's share of the answers before, a full "
            f"one its share after {AT:g} nats.",
            (
                *(
                    panel
                    for prompt, stages in by_prompt.items()
                    for panel in _panels_of_training(prompt, stages)
                ),
                *panel_of_onsets(onsets),
            ),
            *table(
                {
                    **dict.fromkeys(("prompt", "training"), "text"),
                    **dict.fromkeys(("nats", "happiness", "variety", "Zipf"), ".2f"),
                    "without a letter": ".1%",
                    **dict.fromkeys(lists, ".2%"),
                    "share": ".3f",
                    "likeliest": "term",
                },
                [
                    *(
                        row
                        for stages in by_prompt.values()
                        for stage in stages
                        for row in _table_rows(stage, lists)
                    ),
                    *(
                        ("mean", f"{own.harm} begins at", own.how, *[""] * (6 + len(lists)))
                        for own in onsets
                    ),
                ],
            ),
        )


def panel_of_onsets(onsets: Sequence[Onset]) -> Iterator[Points]:
    """Yield a panel of the harms that begin within what was traced, if there are any."""
    begun = [each for each in onsets if each.nats is not None]
    if begun:
        traced = max(each.traced for each in begun)
        yield Points(
            title="where harm begins, in the mean over prompts",
            axis="nats of training",
            rows=tuple(
                row_of(
                    each.harm,
                    each.nats or 0.0,
                    each.low,
                    traced if each.high is None else each.high,
                )
                for each in begun
            ),
            domain=(0.0, traced),
        )


def _panels_of_training(prompt: str, stages: Sequence[Stage]) -> Iterator[Points | Moves]:
    yield Points(
        title=f"{prompt}: mean happiness of the answers",
        axis="labMT, 1 to 9",
        rows=tuple(row_of(each.how, each.happiness) for each in stages),
        zero=False,
    )
    moved = next(each for each in stages if each.how == f"{AT:g} nats").likely
    most = max(max(each.before, each.after) for each in moved)
    yield Moves(
        title=f"{prompt}: the likeliest words after {AT:g} nats",
        axis="share of the answers",
        rows=tuple(Move(each.word, each.before, each.after) for each in moved),
        ends=("before", "after"),
        domain=(0.0, 1.05 * most),
    )


def _table_rows(stage: Stage, lists: Sequence[str]) -> Iterator[tuple[object, ...]]:
    known = {own.name: own.share for own in stage.listed}
    shares = [known.get(name, "") for name in lists]
    first = (stage.how, stage.nats, stage.happiness, stage.variety, stage.zipf, stage.letterless)
    for place, each in enumerate(stage.likely):
        own = (*first, *shares) if place == 0 else ("",) * (len(first) + len(shares))
        yield stage.prompt, *own, each.after, each.word
