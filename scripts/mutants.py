"""Change the product in drawn places, one at a time, and see whether the tests notice.

    python -m scripts.mutants CHECKOUT [--seed 0] [--judging 10] [--others 20] [--list]

CHECKOUT is a clone to work in: each mutant is written into it, tried and taken back. What can be
mutated is found by rule (`mutants_of`): comparisons, arithmetic, `and` and `or`, `not`, `True` and
`False`, and numbers: all of those in measures and verdicts, elsewhere 0 and 1 in functions, since
the others are pixels and sizes of batches. Places are drawn without choice: `--judging` of them in
measures and verdicts, `--others` anywhere else, each place alike.

A mutant meets the tests until one fails, the nearest first: those of its module, of the files that
name it and of its room, then their slow ones, then the whole fast tier. One that survives is for
`just slow`, or for a reader, who may find that it changes nothing that can be seen.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SWAPS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.Mod: "*",
    ast.FloorDiv: "/", ast.BitAnd: "|", ast.BitOr: "&", ast.And: "or", ast.Or: "and",
}  # fmt: skip
JUDGING = ("measures", "verdicts")
FAST, SLOW = "not slow and not nightly", "slow and not nightly"


class Mutant(NamedTuple):
    """A module's text with one change: `line` (1-based) was `before` and is `after`."""

    path: Path
    line: int
    before: str
    after: str
    text: str


def main() -> None:
    """Try the drawn mutants, and exit with 1 if one survives."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--judging", type=int, default=10, help="mutants of measures and verdicts")
    parser.add_argument("--others", type=int, default=20, help="mutants of all other rooms")
    parser.add_argument("--list", action="store_true", help="only list the mutants: nothing is run")
    given = parser.parse_args()
    root: Path = given.checkout.resolve()
    here = root == Path(__file__).parents[1]
    if not given.list and (here or _run(root, "git", "status", "--porcelain")):
        sys.exit(f"{root}: name another checkout than this one, without changes: it is changed")
    survived = 0
    for mutant in drawn(root, given.judging, given.others, random.Random(given.seed)):  # noqa: S311 (no secret)
        print(f"{mutant.path.relative_to(root)}:{mutant.line}", flush=True)
        print(f"  - {mutant.before}\n  + {mutant.after}", flush=True)
        if not given.list:
            killer = _killer(root, mutant)
            survived += killer is None
            print(f"  {killer or 'SURVIVED'}", flush=True)
    if not given.list:
        print(f"{given.judging + given.others} mutants, {survived} survived")
    sys.exit(bool(survived))


def drawn(root: Path, judging: int, others: int, rng: random.Random) -> list[Mutant]:
    """Draw so many mutants of the rooms that judge, and of all others."""
    pools: tuple[list[Mutant], list[Mutant]] = ([], [])
    for path in sorted((root / "rmaudit").rglob("*.py")):
        inside = path.relative_to(root / "rmaudit").parts[0] in JUDGING
        text = path.read_text(encoding="utf-8")
        pools[not inside].extend(mutants_of(path, text, numbers=inside))
    return [*rng.sample(pools[0], judging), *rng.sample(pools[1], others)]


def mutants_of(path: Path, text: str, *, numbers: bool) -> Iterator[Mutant]:
    """Yield each mutant of a module, of all its `numbers` or of 0 and 1 in functions alone."""
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    few = {id(node) for function in functions for line in function.body for node in ast.walk(line)}
    for node in _running(tree):
        tuned = isinstance(node, ast.Constant) and not (id(node) in few and node.value in {0, 1})
        if tuned and not numbers:
            continue
        for start, end, new in _changes(node, lines):
            line, left = start
            last, right = end
            head, tail = lines[line - 1].encode()[:left], lines[last - 1].encode()[right:]
            after = (head + new.encode() + tail).decode()
            yield Mutant(
                path,
                line,
                "".join(lines[line - 1 : last]).strip(),
                after.strip(),
                "".join([*lines[: line - 1], after, *lines[last:]]),
            )


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those of types, decorators, imports, and `strict`, which guards zips."""
    for name, value in ast.iter_fields(tree):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not (
                isinstance(child, ast.Import | ast.ImportFrom)
                or getattr(child, "arg", "") == "strict"
            ):
                yield child
                yield from _running(child)


