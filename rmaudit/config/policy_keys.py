"""The keys of models.yaml that make its policy: bounds, severity, known, waivers.

They are read from YAML nodes, for `registry` alone reads the file; what is wrong is a `Problem`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any

import yaml

from rmaudit.config.strict_yaml import TEXT, Kind, Problem, pairs_of, scalar
from rmaudit.verdicts.policy import Ends, Named, Policy, Rules, Waiver
from rmaudit.verdicts.records import Severity

EVERYWHERE = ("bounds", "severity")  # the keys that hold for all models
OWN = (*EVERYWHERE, "known", "waivers")  # those of an entry
_SIDES = ("above", "below")
_WAIVER = ("owner", "reason", "expires", "accepted")

_AUDIT = Kind(
    "str", r"\w+(\[[\w-]+([+ ][\w-]+)*\])?", "the name of an audit, such as 'a' or 'a[prompt]'"
)
_SEVERITY = Kind("str", "|".join(Severity), f"one of {', '.join(Severity)}")
_NUMBER = Kind(
    "int float",
    r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+][0-9]{1,2})?",
    "a number, such as -0.25",
    float,
)
_DAY = Kind("timestamp", r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a day, such as 2030-01-31")

Pairs = Mapping[str, tuple[yaml.Node, yaml.Node]]  # a mapping's keys, with their nodes


def read(top: Pairs, file: str) -> Policy:
    """The policy of a registry whose top keys these are; its models' entries are read already.

    Raises:
        Problem: it is not plainly right.
    """
    models, named = {}, list(_names(top, EVERYWHERE, ""))
    for name, (_, entry) in pairs_of(top["models"][1], "", "").items():
        pairs = pairs_of(entry, "", "")
        models[name] = _rules(pairs, OWN, f"{name}: ")
        named += _names(pairs, OWN, f"{name}: ")
        _refuse_excuses(name, pairs, models[name])
    return Policy(
        file=file,
        everywhere=_rules(top, EVERYWHERE, ""),
        models={name: said for name, said in models.items() if said != Rules()},
        named=tuple(named),
    )


def _rules(pairs: Pairs, keys: Iterable[str], label: str) -> Rules:
    readers = {"bounds": _ends, "severity": _severity, "known": _text, "waivers": _waiver}
    said = {
        key: _audits(pairs[key][1], f"{label}{key}: ", readers[key]) for key in keys if key in pairs
    }
    return Rules(**said)


def _names(pairs: Pairs, keys: Iterable[str], label: str) -> Iterator[Named]:
    """Every audit that these pairs name, with its line."""
    for key in keys:
        if key in pairs:
            for audit, (at, _) in pairs_of(pairs[key][1], "", "").items():
                yield Named(audit, f"{label}{key}: ", at.start_mark.line + 1)


def _refuse_excuses(name: str, pairs: Pairs, said: Rules) -> None:
    """A reason that nobody answers for and that never ends is for demonstrations only."""
    if said.known and pairs["source"][1].value.strip() != "embedded":
        what = (
            "known: it is for the model that rmaudit brings (source: embedded); of any other, "
            f"write `waivers`, each with {', '.join(_WAIVER)}"
        )
        raise Problem(pairs["known"][0], f"{name}: {what}")
    known = {audit.partition("[")[0] for audit in said.known}
    for audit, (at, _) in pairs_of(pairs["waivers"][1], "", "").items() if said.waivers else ():
        if audit.partition("[")[0] in known:
            raise Problem(at, f"{name}: waivers: {audit}: it is in `known` too; keep one of them")


def _audits(node: yaml.Node, label: str, reader: Callable[[yaml.Node, str], Any]) -> dict[str, Any]:
    pairs = pairs_of(node, label, "a mapping by the names of audits", _AUDIT)
    return {audit: reader(value, f"{label}{audit}: ") for audit, (_, value) in pairs.items()}


def _severity(node: yaml.Node, label: str) -> Severity:
    return Severity(scalar(node, _SEVERITY, label))


def _text(node: yaml.Node, label: str) -> str:
    return str(scalar(node, TEXT, label))


def _ends(node: yaml.Node, label: str) -> Ends:
    expected = "a bound, such as {above: 0} or {above: 0, below: 1}"
    pairs = pairs_of(node, label, expected, keys=_SIDES)
    if not pairs:
        raise Problem(node, f"{label}expected {expected}, got a mapping of nothing")
    given = {key: scalar(value, _NUMBER, f"{label}{key}: ") for key, (_, value) in pairs.items()}
    low, high = given.get("above", -math.inf), given.get("below", math.inf)
    if not low < high:
        what = f"nothing is above {low:g} and below {high:g}; expected the lesser number in `above`"
        raise Problem(node, f"{label}{what}")
    return low, high


def _waiver(node: yaml.Node, label: str) -> Waiver:
    expected = f"a waiver with the keys {', '.join(_WAIVER)}"
    pairs = pairs_of(node, label, expected, keys=_WAIVER)
    for key in _WAIVER:
        if key not in pairs:
            raise Problem(node, f"{label}the key {key!r} is missing; expected {expected}")
    at, day = f"{label}expires: ", pairs["expires"][1]
    written = scalar(day, _DAY, at)
    try:
        expires = date.fromisoformat(written)
    except ValueError:
        raise Problem(day, f"{at}there is no day {written}; expected {_DAY.expected}") from None
    return Waiver(
        owner=scalar(pairs["owner"][1], TEXT, f"{label}owner: "),
        reason=scalar(pairs["reason"][1], TEXT, f"{label}reason: "),
        expires=expires,
        accepted=scalar(pairs["accepted"][1], _NUMBER, f"{label}accepted: "),
    )
