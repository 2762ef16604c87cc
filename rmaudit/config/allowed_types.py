"""What the types of models.yaml are made of."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model


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
