"""Convert values, such as numpy's, to Python's that JSON can hold exactly; raise for others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from numbers import Integral, Real
from typing import Any

LARGEST = 1e100  # no effect, score or count is larger, and what is cannot be drawn


def number(value: object, where: str) -> float:
    """Return a real number, Python's or numpy's, as a float; errors name it by `where`.

    Raises:
        TypeError: it is no real number: a bool, a complex number, a text, an array.
        ValueError: it is NaN, infinite, or larger than `LARGEST`.
    """
    if type(value) is float and abs(value) <= LARGEST:  # as most are: to ask for `Real` is slow
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        message = f"{where} is {_shown(value)}, allowed: a real number, such as float(...) makes"
        raise TypeError(message)
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not abs(found) <= LARGEST:  # a NaN too
        raise ValueError(f"{where} is {found}, allowed: finite numbers up to {LARGEST:g}")
    return found


def count(value: object, where: str) -> int:
    """Return a whole number from 0, Python's or numpy's, as an int; errors name it by `where`.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is negative, or larger than `LARGEST`.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        message = f"{where} is {_shown(value)}, allowed: a whole number, such as len(...) gives"
        raise TypeError(message)
    found = int(value)
    if not 0 <= found <= LARGEST:
        raise ValueError(f"{where} is {_shown(value)}, allowed: 0 to {LARGEST:g}")
    return found


def text(value: object, where: str) -> str:
    """Return a text, Python's or numpy's, as a str; errors name it by `where`.

    Raises:
        TypeError: it is no text.
    """
    if not isinstance(value, str):
        raise TypeError(f"{where} is {_shown(value)}, allowed: a text")
    return str(value)


def plain(value: object, where: str) -> Any:  # noqa: ANN401  (what comes in, a case each)
    """Return a copy of a scalar, tuple, mapping or dataclass with numpy's scalars as Python's.

    Errors name the value by `where`.

    Raises:
        TypeError: it is of another type, such as an array; the message says where it stands.
        ValueError: a number in it is not finite.
    """
    if value is None or type(value) in (bool, str):  # as most are: to ask for `Real` is slow
        return value
    if isinstance(value, str):
        return text(value, where)
    if type(value) is float or isinstance(value, Real):
        found = number(value, where)
        return found if type(value) is float or not isinstance(value, Integral) else int(value)
    if isinstance(value, tuple):
        return tuple(plain(item, f"{where}[{i}]") for i, item in enumerate(value))
    if isinstance(value, Mapping):
        return {text(key, where): plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        own = {f.name: plain(getattr(value, f.name), f"{where}.{f.name}") for f in fields(value)}
        return replace(value, **own)
    allowed = "None, a bool, a finite number, a text, or tuples, mappings and dataclasses of these"
    raise TypeError(f"{where} is {_shown(value)}, allowed: {allowed}")


def _shown(value: object) -> str:
    """Return a value and its type, for example `array([1, 2]) (ndarray)`, cut to one line."""
    shown = repr(value)
    return f"{shown if len(shown) <= 60 else shown[:57] + '...'} ({type(value).__name__})"  # noqa: PLR2004  (a line)
