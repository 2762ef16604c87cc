"""Run `rmaudit data` (download reference data) and `data import` (store published scores)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from rmaudit.cli.printing import ERROR, echo_json, fail, say
from rmaudit.cli.shared_options import AsJson, Cached, Registered, models_meant
from rmaudit.config.model_registry import ModelSpec, known_models
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.errors import RmauditError, nearest
from rmaudit.references.sources import SOURCES, locate

if TYPE_CHECKING:
    from rmaudit.models.recorded_model import Recorded
    from rmaudit.scores.imported_scores import Imported

_GIVE = (
    "give a folder with the authors' CSV files, such as a clone of github.com/brchristian/"
    "reward_models_inherit_value_biases_from_pretraining (words) or of github.com/brchristian/"
    "reward_model_optimal_pessimal_tokens (whole vocabularies, in git-lfs)"
)


class _Data(TyperGroup):
    """Typer group in which whatever is not `import` names references to download."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  (typer's own)
        """Parse the arguments, with the command that downloads where none is named."""
        named = args[:1] == ["import"]
        return super().parse_args(ctx, args if named else ["get", *args])


app = typer.Typer(
    cls=_Data, help="Download the reference data, or with `data import` store published scores."
)


@app.command("get", hidden=True, epilog="Example: rmaudit data afinn elo")
def data(
    names: Annotated[list[str] | None, typer.Argument(help="which; all if none is named")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Download the reference data: lexicons and human ratings.

    Each file is checked; its path and its licence are printed. `rmaudit data import FOLDER` stores
    published scores of models.

    Exit code 3 if a part is missing and could not be downloaded.
    """
    if unknown := [name for name in names or [] if name not in SOURCES]:
        near = nearest(unknown[0], SOURCES)
        fail(f"unknown reference {unknown[0]!r};{near} known: {', '.join(SOURCES)}")
    _say_each(map(_located, names or SOURCES), as_json=as_json)


def _say_each(found: Iterable[tuple[str, dict[str, Any]]], *, as_json: bool) -> None:
    """Print each line as it comes, or all of its facts as JSON; exit with 3 if one is an error."""
    said = []
    for line, facts in found:
        said.append(facts)
        if not as_json:
            say(line, err="error" in facts)
    if as_json:
        echo_json(said)
    if any("error" in facts for facts in said):
        raise typer.Exit(ERROR)


def _located(name: str) -> tuple[str, dict[str, Any]]:
    """Return a line, and facts for JSON, on where a reference is; it is downloaded if need be."""
    licence = SOURCES[name].licence
    said = {"name": name, "licence": licence}
    try:
        path = str(locate(name))
    except RmauditError as error:  # whose advice, to run `rmaudit data`, just failed
        again = "try again, or set RMAUDIT_DATA to a folder that has the file"
        own, again = f"get it with: rmaudit data {name}", f"check the connection and {again}"
        wrong = str(error).replace(own, again)
        return wrong, said | {"error": wrong}
    return f"{name}: {path} ({licence})", said | {"path": path}


@app.command("import", epilog="Example: rmaudit data import ~/paper/data --model N-Gem-27B")
def import_(
    folder: Annotated[Path, typer.Argument(help="a clone of the authors', or a folder in it")],
    model: Annotated[
        list[str] | None, typer.Option(help="only this one; may be repeated (default: all)")
    ] = None,
    cache: Cached = None,
    file: Registered = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Store published scores, so that audits can run without weights.

    `pytest audits --rm-recorded` uses them.

    Exit code 3 if a table is wrong, or if a model has none that was asked for.
    """
    registry = known_models(file)
    specs = {spec.name: spec for name in model or ["*"] for spec in models_meant(registry, name)}
    sources = {spec.source for spec in specs.values()}
    every = [] if model else registry.models.values()  # published ones are rarely in models.yaml
    more = [spec for spec in every if spec.source not in sources]
    if not folder.is_dir():
        fail(f"{folder}: no such folder; {_GIVE}")
    where = cache or default_cache()
    own = list(specs.values())
    found = _import_tables(folder, own, where, more=more, models_named=bool(model))
    _say_each(found, as_json=as_json)


def _import_tables(
    folder: Path,
    specs: list[ModelSpec],
    cache: Path,
    *,
    more: list[ModelSpec],
    models_named: bool,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Import tables of scores; yield a line and a dict for JSON on each, and on missing ones.

    Tables are missing of `specs` alone; `more` are imported if the folder has scores of them.
    """
    from rmaudit.models.recorded_model import ITEMS, TOKENS, WORDS, Recorded
    from rmaudit.references import published_score_tables
    from rmaudit.scores import imported_scores
    from rmaudit.scores.score_store import Store

    models, store = [Recorded(spec) for spec in [*specs, *more]], Store(cache)
    found: dict[str, set[str]] = {TOKENS: set(), ITEMS: set(), WORDS: set()}
    words: dict[str, list[Path]] = {}
    for path in _table_files(folder):
        try:
            if published_score_tables.kind(path) == "words":
                words.setdefault(published_score_tables.model_in_name(path), []).append(path)
                continue
            table = imported_scores.import_table(path, models, store)
        except RmauditError as error:
            yield str(error), {"path": str(path), "error": str(error)}
            continue
        if table is not None:
            found[table.answers].update(table.models)
            yield _line_and_json(str(path), table)
    by_stem = {published_score_tables.stem_of(model.spec.source): model for model in models}
    for stem, paths in words.items():
        try:
            table = imported_scores.Imported(WORDS, (), "")
            if model := by_stem.get(stem):
                table = imported_scores.import_words(paths, model, store)
        except RmauditError as error:
            yield str(error), {"path": str(paths[0]), "error": str(error)}
            continue
        found[WORDS].update(table.models)
        where = os.path.commonpath(paths) if table.models else str(paths[0])
        yield _line_and_json(where, table)
    names = {spec.name for spec in specs}.union(*found.values())
    models = [model for model in models if model.name in names]
    yield from _lines_on_missing_tables(models, found, folder, models_named=models_named)


def _table_files(folder: Path) -> list[Path]:
    """Return the CSV and Parquet files at most three folders deep; Parquet if a file has both."""
    from rmaudit.references.published_score_tables import without_twins

    depths, ends = ("", "*/", "*/*/", "*/*/*/"), ("csv", "parquet")
    found = (path for depth in depths for end in ends for path in folder.glob(f"{depth}*.{end}"))
    return without_twins(path for path in found if path.is_file())


def _line_and_json(where: str, table: Imported) -> tuple[str, dict[str, Any]]:
    said = f"{', '.join(table.models)}: {table.said}; {where}"
    said = said if table.models else f"{where}: passed over, it is of none of these models"
    return said, {"path": where, "models": list(table.models), "said": table.said}


def _lines_on_missing_tables(
    models: list[Recorded], found: dict[str, set[str]], folder: Path, *, models_named: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a line and a dict for JSON on models without a token table, and on those without any.

    A table of tokens is expected of models that the user named, that the paper ranks, or that have
    scores of items; a table of words will do instead.
    """
    from rmaudit.models.recorded_model import ITEMS, TOKENS, WORDS

    missing = [model.name for model in models if model.name not in set().union(*found.values())]
    if not models_named and len(missing) == len(models):
        line = (
            f"{folder} has no published scores of the models that `rmaudit models` lists; {_GIVE}"
        )
        yield line, {"path": str(folder), "error": line}
        return
    expected = [
        m for m in models if models_named or m.spec.rewardbench_rank or m.name in found[ITEMS]
    ]
    swept = found[TOKENS] | found[WORDS]
    if unswept := [m for m in expected if m.files and m.name not in swept]:
        names = [model.name for model in unswept]
        line = f"no table of tokens, such as {unswept[0].files[0]}, is there of: {', '.join(names)}"
        yield line, {"unswept": names}
    if missing and models_named:
        line = f"{folder} has no published scores of {', '.join(missing)}"
        yield line, {"path": str(folder), "error": line}
