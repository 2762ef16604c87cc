"""Options in groups: a command takes a dataclass, and typer shows each of its fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass by options, one for each field.

    The type and the default of a field are those of its option.
    """
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    types = get_type_hints(command, include_extras=True)
    for parameter in inspect.signature(command).parameters.values():
        kind = types[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            parameters += _options(kind)
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))

    @functools.wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401  (whatever the options are)
        for name, kind in groups.items():
            given[name] = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _options(kind: Any) -> list[Parameter]:  # noqa: ANN401  (a dataclass)
    types = get_type_hints(kind, include_extras=True)
    return [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=types[one.name])
        for one in fields(kind)
    ]
