"""List the programs of the lab, or run one: `python -m lab [NAME [options]]`.

A program is a module with a function `main`; its name is its path here, with dots.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

from rmaudit.errors import RmauditError

HERE = Path(__file__).parent


def programs() -> dict[str, str]:
    """Return the first line of each program's docstring by the program's name."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(HERE.rglob("*.py"))}
    return {
        ".".join(path.relative_to(HERE).with_suffix("").parts): _first_line(text)
        for path, text in texts.items()
        if "\ndef main(" in text and path.name != "__main__.py"
    }


def _first_line(text: str) -> str:
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def main(given: list[str]) -> int | str | None:
    """List the programs, or run the named one with the other arguments; return its exit code.

    An error of rmaudit is returned as its sentence.
    """
    known = programs()
    if not given or given[0] not in known:
        width = max(map(len, known))
        print(*(f"{name:<{width}}  {said}" for name, said in known.items()), sep="\n")
        return f"\nthere is no program {given[0]!r}" if given else 0
    sys.argv = [f"python -m lab {given[0]}", *given[1:]]
    try:
        code: int | None = import_module(f"lab.{given[0]}").main()
    except RmauditError as error:
        return str(error)
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
