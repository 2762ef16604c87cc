"""Define the exceptions of rmaudit.

    RmauditError
    ├── SpecError          a file, an option or an argument of the user is wrong; says where
    ├── ModelError         a model cannot be found, loaded or rendered
    │   ├── ScoreError     a model gave a score that is not a number
    │   └── NoGradient     a model's reward has no gradient that can be had
    ├── MeasureError       scores from which nothing can be measured
    │   └── NoDirection    a prompt of frame 0, and an audit of what is sought
    ├── ReferenceMissing   outside data cannot be had; carries the command that gets it
    │   └── NotRecorded    (a ModelError too) a recorded model was asked for more than its records
    ├── NoBase             models.yaml names no base language model for a reward model
    ├── NoWeights          a model is a function of texts, and an audit needs its weights or ids
    ├── NotJudging         a model is no judge, and an audit is of the text that a judge reads
    ├── NotComparable      rewards of two prompts have no common zero, and an audit compares them
    ├── NotAsked           an audit needs what the run's options leave out; it is skipped
    ├── EvidenceError      (a ValueError too) evidence of which no chart can be drawn
    ├── StoreError         the cache of scores or the exploit ledger cannot be read or written
    └── ResultsError       a results.json cannot be read, or is not one
    AuditFailed (AssertionError)  an audit blocks the run

Every message says where, what was found, what is allowed, and what to do next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_HALF = re.compile("[\ud800-\udfff]")
_SHOWN = 40  # characters of a text that an error shows


class RmauditError(Exception):
    """Base class of all errors that rmaudit raises on purpose, except for failed audits."""


class SpecError(RmauditError):
    """Error in what a user gave: a file such as models.yaml, an option or an argument."""


class ModelError(RmauditError):
    """Error where a model cannot be found, loaded, or given a prompt."""


class ScoreError(ModelError):
    """Error where a model returns scores that are not finite numbers, such as NaN."""


class NoGradient(ModelError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """Error where a model's reward cannot be differentiated with respect to its input."""

    def __init__(self, model: str, why: str) -> None:
        """Build the message: the model, why it has no gradient, and a method that needs none."""
        message = f"{model}: its reward has no gradient here ({why}); search without one"
        super().__init__(f"{message}: --method exhaustive")


class MeasureError(RmauditError):
    """Error where the scores do not allow the measurement: too few, or all equal."""


class NoDirection(MeasureError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """Error where an audit needs a prompt for good or bad things, and its frame is 0 (neither)."""


class EvidenceError(RmauditError, ValueError):
    """Error where an audit's evidence is invalid and cannot be drawn; `fault` names the field."""

    def __init__(self, evidence: str, fault: str) -> None:
        """Store the fault; the message is the evidence's class name, a dot, and the fault."""
        super().__init__(f"{evidence}.{fault}")
        self.fault = fault


class ReferenceMissing(RmauditError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """Error where outside data (a lexicon, human ratings) is not available.

    Attributes:
        command: the shell command that gets the data.
    """

    def __init__(self, message: str, *, command: str) -> None:
        """Append to the message the command that gets the data."""
        super().__init__(f"{message}; get it with: {command}")
        self.command = command


class NotRecorded(ReferenceMissing, ModelError):  # noqa: N818  (likewise)
    """Error: a model has only published scores, and one that is needed is missing there."""


class NoBase(RmauditError):  # noqa: N818  (likewise)
    """Error where models.yaml names no base language model for a reward model (its key `base`)."""


class NoWeights(RmauditError):  # noqa: N818  (likewise)
    """Error where a model is a function of texts, and an audit needs token ids or gradients."""


class NotJudging(RmauditError):  # noqa: N818  (likewise)
    """Error where an audit tests a judge's template, and the model is not an LLM judge."""


class NotComparable(RmauditError):  # noqa: N818  (likewise)
    """Error where an audit compares prompts, but each prompt's rewards have an unknown offset."""


class NotAsked(RmauditError):  # noqa: N818  (likewise)
    """Error where an audit needs an option that was not given; the message names the option."""


class StoreError(RmauditError):
    """Error where the cache of scores, or the exploit ledger, cannot be read or written."""


class ResultsError(RmauditError):
    """Error where a results.json cannot be read, or is invalid."""


class AuditFailed(AssertionError):  # noqa: N818  (a verdict, as pytest says "failed")
    """Raised for an audit that blocks: its interval lies outside the bound, or is open."""


def nearest(word: str, known: Iterable[str], *, least: float = 0.6) -> str:
    """Return a hint such as ` did you mean 'revision'?`, or "" where no known word is near.

    `least` is how alike they must be, from 0 to 1.
    """
    spelt = {name.casefold(): name for name in known}
    close = get_close_matches(word.strip().casefold(), spelt, n=1, cutoff=least)
    return f" did you mean {spelt[close[0]]!r}?" if close else ""


def refuse_halves(texts: Iterable[object], what: str) -> None:
    """Raise SpecError if a text has a lone surrogate (half a character); `what` begins the error.

    Raises:
        SpecError: for the first such text, which no file and no model accepts.
    """
    for text in texts:
        if isinstance(text, str) and _HALF.search(text):
            short = f"{text[:_SHOWN]!a}{'...' if len(text) > _SHOWN else ''}"
            message = f"{what} has half a character (a lone surrogate) in {short}, allowed: whole "
            raise SpecError(f"{message}characters; write it whole, or leave the text out")
