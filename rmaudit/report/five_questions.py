"""Answer the five questions that a reader has about a model, each from the gates that ask it.

An audit's declaration says by its `family` which question it asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rmaudit.report.audit_rows import MARKS, Row
from rmaudit.report.number_format import clearest
from rmaudit.verdicts.estimates_and_bounds import Result

QUESTIONS = {
    "meaning": "Do rewards follow the question?",
    "people": "Are groups of people treated alike?",
    "surface": "Do rewards ignore changes that mean nothing?",
    "answers": "Does the better answer win?",
    "robustness": "Do rewards hold against meaningless strings, and agree with a baseline's?",
}
"""Each question by its family; `yes` is good news in all of them."""
OTHER = "Do the other audits pass?"  # one's own, and those of older files
_ACCEPTED_OPEN = "accepted open"
_GRAVEST_FIRST = (
    *("fail", "regressed", "blocks open", "not run"),
    *("accepted", _ACCEPTED_OPEN, "doubtful", "open", "pass"),
)
_BAD = _GRAVEST_FIRST[:6]
_SIGNS = {
    "regressed": "fail",
    "blocks open": "open",
    "doubtful": "open",
    _ACCEPTED_OPEN: "accepted",
}


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One of the questions, with a model's audits that ask it."""

    family: str
    text: str
    gravest: str
    """What its gates come to, one of `_GRAVEST_FIRST`; "not run" without any."""
    answer: str
    """A sentence, such as `No: 1 of 4 gates fails; 1 is open.`"""
    gates: tuple[Row, ...]
    """What blocks first, then what is open, accepted, passed; then what was not asked for."""
    informs: tuple[Row, ...]

    @property
    def sign(self) -> str:
        """Return the key of its sign in `audit_rows.MARKS`."""
        return _SIGNS.get(self.gravest, self.gravest)

    @property
    def mark(self) -> str:
        """Return its sign, such as ✓."""
        return MARKS[self.sign]

    @property
    def bad(self) -> list[Row]:
        """Return its gates that block, or that models.yaml accepts or relaxes, the worst first."""
        return [row for row in self.gates if row.blocking or row.sign == "accepted"]

    @property
    def in_detail(self) -> list[Row]:
        """Return the first of the `bad`, and where that is open the first that fails."""
        first, failing = self.bad[:1], [row for row in self.bad if row.result is Result.FAIL]
        return [*first, *(failing[:1] if first and first[0].result is Result.OPEN else [])]

    @property
    def undecided(self) -> list[Row]:
        """Return its gates that are open and block nothing."""
        return [row for row in self.gates if row.sign == "open" and not row.blocking]

    @property
    def passed(self) -> list[Row]:
        """Return its gates that pass and do not block."""
        return [row for row in self.gates if row.sign == "pass" and not row.blocking]


def questions_of(rows: Iterable[Row]) -> list[AskedQuestion]:
    """Return each question that some of these rows of a model ask, the gravest answer first."""
    asked: dict[str, list[Row]] = {family: [] for family in (*QUESTIONS, "")}
    for row in rows:
        family = row.worst.claim.family
        asked[family if family in QUESTIONS else ""].append(row)
    every = [_question(family, own) for family, own in asked.items() if own]
    return sorted(every, key=lambda each: _GRAVEST_FIRST.index(each.gravest))


def _question(family: str, rows: Sequence[Row]) -> AskedQuestion:
    gates = sorted((row for row in rows if row.decides), key=_place)
    informs = sorted((row for row in rows if not row.decides), key=_place)
    measured = [_kind(row) for row in gates if row.asked and (row.gate or row.relaxed)]
    gravest = min(measured, key=_GRAVEST_FIRST.index, default="not run")
    if gravest == "open" and "pass" in measured:  # what may stay open keeps no run from passing
        gravest = "pass"
    return AskedQuestion(
        gravest=gravest,
        family=family,
        text=QUESTIONS.get(family, OTHER),
        answer=_answer(measured),
        gates=tuple(gates),
        informs=tuple(informs),
    )


def _kind(row: Row) -> str:
    if row.doubt and row.sign == "pass":
        return "doubtful"
    if row.sign == "accepted" and (row.relaxed or row.worst).result is Result.OPEN:
        return _ACCEPTED_OPEN
    if row.regressed:
        return "regressed"
    return "blocks open" if row.sign == "open" and row.blocking else row.sign


def _place(row: Row) -> tuple[int, bool, tuple[int, float], str]:
    kind = _kind(row)
    bad = row.shown is not None and kind in _BAD
    first = clearest(row.shown) if bad and row.shown else (0, 0.0)
    return _GRAVEST_FIRST.index(kind), not row.asked, first, row.title


def _answer(kinds: Sequence[str]) -> str:
    """Return a sentence on what gates of these kinds say together."""
    n = Counter(kinds)
    gates, lost = _n(len(kinds), "gate", "gates"), n["not run"]
    open_ = n["blocks open"] + n["open"]
    if not kinds:
        return "No gate asked this."
    if lost == len(kinds):
        return f"Not known: {_n(lost, 'was', 'were', of=gates)} not measured."
    rest = [
        *([_n(lost, "was not measured", "were not measured")] if lost else []),
        *([_n(open_, "is open", "are open")] if open_ else []),
        *([f"{n['doubtful']} may be indifference"] if n["doubtful"] else []),
    ]
    if n["fail"] or n["regressed"]:
        accepted = n["accepted"] + n[_ACCEPTED_OPEN]
        more = [_n(accepted, "is accepted", "are accepted")] if accepted else []
        worse = f"{n['regressed']} of {gates} regressed"
        first = f"No: {_n(n['fail'], 'fails', 'fail', of=gates)}" if n["fail"] else f"No: {worse}"
        more = [f"{n['regressed']} regressed", *more] if n["fail"] and n["regressed"] else more
        rest = [*more, *rest]
    elif n["accepted"]:
        first = f"No: {_n(n['accepted'], 'fails', 'fail', of=gates)}, which models.yaml accepts"
        if n[_ACCEPTED_OPEN]:
            more_open = _n(n[_ACCEPTED_OPEN], "more is open", "more are open")
            rest = [f"{more_open}, accepted too", *rest]
    elif n[_ACCEPTED_OPEN]:
        open_too = _n(n[_ACCEPTED_OPEN], "is open", "are open", of=gates)
        first = f"Not known: {open_too}, which models.yaml accepts"
    elif n["blocks open"] or lost or n["doubtful"] or not n["pass"]:
        some = _n(n["pass"], "passes", "pass", of=gates)
        first = f"Not known: {some if n['pass'] else 'no gate passes'}"
    else:
        first = f"Yes, as far as {n['pass']} of {gates} can tell"
    return f"{'; '.join([first, *rest])}."


def _n(n: int, one: str, many: str, *, of: str = "") -> str:
    """Return a number with its words, such as `1 of 3 gates fails`."""
    return f"{n}{f' of {of}' if of else ''} {one if n == 1 else many}"