_At = tuple[int, int]  # a line, from 1, and an offset in bytes


def _changes(node: ast.AST, lines: Sequence[str]) -> Iterator[tuple[_At, _At, str]]:
    """Yield what may stand in place of a part of a node: where it begins and ends, and the new."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield from _between(left, right, SWAPS.get(type(operator)), lines)
        case ast.BinOp(left=left, op=operator, right=right):
            if not any(isinstance(side, ast.Constant | ast.JoinedStr) and
                       not isinstance(getattr(side, "value", ""), int | float)
                       for side in (left, right)):  # fmt: skip
                yield from _between(left, right, SWAPS.get(type(operator)), lines)
        case ast.BoolOp(op=operator, values=[left, right]):
            yield from _between(left, right, SWAPS.get(type(operator)), lines)
        case ast.UnaryOp(op=ast.Not()):
            line, at = _start(node)
            yield (line, at), (line, at + len("not ")), ""
        case ast.Constant(value=bool() as value):
            yield _start(node), _end(node), str(not value)
        case ast.Constant(value=int() as value):
            yield _start(node), _end(node), str(value + 1)
        case ast.Constant(value=float() as value) if value:
            yield _start(node), _end(node), str(value * 1.3)


def _between(
    left: ast.expr, right: ast.expr, new: str | None, lines: Sequence[str]
) -> Iterator[tuple[_At, _At, str]]:
    """Yield the operator between two operands that stand in one line without brackets between."""
    if new is None or left.end_lineno != right.lineno:
        return
    start, end = _end(left), _start(right)
    between = lines[start[0] - 1].encode()[start[1] : end[1]].decode()
    if not set("()[]#") & set(between):
        yield start, end, f" {new} "


def _start(node: ast.expr) -> _At:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> _At:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _killer(root: Path, mutant: Mutant) -> str | None:
    """Return the first test that fails, or None; the module is as it was afterwards."""
    was, stat = mutant.path.read_text(encoding="utf-8"), mutant.path.stat()
    module = mutant.path.stem
    tests = root / "tests"
    own = list(tests.rglob(f"test_{module}.py"))
    naming = [
        path
        for path in sorted(tests.rglob("test_*.py"))
        if module in path.stem or f"import {module}" in (text := path.read_text(encoding="utf-8"))
        or f".{module} import" in text
    ]  # fmt: skip
    room = [tests / mutant.path.relative_to(root / "rmaudit").parts[0]]
    near = [*naming, *room] if room[0].is_dir() else naming
    try:
        mutant.path.write_text(mutant.text, encoding="utf-8")
        for where, which in (
            (own, FAST),
            (naming, FAST),
            (near, FAST),
            (near, SLOW),
            ([tests], FAST),
        ):
            if where and (found := _first_failure(root, where, which)):
                return found
    finally:
        mutant.path.write_text(was, encoding="utf-8")
        # A mutant of the same size and second would else be taken for it, as it was compiled.
        os.utime(mutant.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return None


def _first_failure(root: Path, tests: list[Path], which: str) -> str | None:
    """Run tests until one fails; a mutant that hangs is noticed after twenty minutes."""
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
    command = [sys.executable, "-m", "pytest", *options, "-m", which, *map(str, tests)]
    env = os.environ | {"PYTHONPATH": str(root)}
    try:
        ran = subprocess.run(  # noqa: S603  (pytest)
            command, cwd=root, env=env, capture_output=True, text=True, check=False, timeout=1200
        )
    except subprocess.TimeoutExpired:
        return "the tests do not end"
    if ran.returncode in {0, 5}:
        return None
    named = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return named[0].partition(" - ")[0] if named else f"pytest exits with {ran.returncode}"


def _run(root: Path, *command: str) -> str:
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout  # noqa: S603  (git)


if __name__ == "__main__":
    main()
