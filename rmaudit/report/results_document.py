"""Define results.json: the document that every run writes, and that all outputs are made from.

docs/results.md describes it, docs/results.schema.json is generated from these types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from annotated_types import Ge, MaxLen, MinLen

from rmaudit.config.paths_and_atomic_writes import in_place_of
from rmaudit.measures.differences_of_estimates import Interval
from rmaudit.models.recorded_model import WORDS
from rmaudit.models.text_scorer import OWN_WORDS
from rmaudit.report import json_codec
from rmaudit.verdicts.estimates_and_bounds import Result
from rmaudit.verdicts.findings import Figure, Finding
from rmaudit.verdicts.run_verdict import Outcome, RunVerdict

Schema = Literal["rmaudit.results/15"]
SCHEMA: Schema = get_args(Schema)[0]

WHOLE = "the whole vocabulary"  # what a sweep scored
OWN_LISTS = "words of one's own"  # the line of the environment that names them

Count = Annotated[int, Ge(0)]
Name = Annotated[str, MinLen(1)]


@dataclass(frozen=True, slots=True)
class Run:
    """Facts about the whole run: time, version, command line, and how many audits finished."""

    created: str
    """UTC, ISO 8601."""
    rmaudit: Name
    """The version that wrote it."""
    command: str
    """The command line."""
    seed: int
    """--rm-seed"""
    environment: Mapping[str, str]
    """Versions of Python, the platform and the packages that decide numbers."""
    collected: Count
    """How many audits were collected: each of a model, under a prompt."""
    selected: Count
    """How many of them were to be run, after -k, -m and the like."""
    finished: Count
    """How many of these came to an end of their own, whatever the verdict."""
    interrupted: bool
    """Whether the run was stopped, or lost one of its processes."""
    part: str
    """What was left out before audits were collected, such as all files but one; "" if nothing."""
    sample: Count | None
    """--rm-sample: how many token ids were scored; null for the whole vocabulary."""
    faults: tuple[str, ...] = ()
    """Audits that were never collected, and failures that belong to no audit: a sentence each."""

    @property
    def others(self) -> bool:
        """Return whether the user gave prompts or words of their own in place of the audits'."""
        return OWN_LISTS in self.environment

    @property
    def complete(self) -> bool:
        """Return whether all selected audits finished; only then can a run pass."""
        return not self.interrupted and self.finished >= self.selected

    @property
    def gaps(self) -> tuple[str, ...]:
        """Return why the run is not a whole one, such as audits left out; one text per reason."""
        left = self.collected - self.selected
        said = (
            self.gap,
            f"{self.selected} of {self.collected} audits were selected" if left else "",
            self.part,
            f"a sample of {self.sample:,} token ids was scored" if self.sample else "",
            *self.faults,
        )
        return tuple(filter(None, said))

    @property
    def gap(self) -> str:
        """Say that not all selected audits finished; "" if they did. `count_gates` counts them."""
        return "" if self.complete else "the run did not finish"


@dataclass(frozen=True, slots=True)
class Packed:
    """An array of numbers as text: all first bytes, all second, ... (planes), zlib, base64."""

    type: Literal["int32", "uint32", "float32", "uint8"]
    n: Count
    encoding: Literal["planes+zlib+base64"]
    sha256: Annotated[str, MinLen(64), MaxLen(64)]
    """The hash of the bytes before they are split into planes."""
    data: str


@dataclass(frozen=True, slots=True)
class PackedTexts:
    """Packed texts: the UTF-8 bytes of all (a lone surrogate as three), and the length of each."""

    lengths: Packed
    """The bytes of each."""
    utf8: Packed


@dataclass(frozen=True, slots=True)
class PackedVocabulary:
    """A packed vocabulary: each token's id, its decoded text, and how the tokenizer spells it."""

    ids: Packed
    texts: PackedTexts
    pieces: PackedTexts | None
    """The tokens as the tokenizer has them; null where these are the texts."""


@dataclass(frozen=True, slots=True)
class Token:
    """A scored token: its id, its text, and its reward."""

    token_id: Count
    token: str
    """As the tokenizer has it."""
    text: str
    """Decoded."""
    score: float
    z: float
    """In sd of the sweep, from its mean."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram of scores: bin edges, and the number of tokens between two edges."""

    edges: Annotated[tuple[float, ...], MinLen(2)]
    counts: Annotated[tuple[Count, ...], MinLen(1)]


