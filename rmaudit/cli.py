"""The command line beside pytest: what is here, and how to get what is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from rmaudit.errors import RmauditError
from rmaudit.paths import default_cache
from rmaudit.prompts import PROMPTS
from rmaudit.references.sources import SOURCES, locate
from rmaudit.registry import FILE, Dtype, ModelSpec, default_path, load_registry, resolve

app = typer.Typer(
    help="Audits of reward models. The audits themselves run under pytest: pytest audits",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def data(
    names: Annotated[list[str] | None, typer.Argument(help="which; all if none is named")] = None,
) -> None:
    """Get the reference data (lexicons, human ratings), check it and say where it is."""
    failed = False
    if unknown := [name for name in names or [] if name not in SOURCES]:
        _fail(f"unknown reference {unknown[0]!r}; known: {', '.join(SOURCES)}")
    for name in names or list(SOURCES):
        try:
            typer.echo(f"{name}: {locate(name)} ({SOURCES[name].licence})")
        except RmauditError as error:
            failed = True
            typer.echo(str(error), err=True)
    if failed:
        raise typer.Exit(1)


@app.command()
def models(
    file: Annotated[Path | None, typer.Option(help="the registry (default: models.yaml)")] = None,
) -> None:
    """List the models that `pytest audits --model NAME` knows by name."""
    try:
        registry = load_registry(file or default_path())
    except RmauditError as error:
        _fail(str(error))
    width = max(map(len, registry.models))
    for spec in registry.models.values():
        mark = "*" if spec.default else " "
        typer.echo(f"{mark} {spec.name.ljust(width)}  {spec.source}")


@app.command()
def organism(
    name: Annotated[str, typer.Argument(help="identity-penalty, balanced or shuffled")],
    cache: Annotated[Path | None, typer.Option(help="where built models are kept")] = None,
) -> None:
    """Build a checkpoint with a known flaw; print its registry, for pytest audits --rm-models."""
    from rmaudit.organisms import checkpoints

    try:
        typer.echo(checkpoints.build(name, cache or default_cache()) / FILE)
    except RmauditError as error:
        _fail(str(error))


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="the authors' data/, or a folder in or above it")],
    model: Annotated[
        list[str] | None, typer.Option(help="only this one; may be repeated (default: all)")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="where sweeps are kept")] = None,
    file: Annotated[Path | None, typer.Option(help="the registry (default: models.yaml)")] = None,
) -> None:
    """Take in published scores, for audits without weights (pytest audits --rm-recorded)."""
    try:
        registry = load_registry(file or default_path())
        specs = {spec.name: spec for name in model or ["*"] for spec in resolve(registry, name)}
    except RmauditError as error:
        _fail(str(error))
    if not folder.is_dir():
        _fail(f"{folder}: there is no such folder; name one with the authors' CSV files")
    if not _import(folder, list(specs.values()), cache or default_cache(), asked=bool(model)):
        raise typer.Exit(1)


@app.command()
def survival(
    model: Annotated[str, typer.Argument(help="a registry name, a folder or a hub id")],
    template: Annotated[
        Path | None, typer.Option(help="a chat template in place of the model's own")
    ] = None,
    prompt: Annotated[str, typer.Option(help=f"{', '.join(PROMPTS)}, or any text")] = "greatest",
) -> None:
    """Count the token ids that the paper's protocol scores as themselves. Needs no weights."""
    try:
        for line in _survival(_tokenizer_only(model, template), prompt):
            typer.echo(line)
    except RmauditError as error:
        _fail(str(error))


@app.command()
def doctor(  # noqa: PLR0913, PLR0917  (its options)
    model: Annotated[str, typer.Argument(help="a registry name, a folder or a hub id")],
    prompt: Annotated[str, typer.Option(help=f"{', '.join(PROMPTS)}, or any text")] = "greatest",
    answers: Annotated[int, typer.Option(min=8, help="how many token ids to score")] = 256,
    device: Annotated[str, typer.Option(help="auto, spread, cpu, cuda:0 ...")] = "auto",
    dtype: Annotated[
        Dtype | None, typer.Option(help="in place of the registry's", case_sensitive=False)
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="where built models are kept")] = None,
) -> None:
    """Check that rmaudit scores a model as it scores itself, and measure its numeric noise."""
    try:
        found = _doctor(model, prompt, answers=answers, device=device, dtype=dtype, cache=cache)
    except RmauditError as error:
        _fail(str(error))
    if not found:
        raise typer.Exit(1)


