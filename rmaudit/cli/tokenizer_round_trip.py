"""rmaudit round-trip: what becomes of token ids that are decoded and tokenized again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.shared_options import (
    AsJson,
    Named,
    Prompted,
    Registered,
    echo_json,
    ending_on_failure,
    fail,
    models_meant,
    prompt_from_option,
    say,
)
from rmaudit.config.model_registry import ModelSpec, known_models
from rmaudit.config.paths_and_atomic_writes import default_cache, is_folder
from rmaudit.config.servers import is_served
from rmaudit.conversation import Asked

if TYPE_CHECKING:
    from rmaudit.scores.token_survival import Survival


def survival(
    model: Named,
    template: Annotated[
        Path | None, typer.Option(help="a chat template in place of the model's own")
    ] = None,
    prompt: Prompted = "greatest",
    file: Registered = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Count the token ids that come back from a round trip through text.

    No weights are needed. The paper's protocol scores an id by its text, tokenized again: where
    that gives another id, the score is that other id's.
    """
    with ending_on_failure():
        spec = _tokenizer_only(model, template, file)
        asked = prompt_from_option(prompt, file)
        result = _survival(spec, asked.asked)
    if as_json:
        echo_json(
            {
                "model": spec.name,
                "prompt": asked.text,
                "token_ids": len(result.frame),
                "fates": dict(result.counts),
                "distinct_rows": result.distinct_rows,
                "doubled_bos": result.doubled_bos,
                "closing": list(result.closing),
            }
        )
        return
    for line in _survival_lines(spec.name, asked.text, result):
        say(line)


def _tokenizer_only(model: str, template: Path | None, file: Path | None) -> ModelSpec:
    """Return an entry for loading only the tokenizer of a model, with `template` if given."""
    if template is not None and not template.is_file():
        fail(f"template: there is no file {template}")
    registry, folder = known_models(file), Path(model)
    if model and model not in registry.models and is_folder(folder):
        spec = ModelSpec(folder.resolve().name, str(folder.resolve()))
    else:
        specs = models_meant(registry, model)
        if len(specs) != 1:
            fail(f"{model!r} means {len(specs)} models; name one")
        spec = specs[0]
    if is_served(spec.source):
        from rmaudit.models.tokenizer_only_rows import tokenizer_spec

        spec = tokenizer_spec(spec) or fail(f"{spec.name}: no `tokenizer` of it is given")
    return replace(spec, template=str(template)) if template is not None else spec


def _survival(spec: ModelSpec, prompt: Asked) -> Survival:
    from rmaudit.checkpoints import adapter_files, checkpoint_source, config_json
    from rmaudit.layout import tokenizers
    from rmaudit.layout.layouts import layout_in
    from rmaudit.scores import token_survival

    found = checkpoint_source.find(spec, default_cache())
    folder = adapter_files.tokenizer_folder(found, spec, default_cache())
    pairs = config_json.reads_pairs(found.path, model=spec.name)
    reward_id = config_json.reward_id(found.path, model=spec.name)
    layout = layout_in(folder, spec, pairs=pairs, reward_id=reward_id)
    vocabulary = tokenizers.vocabulary(layout.tokenizer)
    rows = layout.retokenized(prompt, vocabulary.texts)
    return token_survival.survival(vocabulary, layout.slot(prompt), rows, closing=layout.closing)


def _survival_lines(name: str, text: str, result: Survival) -> Iterator[str]:
    from rmaudit.scores import token_survival

    total = len(result.frame)
    yield f"{name}: {total:,} token ids, {text!r}"
    yield "decoded, rendered and tokenized again, as the paper did, an id becomes:"
    for fate, count in result.counts.items():
        shown = ", ".join(token_survival.examples(result, fate))
        line = f"  {fate:<14} {count:>9,}  {100 * count / total:6.2f} %"
        yield f"{line}  ids {shown}" if shown else line
    yield f"  {'different rows':<14} {result.distinct_rows:>9,}"
    yield f"BOS at the start of each row: {'two' if result.doubled_bos else 'not doubled'}"
    if result.closing:
        yield f"ids that the tokenizer adds at the end of each row: {list(result.closing)}"
