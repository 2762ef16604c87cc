"""Say what the file of an audit wants of rmaudit that it does not have, as after an upgrade.

Python says only that a name cannot be imported, or that `audit()` got an unexpected argument.
"""

from __future__ import annotations

import inspect
import os
import re
from importlib.metadata import version
from pathlib import Path
from traceback import extract_tb

from rmaudit.errors import nearest
from rmaudit.verdicts.audit_declaration import audit

_OURS = "rmaudit"
_PACKAGE = str(Path(__file__).parents[1])
_GONE = re.compile(r"module 'rmaudit[\w.]*' has no attribute")
_CALL = re.compile(  # of what a file calls while it is imported
    r"(?:audit|above|below|between|scorer|(?:Prompt|Bound|Estimate)\.__init__)\(\) "
    r"(?:got an unexpected|missing \d+ required)"
)
_STEP = (
    "Its CHANGELOG.md says what was renamed and what to use instead; a copy of one of rmaudit's "
    "audits that you did not change can be deleted, and `rmaudit init` writes the new one."
)


def missing_from_rmaudit(error: BaseException, here: Path) -> str:
    """Return which line of a file misses what in rmaudit, and what to do; "" of another fault.

    `error` is what the import of the file raised, and `here` the folder of the run.
    """
    if not _misses(error):
        return ""
    frames = [frame for frame in extract_tb(error.__traceback__) if _is_of_user(frame.filename)]
    where = f"{os.path.relpath(frames[-1].filename, here)}:{frames[-1].lineno}: " if frames else ""
    names = re.findall(r"'(\w+)'", str(error))
    near = nearest(names[0], inspect.signature(audit).parameters, least=0.8) if names else ""
    return f"{where}{error};{near} rmaudit {version(_OURS)} does not have it. {_STEP}"


def _misses(error: BaseException) -> bool:
    """Return whether an exception is about a module, a name or an argument of rmaudit."""
    if isinstance(error, ImportError):
        return (error.name or "").partition(".")[0] == _OURS
    if isinstance(error, AttributeError):
        return _GONE.match(str(error)) is not None
    return isinstance(error, TypeError) and _CALL.match(str(error)) is not None


def _is_of_user(file: str) -> bool:
    """Return whether a file of a traceback is neither rmaudit's nor what Python imports with."""
    return not file.startswith(("<", _PACKAGE))