def _doctor(  # noqa: PLR0913  (its options)
    name: str, prompt: str, *, answers: int, device: str, dtype: Dtype | None, cache: Path | None
) -> bool:
    from rmaudit.models import doctor
    from rmaudit.models.checkpoint import Checkpoint
    from rmaudit.models.load import load

    model = load(name, cache=cache, device=device, dtype=dtype)
    if not isinstance(model, Checkpoint):
        _fail(f"{model.name} is no checkpoint: there is nothing to compare its rewards with")
    text = PROMPTS[prompt].text if prompt in PROMPTS else prompt
    found = doctor.examine(model, text, answers=answers)
    ids = f"{len(found.slot.prefix)} + answer + {len(found.slot.suffix)} ids"
    typer.echo(f"{model.name}: {found.dtype} on {found.device}, path '{found.path}', {ids}")
    typer.echo(f"in sd of the rewards ({found.sd:.4g}):")
    width = max(len(check.name) for check in found.checks)
    typer.echo(f"  {'check'.ljust(width)}  answers   largest       rms   allowed")
    for check in found.checks:
        allowed = "" if check.allowed is None else f"{check.allowed:9.1e}  "
        verdict = "" if check.allowed is None else "ok" if check.ok else "NOT EXACT"
        line = f"{check.answers:7d}  {check.largest:8.1e}  {check.rms:8.1e} {allowed}{verdict}"
        typer.echo(f"  {check.name.ljust(width)}  {line.rstrip()}")
    for note in found.notes:
        typer.echo(f"  {note}")
    typer.echo(f"numeric noise: {found.noise:.1e} sd, {found.noise * found.sd:.2g} in rewards")
    return found.ok


def _import(folder: Path, specs: list[ModelSpec], cache: Path, *, asked: bool) -> bool:
    """Whether all tables could be imported, some at all, and some of each model asked for."""
    from rmaudit.models.recorded import Recorded
    from rmaudit.sweeps import published
    from rmaudit.sweeps.store import Store

    models, whole = [Recorded(spec) for spec in specs], True
    found: dict[str, set[str]] = {published.TOKENS: set(), published.ITEMS: set()}
    paths = (path for depth in ("", "*/", "*/*/") for path in folder.glob(f"{depth}*.csv"))
    for path in sorted(paths):
        try:
            imported = published.import_table(path, models, Store(cache))
        except RmauditError as error:
            whole = False
            typer.echo(str(error), err=True)
            continue
        if imported is None:
            continue
        if not imported.models:
            typer.echo(f"{path}: passed over, it is of none of these models")
            continue
        typer.echo(f"{path}: {imported.said}; {', '.join(imported.models)}")
        found[imported.answers].update(imported.models)
    if unswept := [m for m in models if m.files and m.name not in found[published.TOKENS]]:
        names = ", ".join(model.name for model in unswept)
        typer.echo(f"no table of tokens, such as {unswept[0].files[0]}, is there of: {names}")
    lacking = [m.name for m in models if not any(m.name in names for names in found.values())]
    if lacking and (asked or len(lacking) == len(models)):
        typer.echo(f"{folder} has no published scores of {', '.join(lacking)}", err=True)
        return False
    return whole


def _tokenizer_only(model: str, template: Path | None) -> ModelSpec:
    """What `model` means; unlike a checkpoint to be scored, a folder needs no config.json."""
    if template is not None and not template.is_file():
        _fail(f"template: there is no file {template}")
    registry, folder = load_registry(default_path()), Path(model)
    if model and model not in registry.models and folder.is_dir():
        spec = ModelSpec(folder.resolve().name, str(folder.resolve()))
    else:
        specs = resolve(registry, model)
        if len(specs) != 1:
            _fail(f"{model!r} means {len(specs)} models; name one")
        spec = specs[0]
    return replace(spec, template=str(template)) if template is not None else spec


def _survival(spec: ModelSpec, prompt: str) -> Iterator[str]:
    from rmaudit.models import conversation, files, retokenized, tokenizers
    from rmaudit.sweeps import survival

    text = PROMPTS[prompt].text if prompt in PROMPTS else prompt
    tokenizer = tokenizers.read(files.locate(spec, default_cache(), weights=False), spec)
    vocabulary = tokenizers.vocabulary(tokenizer)
    slot = conversation.render(tokenizer, text, model=spec.name)
    rows = retokenized.rows(tokenizer, text, vocabulary.texts, model=spec.name)
    result = survival.survival(vocabulary, slot, rows, closing=retokenized.closing(tokenizer))
    total = len(rows)
    yield f"{spec.name}: {total:,} token ids, {text!r}"
    yield "decoded, rendered and tokenized anew, as the paper did, an id becomes:"
    for fate, count in result.counts.items():
        shown = ", ".join(survival.examples(result, fate))
        line = f"  {fate:<14} {count:>9,}  {100 * count / total:6.2f} %"
        yield f"{line}  ids {shown}" if shown else line
    yield f"  {'different rows':<14} {result.distinct_rows:>9,}"
    yield f"BOS at the start of each row: {'two' if result.doubled_bos else 'not doubled'}"
    if result.closing:
        yield f"ids that the tokenizer adds at the end of each row: {list(result.closing)}"


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    app()
