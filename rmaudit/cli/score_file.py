"""rmaudit score: the rewards of a file's prompts and answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.shared_options import (
    USAGE,
    AsJson,
    Loading,
    echo_json,
    ending_if_unwritable,
    ending_on_failure,
    fail,
    grouped,
    say,
)
from rmaudit.config.paths_and_atomic_writes import in_place_of

if TYPE_CHECKING:
    import pandas as pd

_WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    ".parquet": lambda frame, path: frame.to_parquet(path, index=False),
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}
FileNamed = Annotated[
    Path, typer.Argument(help="JSON Lines: a prompt and a response, or responses, a line")
]
ModelNamed = Annotated[
    str, typer.Option("--model", help="a name in the registry, a folder or a hub id")
]
Out = Annotated[
    Path, typer.Option(help=f"the file to write: {', '.join(_WRITERS)}; columns as below")
]


@grouped
def score(
    answers: FileNamed, *, model: ModelNamed, out: Out, loading: Loading, as_json: AsJson = False
) -> None:
    """Score prompts and answers of a file, such as samples for best-of-n.

    The result has a row for each answer, in the order of the file: `line` (of the file, from 1),
    `prompt`, `response` and `reward` (the model's own units, higher is better).

    Answers to one prompt are scored together. Scores are kept in the cache: what was stopped goes
    on, and the same file is read back.
    """
    if out.suffix not in _WRITERS:
        fail(f"--out {out}: its ending is {out.suffix!r}; known: {', '.join(_WRITERS)}", USAGE)
    with ending_on_failure():
        from rmaudit.models.model_factory import load
        from rmaudit.scores.answer_files import read, rewards

        given = read(answers)
        scorer = load(
            model,
            registry=loading.file,
            cache=loading.folder,
            device=loading.device,
            dtype=loading.dtype,
        )
        told = given.drop(columns="turns")  # `prompt` has them as people read them
        found = told.assign(reward=rewards(scorer, given, cache=loading.scores).scores)
    with ending_if_unwritable(f"--out {out}"), in_place_of(out) as own:
        _WRITERS[out.suffix](found, own)
    about = {"answers": len(found), "prompts": int(found["prompt"].nunique()), "out": str(out)}
    if as_json:
        echo_json(about)
    else:
        say(f"{about['answers']:,} answers to {about['prompts']:,} prompts: {out}")
