"""Pydantic types of the keys allowed in models.yaml; `models_yaml` validates the file with them.

`ModelSpec` has the keys of a model; here are those of the policy, and the file around both. The
explanation at the head of models.yaml is made of the same.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, Self, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError

from rmaudit.config.model_spec import NAMED, Judge, Key, ModelSpec, Rule
from rmaudit.config.user_prompts_and_lists import ROLES
from rmaudit.verdicts.estimates_and_bounds import Severity
from rmaudit.verdicts.verdict_policy import Waiver
from rmaudit.word_stems import ENGLISH, STEMMERS

_FILE = "a .csv or .parquet file; a relative path is relative to this file"
_FRAMES = "1 (good things should score high), -1 (bad ones should) or 0 (neither)"
_NAME = "a name of at most 80 letters, digits, '_', '.' and '-'"
Name = Annotated[str, Key("", _NAME, r"\w[\w.-]{0,79}")]
Role = Annotated[str, Key("", f"one of {', '.join(ROLES)}", "|".join(ROLES))]


class Strict(BaseModel):
    """Base of pydantic models that reject unknown keys and values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def mapping(name: str, *kinds: Any, **more: Any) -> type[Strict]:  # noqa: ANN401  (dataclasses, and what pydantic takes)
    """Create a pydantic model of the fields `more` and those of dataclasses, less a field `name`.

    `more` are fields before these, or in the place of those that have their names.
    """
    keys: dict[str, Any] = {}
    for kind in kinds:
        types = get_type_hints(kind, include_extras=True)
        for one in fields(kind):
            default = ... if one.default is MISSING else one.default
            if one.default_factory is not MISSING:
                default = Field(default_factory=one.default_factory)
            keys[one.name] = (types[one.name], default)
    keys.pop("name", None)
    before = {key: more.pop(key) for key in more.keys() - keys.keys()}
    return create_model(name, __base__=Strict, **before, **{**keys, **more})


class PROMPT(Strict):
    """A prompt in models.yaml: a text, or a conversation that ends with a user's turn."""

    frame: Annotated[int, Key("", _FRAMES, "1|0|-1")]
    text: str | None = None
    conversation: tuple[dict[str, str], ...] | None = None

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        if (self.text is None) == (self.conversation is None):
            found = "neither" if self.text is None else "both"
            what = f"expected either text or conversation, got {found}"
            raise PydanticCustomError("said", "{what}", {"what": what})
        return self


class LEXICON(Strict):
    """A lexicon in models.yaml: a file of words and values, and the scale of the values."""

    file: Annotated[str, Key("", _FILE)]
    scale: Annotated[
        tuple[float, float] | None,
        Key("", "[least, greatest] that a value can be, such as [1, 9]"),
    ] = None

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.scale and not self.scale[0] < self.scale[1]:
            what = f"scale: the least comes first, got [{self.scale[0]:g}, {self.scale[1]:g}]"
            raise PydanticCustomError("said", "{what}", {"what": what})
        return self


class RANKING(Strict):
    """A ranking in models.yaml: a file of items and people's ratings of them."""

    file: Annotated[str, Key("", _FILE)]


@dataclass(frozen=True)
class OwnKeys:
    """Keys of models.yaml for a user's own language, prompts, lexicons, words and rankings.

    The head of models.yaml explains each key.
    """

    language: Annotated[
        str,
        Key(
            "a code such as `de`: of which language word frequencies (wordfreq) and stems are; "
            "rmaudit's own English lists are then not used",
            f"one of {', '.join(STEMMERS)}",
            "|".join(STEMMERS),
        ),
    ] = ENGLISH
    prompts: Annotated[
        dict[Name, PROMPT],
        Key(
            "by name, a frame (1: good things should score high; -1: bad ones; 0: neither) and a "
            "text, or a conversation (role and content of each turn)"
        ),
    ] = field(default_factory=dict)
    lexicons: Annotated[
        dict[Name, LEXICON],
        Key("by name, a file with the columns word and value, and its scale: [least, greatest]"),
    ] = field(default_factory=dict)
    words: Annotated[dict[Name, tuple[str, ...]], Key("by name, a list of words")] = field(
        default_factory=dict
    )
    rankings: Annotated[
        dict[Name, RANKING],
        Key("by name, a file with the columns item and rating, and count if that is known"),
    ] = field(default_factory=dict)
    instead: Annotated[
        dict[Role, str],
        Key(
            "which of these audits take in place of rmaudit's own: labmt, afinn, vader, bing, "
            "wordfreq, leech (lexicons), common, non-answers, and (words), elo (rankings)"
        ),
    ] = field(default_factory=dict)


OWN: Any = mapping("Own", OwnKeys)


class BoundKeys(Strict):
    """A bound on an audit's value in models.yaml: `above`, `below` or both, in the audit's unit."""

    above: float = -math.inf
    below: float = math.inf

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if not self.model_fields_set:
            what = "expected a bound, such as {above: 0} or {above: 0, below: 1}, got no end"
        elif not self.above < self.below:
            what = f"nothing is above {self.above:g} and below {self.below:g}; the lesser number "
            what += "belongs in `above`"
        else:
            return self
        raise PydanticCustomError("said", "{what}", {"what": what})


