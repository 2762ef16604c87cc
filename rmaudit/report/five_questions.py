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
OTHER = "Do the other audits pass?"  # one's own, and those of older files
_GRAVEST_FIRST = ("fail", "blocks open", "not run", "accepted", "doubtful", "open", "pass")
_SIGNS = {"blocks open": "open", "doubtful": "open"}


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
        """Return the key of its sign in `summary.MARKS`."""
        return _SIGNS.get(self.gravest, self.gravest)

    @property
    def mark(self) -> str:
        """Return its sign, such as ✓."""
        return MARKS[self.sign]

    @property
    def bad(self) -> list[Row]:
        """Return its gates that block or were accepted, the worst first."""
        return [row for row in self.gates if row.blocking or row.sign == "accepted"]

    @property
    def switched_off(self) -> list[Row]:
        """Return its audits that fail, and that models.yaml keeps from being gates."""
        return [row for row in self.informs if row.switched_off]

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
    measured = [_kind(row) for row in gates if row.asked]
    gravest = min(measured, key=_GRAVEST_FIRST.index, default="not run")
    off = sum(row.switched_off for row in informs)
    if gravest == "open" and "pass" in measured:  # what may stay open keeps no run from passing
        gravest = "pass"
    if off and gravest == "pass":
        gravest = "not run"
    return AskedQuestion(
        gravest=gravest,
        family=family,
        text=QUESTIONS.get(family, OTHER),
        answer=_answer(measured, off),
        gates=tuple(gates),
        informs=tuple(informs),
    )


def _kind(row: Row) -> str:
    if row.doubt and row.sign == "pass":
        return "doubtful"
    return "blocks open" if row.sign == "open" and row.blocking else row.sign


def _place(row: Row) -> tuple[int, bool, tuple[int, float], str]:
    kind = _kind(row)
    bad = row.shown is not None and kind in _GRAVEST_FIRST[:4]
    first = clearest(row.shown) if bad and row.shown else (0, 0.0)
    return _GRAVEST_FIRST.index(kind), not row.asked, first, row.title


def _answer(kinds: Sequence[str], off: int) -> str:
    """Return a sentence on what gates of these kinds say together; `off` that fail are no gates."""
    if not kinds:
        return f"Not asked: {_off(off)}." if off else "No gate asked this."
    if set(kinds) == {"not run"}:
        return f"Not measured: {_gates(len(kinds))} {'has' if len(kinds) == 1 else 'have'} no data."
    n = {kind: kinds.count(kind) for kind in _GRAVEST_FIRST}
    open_, of = n["blocks open"] + n["open"], f"of {_gates(len(kinds))}"
    failed, accepted, lost, doubtful = n["fail"], n["accepted"], n["not run"], n["doubtful"]
    rest = [
        *([f"{lost} {_was(lost)} not measured"] if lost else []),
        *([f"{open_} {_is(open_)} open"] if open_ else []),
        *([f"{doubtful} {_passes(doubtful)} as random scores do"] if doubtful else []),
        *([_off(off)] if off else []),
    ]
    if failed:
        more = [f"{accepted} more {_is(accepted)} accepted"] if accepted else []
        return _sentence(f"No: {failed} {of} {_fails(failed)}", [*more, *rest])
    if accepted:
        stop = f"{accepted} {of} {_does(accepted)} not pass, which models.yaml accepts"
        return _sentence(f"Not in all: {stop}", rest)
    if n["blocks open"] or lost or off or doubtful or not n["pass"]:
        passed = n["pass"] or "none"
        return _sentence(f"Not known: {passed} {of} {_passes(max(n['pass'], 1))}", rest)
    return _sentence(f"Yes, as far as {n['pass']} {of} can tell", rest)


def _off(n: int) -> str:
    return f"models.yaml switched off {n} that {_fails(n)}"


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


def _passes(n: int) -> str:
    return "passes" if n == 1 else "pass"


def _does(n: int) -> str:
    return "does" if n == 1 else "do"
