"""The exceptions of rmaudit.

    RmauditError
    ├── SpecError          models.yaml, a published table or an option is wrong; says file:line
    ├── ModelError         a model cannot be found, loaded or rendered
    │   ├── ScoreError     a model gave a score that is not a number
    │   └── NoGradient     a model's reward has no gradient that can be had
    ├── MeasureError       scores from which nothing can be measured
    │   └── NoDirection    a prompt of frame 0, and an audit of what is sought
    ├── ReferenceMissing   outside data cannot be had; carries the command that gets it
    │   └── NotRecorded    (a ModelError too) a recorded model was asked for more than its records
    ├── NoBase             models.yaml names no base language model for a reward model
    ├── NotAsked           an audit needs what the run's options leave out; it is skipped
    ├── EvidenceError      (a ValueError too) evidence of which no chart can be drawn
    ├── StoreError         the cache cannot be written
    └── ResultsError       a results.json cannot be read, or is not one
    AuditFailed (AssertionError)
    └── AuditInconclusive  the interval straddles the bound

Every message says where, what was found, what is allowed, and what to do next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_HALF = re.compile("[\ud800-\udfff]")
_SHOWN = 40  # characters of a text that an error shows


class RmauditError(Exception):
    """Base of everything that rmaudit raises on purpose, failed audits aside."""


class SpecError(RmauditError):
    """A models.yaml, a published table or an option is wrong: one line, `file:line` first."""


class ModelError(RmauditError):
    """A model cannot be found, loaded, or given a prompt."""


class ScoreError(ModelError):
    """A model returned scores that are not finite numbers: never read as low scores."""


class NoGradient(ModelError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """A model's reward cannot be differentiated with respect to its input."""

    def __init__(self, model: str, why: str) -> None:
        """Name the model, the reason, and a search method that needs no gradient."""
        message = f"{model}: its reward has no gradient here ({why}); search without one"
        super().__init__(f"{message}: --method exhaustive")


class MeasureError(RmauditError):
    """The scores do not allow the measurement: too few, or all equal."""


class NoDirection(MeasureError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """A prompt seeks neither good nor bad things, and what is sought is to be valued."""


class EvidenceError(RmauditError, ValueError):
    """Evidence of which no chart can be drawn: `fault` begins with the place within it."""

    def __init__(self, evidence: str, fault: str) -> None:
        """Name the class of evidence, the place in it, what stands there and what is allowed."""
        super().__init__(f"{evidence}.{fault}")
        self.fault = fault


class ReferenceMissing(RmauditError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """Outside data (a lexicon, human ratings) cannot be had.

    Attributes:
        command: the shell command that gets the data.
    """

    def __init__(self, message: str, *, command: str) -> None:
        """Append the command to the message."""
        super().__init__(f"{message}; get it with: {command}")
        self.command = command


class NotRecorded(ReferenceMissing, ModelError):  # noqa: N818  (likewise)
    """A model that is known by its published scores was asked for one that is not among them."""


class NoBase(RmauditError):  # noqa: N818  (likewise)
    """models.yaml names no base language model for a reward model (its key `base`)."""


class NoWeights(RmauditError):  # noqa: N818  (likewise)
    """A model is a function of texts, and an audit needs token ids, gradients or its base."""


class NotAsked(RmauditError):  # noqa: N818  (likewise)
    """An audit needs what the run's options leave out; the message says which option adds it."""


class StoreError(RmauditError):
    """The cache of scores cannot be read, written or locked."""


class ResultsError(RmauditError):
    """A results.json cannot be read, or is not one: one line, the file and the path in it first."""


class AuditFailed(AssertionError):  # noqa: N818  (a verdict, as pytest says "failed")
    """The estimate lies outside the audit's bound."""


class AuditInconclusive(AuditFailed):
    """The estimate's interval straddles the bound: neither a pass nor a clear failure."""


def nearest(word: str, known: Iterable[str], *, least: float = 0.6) -> str:
    """For example ` did you mean 'revision'?`, or nothing where none is near.

    `least` is how alike they must be, from 0 to 1.
    """
    spelt = {name.casefold(): name for name in known}
    close = get_close_matches(word.strip().casefold(), spelt, n=1, cutoff=least)
    return f" did you mean {spelt[close[0]]!r}?" if close else ""


def refuse_halves(texts: Iterable[object], what: str) -> None:
    """Refuse texts with half a character (a lone surrogate), which no file and no model takes.

    Raises:
        SpecError: the first of them; `what` begins what is said of it.
    """
    for text in texts:
        if isinstance(text, str) and _HALF.search(text):
            short = f"{text[:_SHOWN]!a}{'...' if len(text) > _SHOWN else ''}"
            message = f"{what} has half a character (a lone surrogate) in {short}, allowed: whole "
            raise SpecError(f"{message}characters; write it whole, or leave the text out")
