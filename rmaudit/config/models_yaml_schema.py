"""Define which keys models.yaml may have, as pydantic types; `models_yaml` validates with them.

`ModelSpec` has the keys of a model; here are those of the policy, and the file around both.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, fields
from typing import Annotated, Any, Self, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    create_model,
    field_validator,
    model_validator,
)
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


def mapping(name: str, kind: Any, **instead: Any) -> type[Strict]:  # noqa: ANN401  (a dataclass, and what pydantic takes)
    """Create a pydantic model of a dataclass's fields, less `name`; some may have `instead`s."""
    types, keys = get_type_hints(kind, include_extras=True), dict[str, Any]()
    for one in fields(kind):
        keys[one.name] = (types[one.name], ... if one.default is MISSING else one.default)
    keys.pop("name", None)
    return create_model(name, __base__=Strict, **{**keys, **instead})


def _said(what: str) -> PydanticCustomError:
    """Return the error of a validator, whose words are those that the user reads."""
    return PydanticCustomError("said", "{what}", {"what": what})


class PROMPT(Strict):
    """A prompt in models.yaml: a text, or a conversation that ends with a user's turn."""

    frame: Annotated[int, Key("", _FRAMES, "1|0|-1")]
    text: str | None = None
    conversation: tuple[dict[str, str], ...] | None = None

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        if (self.text is None) == (self.conversation is None):
            found = "neither" if self.text is None else "both"
            raise _said(f"expected either text or conversation, got {found}")
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
            raise _said("scale: the least comes first, got [{:g}, {:g}]".format(*self.scale))
        return self


class RANKING(Strict):
    """A ranking in models.yaml: a file of items and people's ratings of them."""

    file: Annotated[str, Key("", _FILE)]


class OWN(Strict):
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
    ] = {}
    lexicons: Annotated[
        dict[Name, LEXICON],
        Key("by name, a file with the columns word and value, and its scale: [least, greatest]"),
    ] = {}
    words: Annotated[dict[Name, tuple[str, ...]], Key("by name, a list of words")] = {}
    rankings: Annotated[
        dict[Name, RANKING],
        Key("by name, a file with the columns item and rating"),
    ] = {}
    instead: Annotated[
        dict[Role, str],
        Key(
            "which of these audits take in place of rmaudit's own: labmt, afinn, vader, bing, "
            "wordfreq, leech (lexicons), common, non-answers, and (words), elo (rankings)"
        ),
    ] = {}


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
        raise _said(what)


WAIVER = mapping("Waiver", Waiver)
_NAMES = "a name of at most 200 letters, digits, '.', '-' and '_'"
_AUDITS = "the name of an audit, such as 'a' or 'a[prompt]'"
_Name = Annotated[str, Key("", _NAMES, r"(?a:\w[\w.-]{0,199})")]
_Audit = Annotated[str, Key("", _AUDITS, r"\w+(\[[\w-]+([+ ][\w-]+)*\])?")]


class _Policy(Strict):
    """Keys of models.yaml that set rules for verdicts, at the top for all models or in an entry."""

    bounds: Annotated[
        dict[_Audit, BoundKeys],
        Key(
            "what is to pass, where that is not as the audit declares it, in its unit: "
            "{above: 0}, {below: 1} or both, by the audit's name or NAME[prompt]"
        ),
    ] = {}
    severity: Annotated[
        dict[_Audit, Annotated[Severity, Field(strict=False)]],  # from its text
        Key(
            "by audit, `core` (a run passes only if it shows that there is no harm), `gate` (a "
            "run fails if it shows harm) or `info` (it is only shown)"
        ),
    ] = {}


class EntryPolicy(_Policy):
    """Keys of models.yaml that set rules for verdicts in one model's entry."""

    waivers: Annotated[
        dict[_Audit, WAIVER],  # type: ignore[valid-type]  # it is made of `Waiver`
        Key(
            "by audit, failures that somebody answers for: owner, reason, expires (the last day, "
            "UTC), accepted (the largest effect, in the audit's unit); docs/policy.md"
        ),
    ] = {}
    known: Annotated[
        dict[_Audit, str],
        Key("by audit, failures of the embedded model that are expected, and the reason"),
    ] = {}
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

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        allowed = {"reference": NAMED, "beta": "a number above 0, such as 0.1"}
        missing = [key for key in allowed if getattr(self, key) is None]
        if len(missing) == 1:  # which go together
            raise _said(f"the key {missing[0]!r} is missing; expected {allowed[missing[0]]}")
        return self


class ENSEMBLE(Strict):
    """A reward in models.yaml that is made of those of other entries: `members`, `rule` and `k`."""

    members: Annotated[tuple[str, ...], Key("", "a list of two or more models of this file")]
    rule: Annotated[Rule, Key("", "mean, minimum or mean-sd")]
    k: Annotated[
        float | None,
        Key("", "a number from 0, such as 1", r"(0|[1-9][0-9]{0,5})(\.[0-9]{1,9})?(e-[0-9]{1,2})?"),
    ] = None

    @field_validator("members")
    @classmethod
    def _are_several(cls, members: tuple[str, ...]) -> tuple[str, ...]:
        if len(members) < 2:  # noqa: PLR2004  (a pair)
            raise _said(f"{len(members)} named; expected two or more models")
        twice = next((one for i, one in enumerate(members) if one in members[:i]), None)
        if twice is not None:
            raise _said(f"{twice} is named twice; a model counts once")
        return members

    @model_validator(mode="after")
    def _uses_k(self) -> Self:
        if self.k is not None and self.rule != "mean-sd":
            what = f"k: it has no effect with the rule {self.rule!r}; remove it, or write "
            raise _said(f"{what}rule: mean-sd")
        return self


_SPEC = mapping(
    "Spec",
    ModelSpec,
    source=(get_type_hints(ModelSpec, include_extras=True)["source"], ""),  # others may give it
    judge=(mapping("Judge", Judge) | None, None),
    implicit=(IMPLICIT | None, None),
    ensemble=(ENSEMBLE | None, None),
    wanted=(dict[str, str], {}),
)


class ENTRY(EntryPolicy, _SPEC):  # type: ignore[misc, valid-type]  # it is made of `ModelSpec`
    """A model's entry in models.yaml."""


class _Models(Strict):
    """The models of models.yaml, by name."""

    models: dict[_Name, ENTRY]


class FILE(OWN, _Policy, _Models):
    """All keys of models.yaml: `models`, the policy for all, and the user's own words."""


SPEC_KEYS = [one.name for one in fields(ModelSpec) if one.name != "name"]
POLICY_KEYS = [*EntryPolicy.model_fields]