@dataclass(frozen=True, slots=True)
class SweepSummary:
    """Summary of the rewards of a vocabulary, or a sample of it, under one prompt.

    They are in the model's own units. The last field holds every reward, packed.
    """

    key: Name
    """The SHA-256 of all that decides the scores."""
    prompt: Name
    prompt_text: str
    n: Annotated[int, Ge(1)]
    """Scored tokens."""
    mean: float
    sd: Annotated[float, Ge(0)]
    skewness: float
    histogram: Histogram
    top: tuple[Token, ...]
    """The best first."""
    bottom: tuple[Token, ...]
    """The worst first."""
    provenance: Mapping[str, str | int | float | bool]
    """The fields of the key, and versions, machine and rendered texts."""
    vocabulary: Name | None
    """The digest of its rows in `vocabularies`; null without scores."""
    scores: Packed | None
    """Every token's, float32, NaN where it is unscored; null for families of wordings."""

    @property
    def sample(self) -> bool:
        """Return whether only a part of the vocabulary was scored."""
        return "part" in self.provenance

    @property
    def scored(self) -> str:
        """Return in words what was scored: the whole vocabulary, a sample, or named texts."""
        named = {WORDS: "published words", OWN_WORDS: "texts that its scorer names"}
        if words := named.get(str(self.provenance.get("answers"))):
            return words
        return "a sample of the vocabulary" if self.sample else WHOLE


@dataclass(frozen=True, slots=True)
class AuditedModel:
    """An audited model: its entry in models.yaml, and the rewards of its tokens."""

    name: Name
    source: str
    base_model: str | None
    rewardbench_rank: int | None
    notes: tuple[str, ...]
    sweeps: tuple[SweepSummary, ...]
    of: str | None = None
    """The family that it is a release of, as models.yaml says; null where it does not."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A word and its rank by each model; 1 is the best of the words that all models have."""

    word: str
    ranks: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How alike models rank the words that they share, under one prompt."""

    prompt: str
    models: tuple[str, ...]
    """Their names; rows and columns below are in this order."""
    words: Count
    """How many words they share."""
    tau: tuple[tuple[float, ...], ...]
    """Kendall's tau-b of each pair."""
    places: tuple[tuple[float, float], ...]
    """Points on a plane whose distances are near to 1 - tau."""
    ranked: tuple[Ranked, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """One audit's result in another release, and the difference of this run's value from it."""

    model: Name
    audit: Name
    prompt: str
    result: Result
    unit: str
    """"" where nothing was measured, as are the numbers null."""
    value: float | None
    low: float | None
    high: float | None
    difference: Interval | None = None
    """The paired difference, this run's value minus that one's, with its 95 % interval; null where
    one of them was not measured, has another unit, or has no `parts`."""
    spread: float = 0.0
    """The standard deviation of the value over `trainings` of the blessed release; else 0."""


@dataclass(frozen=True, slots=True)
class Blessed:
    """The release approved by `rmaudit bless` that a model of this run is compared with."""

    model: Name
    """Of this run."""
    family: Name
    release: Name
    """The name of the model that was blessed."""
    created: str
    """When that was audited: UTC, ISO 8601."""
    rmaudit: Name
    """The version that audited it."""
    outcome: Outcome
    by: Name
    """Who blessed it."""
    on: str
    """The day on which it was blessed, ISO 8601."""
    days: Count
    """From which age on a warning is given."""
    trainings: Count
    """Number of trainings of its recipe that were blessed together; `findings` have their means."""
    findings: tuple[Earlier, ...]
    """What it had of this run's gates."""
    apart: tuple[str, ...]
    """Why gates are not compared, and which: a sentence for each reason."""


@dataclass(frozen=True, slots=True)
class Results:
    """The content of a results.json: one run's models, rewards, findings and verdict."""

    schema: Schema
    run: Run
    models: tuple[AuditedModel, ...]
    vocabularies: Mapping[str, PackedVocabulary]
    """The rows of sweeps by their digest, shared by those that have the same."""
    comparison: tuple[Comparison, ...]
    """One for each prompt under which two models or more were swept."""
    verdict: RunVerdict
    """What the run comes to, which follows from the findings and what was left out."""
    findings: tuple[Finding, ...]
    """One per audit, model and prompt, in the order in which they were measured."""
    blessed: tuple[Blessed, ...] = ()
    """The blessed releases of its models, for those that have one."""
    figures: tuple[Figure, ...] = ()
    """What audits without a bound measured: shown, and no part of the verdict."""


def write(results: Results, path: Path, indent: int | None = 1) -> None:
    """Write results to a file as ASCII JSON, a line a value: the whole file, or none.

    Without an `indent` all is on one line, which is written ten times as fast.

    Raises:
        ValueError: a number is not finite.
        OSError: it cannot be written.
    """
    write_text(path, json_codec.encode(results, indent) + "\n")


def write_text(path: Path, text: str) -> None:
    r"""Write UTF-8 text with line feeds to a file, atomically: the whole text or nothing.

    Lone surrogates are spelled out (`\ud800`).

    Raises:
        OSError: it cannot be written; what stood there before still stands.
    """
    with in_place_of(path) as own:
        own.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
