"""Answer the five questions that a reader has about a model, each from the gates that ask it.

An audit's declaration says by its `family` which question it asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rmaudit.report.number_format import clearest
from rmaudit.report.summary import MARKS, Row

QUESTIONS = {
    "meaning": "Do rewards follow the question?",
    "people": "Are groups of people treated alike?",
    "surface": "Do rewards ignore changes that mean nothing?",
    "answers": "Does the better answer win?",
    "robustness": "Do rewards hold against meaningless strings, and since the last release?",
}
"""Each question by its family; `yes` is good news in all of them."""
OTHER = "Do your own audits pass?"  # those of no family
_GRAVEST_FIRST = ("fail", "blocks open", "not run", "accepted", "open", "pass")


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One of the questions, with a model's audits that ask it."""

    family: str
    text: str
    sign: str
    """The key in `summary.MARKS` of what its gates come to; "not run" without any."""
    answer: str
    """A sentence, such as `No: 1 of 4 gates shows harm, and 1 is open.`"""
    gates: tuple[Row, ...]
    """What blocks first, then what is open, accepted, passed; then what was not asked for."""
    informs: tuple[Row, ...]

    @property
    def mark(self) -> str:
        """Return its sign, such as ✓."""
        return MARKS[self.sign]

    @property
    def bad(self) -> list[Row]:
        """Return its gates that block or were accepted, the worst first."""
        return [row for row in self.gates if row.blocking or row.sign == "accepted"]

    @property
    def undecided(self) -> list[Row]:
        """Return its gates that are open and block nothing."""
        return [row for row in self.gates if row.sign == "open" and not row.blocking]

    @property
    def passed(self) -> list[Row]:
        """Return its gates that pass and do not block."""
        return [row for row in self.gates if row.sign == "pass" and not row.blocking]


def questions_of(rows: Iterable[Row]) -> list[AskedQuestion]:
    """Return each question that some of these rows of a model ask, in one order for all models."""
    asked: dict[str, list[Row]] = {family: [] for family in (*QUESTIONS, "")}
    for row in rows:
        family = row.worst.claim.family
        asked[family if family in QUESTIONS else ""].append(row)
    return [_question(family, own) for family, own in asked.items() if own]


def _question(family: str, rows: Sequence[Row]) -> AskedQuestion:
    gates = sorted((row for row in rows if row.decides), key=_place)
    informs = sorted((row for row in rows if not row.decides), key=_place)
    measured = [_kind(row) for row in gates if row.asked]
    gravest = min(measured, key=_GRAVEST_FIRST.index, default="not run")
    if gravest == "open" and "pass" in measured:  # what may stay open keeps no run from passing
        gravest = "pass"
    return AskedQuestion(
        family=family,
        text=QUESTIONS.get(family, OTHER),
        sign=gravest.removeprefix("blocks "),
        answer=_answer(measured),
        gates=tuple(gates),
        informs=tuple(informs),
    )


def _kind(row: Row) -> str:
    return "blocks open" if row.sign == "open" and row.blocking else row.sign


def _place(row: Row) -> tuple[int, bool, tuple[int, float], str]:
    kind = _kind(row)
    bad = row.shown is not None and kind in _GRAVEST_FIRST[:4]
    first = clearest(row.shown) if bad and row.shown else (0, 0.0)
    return _GRAVEST_FIRST.index(kind), not row.asked, first, row.title


def _answer(kinds: Sequence[str]) -> str:
    """Return a sentence on what gates of these kinds say together."""
    if not kinds:
        return "No gate asked this."
    n = {kind: kinds.count(kind) for kind in _GRAVEST_FIRST}
    open_, of = n["blocks open"] + n["open"], f"of {_gates(len(kinds))}"
    failed, accepted, lost = n["fail"], n["accepted"], n["not run"]
    rest = [
        *([f"{lost} {_was(lost)} not measured"] if lost else []),
        *([f"{open_} {_is(open_)} open"] if open_ else []),
    ]
    if failed:
        more = [f"{accepted} more {_is(accepted)} accepted"] if accepted else []
        return _sentence(f"No: {failed} {of} {_fails(failed)}", [*more, *rest])
    if accepted:
        stop = f"{accepted} {of} {_does(accepted)} not pass, which models.yaml accepts"
        return _sentence(f"Not in all: {stop}", rest)
    if n["blocks open"] or lost or not n["pass"]:
        passed = n["pass"] or "none"
        return _sentence(f"Not known: {passed} {of} {'pass' if n['pass'] > 1 else 'passes'}", rest)
    return _sentence(f"Yes, as far as {n['pass']} {of} can tell", rest)


def _sentence(first: str, rest: Sequence[str]) -> str:
    return f"{'; '.join([first, *rest])}."


def _gates(n: int) -> str:
    return f"{n} gate{'' if n == 1 else 's'}"


def _is(n: int) -> str:
    return "is" if n == 1 else "are"


def _was(n: int) -> str:
    return "was" if n == 1 else "were"


def _fails(n: int) -> str:
    return "fails" if n == 1 else "fail"


def _does(n: int) -> str:
    return "does" if n == 1 else "do"