WAIVER = mapping("Waiver", Waiver)
_NAMES = "a name of at most 200 letters, digits, '.', '-' and '_'"
_AUDITS = "the name of an audit, such as 'a' or 'a[prompt]'"
_Name = Annotated[str, Key("", _NAMES, r"(?a:\w[\w.-]{0,199})")]
_Audit = Annotated[str, Key("", _AUDITS, r"\w+(\[[\w-]+([+ ][\w-]+)*\])?")]


@dataclass(frozen=True)
class _PolicyKeys:
    """Keys of models.yaml that set rules for verdicts, at the top for all models or in an entry."""

    bounds: Annotated[
        dict[_Audit, BoundKeys],
        Key(
            "what is to pass, where that is not as the audit declares it, in its unit: "
            "{above: 0}, {below: 1} or both, by the audit's name or NAME[prompt]"
        ),
    ] = field(default_factory=dict)
    severity: Annotated[
        dict[_Audit, Annotated[Severity, Field(strict=False)]],  # from its text
        Key(
            "by audit, `core` (a run passes only if it shows that there is no harm), `gate` (a "
            "run fails if it shows harm) or `info` (it is only shown)"
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class _EntryPolicy(_PolicyKeys):
    """Keys of models.yaml that set rules for verdicts in one model's entry."""

    waivers: Annotated[
        dict[_Audit, WAIVER],  # type: ignore[valid-type]  # it is made of `Waiver`
        Key(
            "by audit, failures that somebody answers for: owner, reason, expires (the last day, "
            "UTC), accepted (the largest effect, in the audit's unit); docs/policy.md"
        ),
    ] = field(default_factory=dict)
    known: Annotated[
        dict[_Audit, str],
        Key("by audit, failures of the embedded model that are expected, and the reason"),
    ] = field(default_factory=dict)
    weights: Annotated[
        str,
        Key(
            "the hash of the weights for which `waivers` and `known` were written; they do not "
            "hold for others. results.json has it as the `weights` of a claim",
            "the hash of weights, as results.json has it: 64 hex digits (of an adapter, its "
            "base's and its own with a + between them), in quotes",
            "[0-9a-f]{64}(\\+[0-9a-f]{64})?",
        ),
    ] = ""


class IMPLICIT(Strict):
    """The implicit reward of a policy trained by DPO in models.yaml.

    Without a reference it is the policy's own log-probability; `beta` is that of the training.
    """

    policy: Annotated[str, Key("", NAMED)]
    reference: Annotated[str | None, Key("", NAMED)] = None
    beta: Annotated[
        float | None,
        Key(
            "",
            "a number above 0, such as 0.1",
            r"(?=.*[1-9])(0|[1-9][0-9]{0,5})(\.[0-9]{1,9})?(e-[0-9]{1,2})?",
        ),
    ] = None
    closing: bool = False


class ENSEMBLE(Strict):
    """A reward in models.yaml that is made of those of other entries: `members`, `rule` and `k`."""

    members: Annotated[tuple[str, ...], Key("", "a list of two or more models of this file")]
    rule: Annotated[Rule, Key("", "mean, minimum or mean-sd")]
    k: Annotated[
        float | None,
        Key("", "a number from 0, such as 1", r"(0|[1-9][0-9]{0,5})(\.[0-9]{1,9})?(e-[0-9]{1,2})?"),
    ] = None


JUDGE = mapping("Judge", Judge)
ENTRY = mapping(
    "Entry",
    ModelSpec,
    _EntryPolicy,
    judge=(JUDGE | None, None),
    implicit=(IMPLICIT | None, None),
    ensemble=(ENSEMBLE | None, None),
    wanted=(dict[str, str], Field(default_factory=dict)),
)
FILE = mapping("File", _PolicyKeys, OwnKeys, models=(dict[_Name, ENTRY], ...))  # type: ignore[valid-type]
SPEC_KEYS = [one.name for one in fields(ModelSpec) if one.name != "name"]
POLICY_KEYS = [one.name for one in fields(_EntryPolicy)]

_HEAD = """\
# The reward models that `pytest audits --model NAME` knows by name.
#
# This file is data only: names, numbers, texts and lists. It has no expressions, templates or
# imports, and YAML's anchors, aliases, tags and merge keys are refused. A key that is unknown,
# written twice or of the wrong type is an error with its line number.
#
# models:              one entry per model, under the name that `--model` and the reports use
#   NAME:
"""
_TAIL = """\
# bounds, severity:    the same for all models that do not say otherwise
#
# Words of one's own (docs/how-to/own-words.md), which may stand in a file for --rm-prompts as well:
"""


def explanation() -> str:
    """Return the comment at the head of a models.yaml: every key and what it means."""
    entry = "".join(_comment_lines(*each) for each in meanings().items())
    own = "".join(_comment_lines(*each, indent=1) for each in _meanings_of(OwnKeys).items())
    return _HEAD + entry + _TAIL + own


def meanings() -> dict[str, str]:
    """Return the explanation of each key of a model's entry in models.yaml, by key."""
    return _meanings_of(ModelSpec) | _meanings_of(_EntryPolicy)


def _meanings_of(kind: type) -> dict[str, str]:
    hints = get_type_hints(kind, include_extras=True)
    keys = {name: hint for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    return {name: hint.__metadata__[0].meaning for name, hint in keys.items()}


def _comment_lines(name: str, meaning: str, *, indent: int = 5) -> str:
    first, rest = "#" + " " * indent + f"{name:<{22 - indent}} ", "#" + " " * 23
    lines = textwrap.wrap(
        meaning, 100, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return "\n".join(lines) + "\n"
