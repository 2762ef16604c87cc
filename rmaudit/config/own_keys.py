"""The keys of one's own words, which stand at the top of models.yaml or in a file by themselves."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, Self, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError

from rmaudit.config.own_words import ROLES
from rmaudit.config.spec import Key
from rmaudit.language import ENGLISH, STEMMERS

_FILE = "a .csv or .parquet file; a relative path is relative to this file"
_FRAMES = "1 (good things should score high), -1 (bad ones should) or 0 (neither)"
_NAME = "a name of at most 80 letters, digits, '_', '.' and '-'"
Name = Annotated[str, Key("", _NAME, r"\w[\w.-]{0,79}")]
Role = Annotated[str, Key("", f"one of {', '.join(ROLES)}", "|".join(ROLES))]


class Strict(BaseModel):
    """A mapping that is refused if it has another key, or a value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def mapping(name: str, *kinds: Any, **more: Any) -> type[Strict]:  # noqa: ANN401  (dataclasses, and what pydantic takes)
    """Make the type of a mapping whose keys are the fields of dataclasses, all but `name`."""
    keys: dict[str, Any] = {}
    for kind in kinds:
        types = get_type_hints(kind, include_extras=True)
        for one in fields(kind):
            default = ... if one.default is MISSING else one.default
            if one.default_factory is not MISSING:
                default = Field(default_factory=one.default_factory)
            keys[one.name] = (types[one.name], default)
    keys.pop("name", None)
    return create_model(name, __base__=Strict, **more, **keys)


class PROMPT(Strict):
    """A prompt: a text, or a conversation that ends with a user's turn."""

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
    """Words and values."""

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
    """Items and people's ratings of them."""

    file: Annotated[str, Key("", _FILE)]


@dataclass(frozen=True)
class OwnKeys:
    """The keys; what each means stands in the head of models.yaml."""

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
