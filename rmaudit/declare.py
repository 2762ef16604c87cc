"""How an audit is declared: the claim and its bound as data, the measurement as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rmaudit.errors import SpecError
from rmaudit.prompts import Prompt, prompt_named
from rmaudit.records import Bound

_ATTRIBUTE = "__rmaudit__"
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declaration:
    """What an audit states before it measures.

    `base_rate` says where known models stand: a bound that all pass or all fail gates nothing.
    """

    name: str
    claim: str
    source: str
    prompts: tuple[Prompt, ...]
    bound: Bound
    base_rate: str


def audit(
    *, claim: str, source: str, prompts: Sequence[str], bound: Bound, base_rate: str
) -> Callable[[_Function], _Function]:
    """Declare the test function below as an audit.

    The function measures: it takes fixtures (`model`, `prompt`, `sweep`, `rewards`, `references`,
    `rng`) and returns an `Estimate`. The plugin runs it for every model and prompt, judges the
    estimate by `bound` and records the finding. The function stays plain pytest.

    Raises:
        SpecError: a prompt is unknown, or there is none.
    """
    if isinstance(prompts, str) or not prompts:
        message = f"an audit needs a list of at least one prompt, got prompts={prompts!r}"
        raise SpecError(message)
    asked = tuple(prompt_named(name) for name in prompts)

    def declare(function: _Function) -> _Function:
        name = function.__name__.removeprefix("test_")
        declaration = Declaration(name, claim, source, asked, bound, base_rate)
        setattr(function, _ATTRIBUTE, declaration)
        return function

    return declare


def declared(function: object) -> Declaration | None:
    """The declaration of an audit function, None for any other function."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Declaration) else None
