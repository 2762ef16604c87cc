"""Write the options of a run into docs/options.md and into the signature of `rmaudit.run`.

python -m scripts.run_options

Both repeat what `rmaudit.runs.run_options` declares.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from rmaudit.runs.option_parsing import Option
from rmaudit.runs.run_options import OPTIONS, RunOptions

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "options.md"
PYTHON = ROOT / "rmaudit" / "plugin" / "run_from_python.py"
_TABLE = re.compile(r"^\| pytest \|.*?\n\n", re.MULTILINE | re.DOTALL)
_ARGUMENTS = re.compile(r"(?<=    audits: Sequence).*?\n(?=\) -> AuditRun:)", re.DOTALL)
_HEAD = """\
| pytest | `rmaudit plan`, `sweep` | `rmaudit.run` | meaning |
| --- | --- | --- | --- |
"""


def page() -> str:
    """Return the text of docs/options.md, its table of options brought up to date."""
    rows = "".join(f"{_row(option)}\n" for option in OPTIONS.values())
    return _put(PAGE, _TABLE, f"{_HEAD}{rows}\n")


def python() -> str:
    """Return the source of the module with `rmaudit.run`, its arguments brought up to date."""
    arguments = (_argument(name, option) for name, option in OPTIONS.items())
    first = "[str | Path | Callable[..., Any]] = (),\n"
    changed = _put(PYTHON, _ARGUMENTS, first + "".join(arguments))
    formatter = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PYTHON), "-"]
    ran = subprocess.run(  # noqa: S603  (ruff itself)
        formatter, input=changed, capture_output=True, text=True, check=True
    )
    return ran.stdout


def _put(file: Path, place: re.Pattern[str], text: str) -> str:
    changed, places = place.subn(lambda _: text, file.read_text(encoding="utf-8"))
    if places != 1:
        message = f"{file}: {places} places to write the options to, one is expected"
        raise ValueError(message)
    return changed


def _row(option: Option) -> str:
    """Return an option's row of the table in docs/options.md."""
    value = f" {option.metavar}" if option.metavar else ""
    spellings = [option.pytest, *(["--model"] if option.pytest == "--rm-model" else [])]
    cells = [
        ", ".join(f"`{spelling}{value}`" for spelling in reversed(spellings)),
        f"`{option.command}{value}`" if option.decides == "scores" else "",
        f"`{option.python}`" if option.python else "",
        f"{option.explained}. {option.more}".strip(),
    ]
    shown = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(shown)} |"


def _argument(name: str, option: Option) -> str:
    """Return an option's line in the signature of `rmaudit.run`; "" if it is no argument there."""
    if option.python != name:
        return ""
    declared = RunOptions.__annotations__[name]  # as source: Annotated[TYPE, Option(...)]
    kind = declared.removeprefix("Annotated[").partition(", Option(")[0]
    kind = option.takes or kind.replace("Path", "Path | str")
    return f"    {name}: {kind} = {option.default!r},\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    PYTHON.write_text(python(), encoding="utf-8")
