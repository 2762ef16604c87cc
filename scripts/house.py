"""Count a checkout's modules, lines and repeated names, and the files that a score passes through.

It only prints. Words of docs are counted by whitespace, in Markdown files that are neither under
"Evidence" or "Design notes" in zensical.toml's menu nor in docs/evidence or docs/design.

    python scripts/house.py [--root CHECKOUT] [--collect] [--trace] [--list]

It counts any commit alike, so that before and after are comparable. Lines are physical lines, with
blank ones, comments and docstrings.

A score's way is traced, not read: a toy checkpoint is audited once (numerics under one prompt,
with an empty cache), and a profiler notes the Python files of rmaudit in which a function is called
from the setup of the test, which opens the checkpoint, until the pages are written. What an import
calls does not count, nor what the plugin does before: options, registry and collection. Of these
files a score visits those that are called on its own way to the page. Aside of it lie the null
controls (they score something else), the lists of words that are masked, the writers of other
files, and the families whose head the checkpoint has not.

A conversion is a call in the report or the plugin that turns something into JSON or a dictionary,
or back: any of `CONVERT`. Most of them are of findings; `--list` shows all.

A circle is a set of modules that import each other, at the top or inside a function. A type name is
defined twice where classes of two modules bear it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType, SimpleNamespace

DATA = {".css", ".csv", ".jinja", ".js", ".json", ".yaml", ".yml"}
CONVERT = {"Finding", "asdict", "from_json", "to_json", "json.dumps", "json.loads"}
CONVERT |= {"model_dump", "model_dump_json", "model_validate", "model_validate_json"}
CONVERT |= {"dump_json", "dump_python", "validate_json", "validate_python"}  # of a TypeAdapter
ASIDE = {"null_controls", "planted", "null_control_trials", "controls", "masks"}  # see above
ASIDE |= {"markdown", "terminal", "power"}
NOT_TO_USE = {"Evidence": "evidence", "Design notes": "design"}  # headings of the site, and folders
UNTYPED = re.compile(r"\b(?:Mapping|dict)\[str, Any\]")


def main() -> None:
    """Count everything, and print a line for each count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--collect", action="store_true", help="also collect the tests")
    parser.add_argument("--trace", action="store_true", help="also follow a score")
    parser.add_argument("--list", action="store_true", help="list what was counted")
    parser.add_argument("--traced", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    root: Path = given.root.resolve()
    if given.traced:
        _audit(root, given.traced)
        return
    product = {path: path.read_text("utf-8") for path in sorted((root / "rmaudit").rglob("*.py"))}
    lines, tested = _lines(product), _lines(list((root / "tests").rglob("*.py")))
    data = [path for path in (root / "rmaudit").rglob("*") if path.suffix in DATA]
    report = [text for path, text in product.items() if "report" in path.relative_to(root).parts]
    counted: dict[str, float | list[str]] = {
        "modules": len(product),
        "lines of the product": lines,
        "lines of its templates, scripts and data": _lines(data),
        "lines of tests": tested,
        "lines of tests for one of the product": round(tested / lines, 2),
        "untyped mappings in report": sum(len(UNTYPED.findall(text)) for text in report),
        "module names used twice": _twice(root, product),
        "conversions in report and plugin": list(_conversions(root, product)),
        "type names defined twice": types_twice(root, product),
        "circles inside rooms": circles(root, product),
        "words of docs outside of evidence and design notes": sum(words_of_docs(root).values()),
    }
    if given.collect:
        counted["tests"] = _collected(root)
    if given.trace:
        called, own = _visited(root)
        counted |= {"files that a run calls": called, "files that a score visits": own}
    for what, found in counted.items():
        print(f"{what:<52}{len(found) if isinstance(found, list) else found:>8,}")
        for each in found if given.list and isinstance(found, list) else ():
            print(f"    {each}")


def _lines(paths: Iterable[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def _twice(root: Path, product: Iterable[Path]) -> list[str]:
    """Return module names that two packages have, unless they are an audit's name.

    An audit's measure, evidence and chart may bear its name.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for path in product:
        places[path.stem].append(str(path.relative_to(root).parent))
    aside = {path.stem.removeprefix("test_") for path in (root / "audits").glob("test_*.py")}
    aside |= {"__init__", "__main__", "conftest"}
    return [f"{n}: {', '.join(p)}" for n, p in places.items() if len(p) > 1 and n not in aside]


def types_twice(root: Path, product: Mapping[Path, str]) -> list[str]:
    """Return the names of classes that two modules define, with these modules."""
    places: dict[str, set[str]] = defaultdict(set)
    for path, text in product.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(str(path.relative_to(root)))
    return [f"{n}: {', '.join(sorted(p))}" for n, p in sorted(places.items()) if len(p) > 1]


def circles(root: Path, product: Mapping[Path, str]) -> list[str]:
    """Return the sets of modules that import each other, also for types or in a function alone."""
    names = {".".join(path.relative_to(root).with_suffix("").parts): path for path in product}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    ahead = {
        name: {
            member if member in names else module
            for module, member in _imported(name, path, product[path])
            if member in names or module in names
        }
        for name, path in names.items()
    }
    reached = {name: _reached(name, ahead) for name in ahead}
    circles = {
        frozenset(other for other in reached[name] if name in reached[other]) for name in ahead
    }
    return sorted(", ".join(sorted(circle)) for circle in circles if len(circle) > 1)


def words_of_docs(root: Path) -> dict[str, int]:
    """Return the number of words of each page that is neither evidence nor a design note."""
    site = tomllib.loads((root / "zensical.toml").read_text(encoding="utf-8"))
    groups = {name: pages for entry in site["project"]["nav"] for name, pages in entry.items()}
    aside = {page for name in NOT_TO_USE for each in groups[name] for page in each.values()}
    pages = {path.relative_to(root / "docs"): path for path in (root / "docs").rglob("*.md")}
    return {
        page.as_posix(): len(path.read_text(encoding="utf-8").split())
        for page, path in sorted(pages.items())
        if page.as_posix() not in aside and page.parts[0] not in NOT_TO_USE.values()
    }


def _imported(name: str, path: Path, text: str) -> Iterator[tuple[str, str]]:
    """Yield (module, member) for each import in a module's text; the member may be a module too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            depth = len(name.split(".")) - node.level + (path.stem == "__init__")
            above = name.split(".")[:depth] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield from ((module, f"{module}.{alias.name}") for alias in node.names)


def _reached(name: str, ahead: Mapping[str, set[str]]) -> set[str]:
    """Return all modules that this one imports, directly or through others."""
    found: set[str] = set()
    left = [name]
    while left:
        fresh = ahead[left.pop()] - found
        found |= fresh
        left += fresh
    return found


def _conversions(root: Path, product: Mapping[Path, str]) -> Iterator[str]:
    for path, text in product.items():
        if not {"plugin", "report"} & set(path.relative_to(root).parts):
            continue
        for node in ast.walk(ast.parse(text)):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and {name, name.rpartition(".")[2]} & CONVERT:
                yield f"{path.relative_to(root)}:{node.lineno}: {name}"


def _collected(root: Path) -> int:
    """Return the number of tests that pytest collects, with those of the slow tier."""
    command = [sys.executable, "-m", "pytest", "tests", "--collect-only", "-q"]
    found = re.search(r"(?:\d+/)?(\d+) tests collected", _said(command, root, root))
    return int(found[1]) if found else 0


def _visited(root: Path) -> list[list[str]]:
    """Return all files called when a toy is audited, and those of them on the score's own way."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--root", str(root), "--traced", folder]
        _said(command, root, Path(folder))
        return list(json.loads(Path(folder, "visited.json").read_text(encoding="utf-8")))


def _said(command: list[str], root: Path, where: Path) -> str:
    """Return what a command prints, run with the checkout's rmaudit."""
    env = {**os.environ, "PYTHONPATH": str(root), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=where, env=env, check=True, stdout=subprocess.PIPE)  # noqa: S603
    return done.stdout.decode()


def _audit(root: Path, folder: Path) -> None:
    """Audit a toy model under a profiler, and write the files visited to `folder`/visited.json."""
    import pytest

    from tests.toys import toy_checkpoint

    inside, called, own = f"{root / 'rmaudit'}{os.sep}", set[str](), set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(inside) or name in own:
            return
        above, aside, code = frame.f_back, _aside(frame, inside), frame.f_code
        while above is not None and (code := above.f_code).co_name != "<module>":
            aside |= _aside(above, inside)
            above = above.f_back
        if above is None or not code.co_filename.startswith(inside):  # no import
            called.add(name)
            own.update(() if aside else (name,))

    tracer = SimpleNamespace(
        pytest_runtest_setup=lambda: sys.setprofile(note),
        pytest_unconfigure=lambda: sys.setprofile(None),
    )
    asked = [str(root / "audits/test_numerics.py"), "-k", "greatest", "--rootdir", str(folder)]
    asked += ["--model", str(toy_checkpoint(folder / "toy")), "--rm-cache", str(folder / "cache")]
    pytest.main([*asked, "-p", "no:cacheprovider"], plugins=[tracer])
    if not list(folder.glob("reports/*/index.html")):
        sys.exit("the audit wrote no page")
    visited = [
        sorted(str(Path(name).relative_to(root)) for name in files if name.endswith(".py"))
        for files in (called, own)
    ]
    (folder / "visited.json").write_text(json.dumps(visited), encoding="utf-8")


def _aside(frame: FrameType, inside: str) -> bool:
    """Return whether this frame's calls are aside from the score's way, by its module's name."""
    code = frame.f_code
    if not code.co_filename.startswith(inside):
        return False
    parts = {*Path(code.co_filename.removeprefix(inside)).with_suffix("").parts}
    return bool(parts & ASIDE) or ("heads" in parts and code.co_name == "keys")


if __name__ == "__main__":
    main()
