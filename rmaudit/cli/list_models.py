"""Run `rmaudit models`: the models of the registry, and how one of them would be scored."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from rmaudit.cli.printing import FAILED, echo_json, fail, say, show
from rmaudit.cli.shared_options import AsJson, Cached, Registered, models_meant
from rmaudit.config.model_registry import ModelSpec, Registry, known_models
from rmaudit.config.paths_and_atomic_writes import default_cache


class _ModelsGroup(TyperGroup):
    """Typer group of `rmaudit models` that explains the error of naming a model after it."""

    def resolve_command(self, context: Any, args: list[str]) -> Any:  # noqa: ANN401  (typer's own)
        """Find a subcommand; for a model's name in its place, end with a hint to `models check`."""
        if self.get_command(context, args[0]) is None and not args[0].startswith("-"):
            instead = f"to look at one model: rmaudit models check {shlex.quote(args[0])}"
            fail(f"`rmaudit models` lists models and has no command {args[0]!r}; {instead}")
        return super().resolve_command(context, args)


app = typer.Typer(
    cls=_ModelsGroup,
    invoke_without_command=True,
    epilog="Example: rmaudit models; rmaudit models check N-Lla-8B",
)


@app.callback()
def models(
    context: typer.Context,
    file: Registered = None,
    cache: Cached = None,
    *,
    keys: Annotated[
        bool, typer.Option("--keys", help="explain the keys of models.yaml instead")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the models that have a name, and say what of each is on this machine.

    The names are those of `pytest audits --model NAME`. Here is on this machine: weights that are
    downloaded or built, and scores in the cache.
    """
    context.obj = (file, cache)
    if context.invoked_subcommand is not None:
        _refuse_options_of_the_list({"--json": as_json, "--keys": keys})
        return
    if keys:
        show(meanings(), explanation().splitlines(), as_json=as_json)
        return
    registry = known_models(file)
    listed = _listed(registry, cache or default_cache())
    show(listed, _lines(listed, by_file=bool(registry.bundled)), as_json=as_json)


def _refuse_options_of_the_list(given: dict[str, bool]) -> None:
    for option in (option for option, is_given in given.items() if is_given):
        instead = "write it after `check`" if option == "--json" else "leave it out of `check`"
        fail(f"{option} is of the list, `rmaudit models {option}`; {instead}")


_HEAD = """\
# The reward models that `pytest audits --model NAME` knows by name.
#
# This file is data only: names, numbers, texts and lists. It has no expressions, templates or
# imports, and YAML's anchors, aliases, tags and merge keys are refused. A key that is unknown,
# written twice or of the wrong type is an error with its line number.
#
# models:              one entry per model, under the name that `--model` and the reports use
#   NAME:
"""
_TAIL = """\
# bounds, severity:    the same for all models that do not say otherwise
#
# Words of one's own (docs/how-to/own-words.md), which may stand in a file for --rm-prompts as well:
"""


def explanation() -> str:
    """Return the comment at the head of a models.yaml: every key and what it means."""
    from rmaudit.config.models_yaml_schema import OWN

    entry = "".join(_comment_lines(*each) for each in meanings().items())
    own = "".join(_comment_lines(*each, indent=1) for each in _meanings_of(OWN).items())
    return _HEAD + entry + _TAIL + own


def meanings() -> dict[str, str]:
    """Return the explanation of each key of a model's entry in models.yaml, by key."""
    from rmaudit.config.models_yaml_schema import EntryPolicy

    return _meanings_of(ModelSpec) | _meanings_of(EntryPolicy)


def _meanings_of(kind: type) -> dict[str, str]:
    hints = get_type_hints(kind, include_extras=True)
    keys = {name: hint for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    return {name: hint.__metadata__[0].meaning for name, hint in keys.items()}


def _comment_lines(name: str, meaning: str, *, indent: int = 5) -> str:
    first, rest = "#" + " " * indent + f"{name:<{22 - indent}} ", "#" + " " * 23
    lines = textwrap.wrap(
        meaning, 100, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return "\n".join(lines) + "\n"


@app.command(epilog="Example: rmaudit models check '*Lla*'; rmaudit models check ./my-model")
def check(  # noqa: PLR0913  (its options)
    context: typer.Context,
    model: Annotated[
        str, typer.Argument(help="a name in the registry, a glob, a folder or a hub id")
    ],
    file: Registered = None,
    cache: Cached = None,
    *,
    weights: Annotated[
        bool, typer.Option("--weights", help="read the weights, too, and look for NaN in them")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how a model would be scored, or why it cannot be.

    Its configuration and headers are read; its weights only with --weights, file by file, and
    nothing is scored: `rmaudit doctor MODEL` does that.

    Exit code 0 if it can be scored, 1 if it is refused, 4 if there is no such model.
    """
    from rmaudit.models import scoring_description

    file_before, cache_before = context.obj  # as in `rmaudit models --file FILE check MODEL`
    cache = cache or cache_before or default_cache()
    registry = known_models(file or file_before)
    specs = models_meant(registry, model)
    checked: list[dict[str, Any]] = []
    for spec in specs:
        if not as_json:
            say(f"{spec.name}: {spec.source}")
        found = []
        called = spec.name if registry.models.get(spec.name) is spec else model
        for what, said in scoring_description.look(spec, cache, called, weights=weights):
            found.append({"what": what, "said": said})
            if not as_json:
                say(f"  {what.ljust(scoring_description.WIDTH)}  {said}")
        checked.append({"name": spec.name, "source": spec.source, "found": found})
    if as_json:
        echo_json(checked)
    if any(line["what"] == scoring_description.REFUSED for one in checked for line in one["found"]):
        raise typer.Exit(FAILED)


def _listed(registry: Registry, cache: Path) -> list[dict[str, Any]]:
    """Return what is said of each model as JSON: its entry, and what is here."""
    from rmaudit.checkpoints import checkpoint_source
    from rmaudit.scores.score_store import counts

    kept, listed = counts(cache), []
    for spec in registry.models.values():
        here = checkpoint_source.presence(spec, cache)
        sweeps, recorded = kept[spec.source]
        one: dict[str, Any] = {"name": spec.name, "source": spec.source}
        one |= {"revision": spec.revision, "default": spec.default}
        one |= {"file": registry.file_of(spec.name), "here": here}
        one |= {"sweeps": sweeps, "recorded": recorded}
        listed.append(one)
    return listed


def _lines(listed: list[dict[str, Any]], *, by_file: bool) -> Iterator[str]:
    """Yield a line for each model, in columns; `by_file` with a heading for each file."""
    names, sources = (max(len(one[key]) for one in listed) for key in ("name", "source"))
    for file, models in groupby(listed, key=itemgetter("file")):
        if by_file:
            yield f"{file}:"
        for one in models:
            mark = "*" if one["default"] else " "
            yield f"{mark} {one['name']:<{names}}  {one['source']:<{sources}}  {_in_words(one)}"


def _in_words(one: dict[str, Any]) -> str:
    """Return the list's words on a model: where its weights are, and its sweeps."""
    many = one["sweeps"]
    sweeps = f"{many} sweep{'s' if many > 1 else ''}" if many else ""
    said = [one["here"], sweeps, "recorded" if one["recorded"] else ""]
    return ", ".join(word for word in said if word)
