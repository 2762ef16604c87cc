"""What rmaudit would do with a model, from config.json, the tokenizer and safetensors headers.

Nothing is scored, no weights are read or downloaded, and no code of a checkpoint is run.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rmaudit.checkpoints import adapters, embedded, hub, peek, source, trust
from rmaudit.checkpoints.headers import Headers
from rmaudit.checkpoints.heads import Shapes, linear
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout import chat
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.prompts import PROMPTS

if TYPE_CHECKING:
    from transformers import PretrainedConfig

REFUSED, WIDTH = "refused", 13
Line = tuple[str, str]  # a label, and what is said

_SHOWN = 4  # keys of a head
_EMBEDDINGS = ("embed_tokens.weight", "word_embeddings.weight", "wte.weight", "embed_in.weight")
_DAYS = ("%d %b %Y", "%Y-%m-%d", "%d %B %Y", "%B %d, %Y")


def look(spec: ModelSpec, cache: Path, called: str) -> Iterator[Line]:
    """What is found, and what is refused and why; if nothing is, how to audit it.

    `called` is what `--model` means it by.
    """
    refused = False
    for label, said in _found(spec, cache):
        refused |= label == REFUSED
        yield label, said.removeprefix(f"{spec.name}: ")
    if not refused:
        yield "can be scored", f"pytest audits --model {shlex.quote(called)}"


def _found(spec: ModelSpec, cache: Path) -> Iterator[Line]:
    if spec.source == "embedded" and not embedded.folder_in(cache).is_dir():
        yield "weights", "not built yet; the first audit downloads its base (93 MB) and builds it"
        return
    try:
        folder = source.locate(spec, cache, weights=False)
        if (folder / source.ADAPTER).is_file() and not spec.trust_remote_code:
            yield from _adapter(spec, cache, folder)
            return
        config = source.read_config(folder, model=spec.name)
        commit = hub.commit(folder)
        if commit:
            yield (
                "revision",
                f"{commit} ({'pinned' if spec.revision else 'the newest, not pinned'})",
            )
        architecture = str((config.get("architectures") or ["(none)"])[0])
        yield "architecture", f"{architecture}, model_type {config.get('model_type')}"
        there = peek.weights(folder, spec.source, model=spec.name)
        yield "weights", _weights(there)
        if spec.trust_remote_code:
            yield from _own_code(spec, folder)
            return
        config = source.check(
            folder, model=spec.name, logit=spec.logit, quantized=spec.quantized, there=there
        )
        head = source.head(folder, config, model=spec.name, there=there)
        shapes = {key: header.shape for key, header in there.items()}
        yield "head", f"{head.family.NAME}: {_keys(shapes, head.keys)}"
        model = Checkpoint(spec, cache=cache, headers=there)
    except ModelError as error:
        yield REFUSED, str(error)
        return
    yield from _runs(model, folder, there)


def _adapter(spec: ModelSpec, cache: Path, folder: Path) -> Iterator[Line]:
    """What an adapter is merged into, and the same of both as of a checkpoint."""
    adapter = adapters.find(folder, spec, cache, weights=False)
    if adapter is None:  # which the caller has ruled out
        return
    yield "adapter", f"{adapter.config}, merged into its base as it is loaded"
    at = "" if adapter.revision is None else f" at {adapter.revision}"
    yield "base", f"{adapter.named}{at}"
    if adapter.revision is not None and not hub.has_weights(adapter.base):
        yield "base weights", "not here yet; the first audit downloads them"
    yield "weights", _weights(adapter.there)
    model = Checkpoint(spec, cache=cache, headers=adapter.there)
    shapes = {key: header.shape for key, header in adapter.there.items()} | dict(adapter.added)
    yield "head", f"{linear.NAME}: {_keys(shapes, frozenset({linear.KEY}))}"
    yield from _runs(model, adapter.base, adapter.there)


def _weights(there: Headers) -> str:
    size = sum(header.bytes for header in there.values())
    kinds = sorted({header.dtype for header in there.values()})
    return f"{size / 1e9:,.2f} GB in {len(there)} tensors of {', '.join(kinds)}"


def _keys(shapes: Shapes, keys: frozenset[str]) -> str:
    shown = [f"{key} {shapes[key]}" for key in sorted(keys)[:_SHOWN]]
    return ", ".join(shown) + (f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else "")


def _own_code(spec: ModelSpec, folder: Path) -> Iterator[Line]:
    """What a run would execute; this does not."""
    trust.refuse_loose(spec)
    trust.refuse_foreign(folder, spec)
    source.refuse_adapter(folder, model=spec.name)
    config = source.read_config(folder, model=spec.name)
    source.refuse_quantized(config, folder, spec.name, wanted=spec.quantized)
    named = [code for name in trust.MAPPED for code in trust.code(folder / name)]
    yield "its own code", f"{', '.join(named) or 'none'}: a run executes it, this check did not"
    yield "reward", f"{spec.score_field or 'logits'} of its output"


def _runs(model: Checkpoint, folder: Path, there: Headers) -> Iterator[Line]:
    """How the trunk is run and read, and what the tokenizer makes of a prompt."""
    try:
        settings = model.settings
        defaults = source.defaults(folder, model=model.name)
        if settings["head"] == linear.NAME:
            source.refuse_unclassified(folder, defaults.model_type, model=model.name)
    except ModelError as error:
        yield REFUSED, str(error)
        return
    for key in ("pool", "dtype", "path"):
        yield key, settings[key]
    yield from _rows(defaults, there)
    try:
        tokenizer = model.tokenizer
        ids, rows = len(tokenizer), defaults.get_text_config().vocab_size
        known = len(model.vocabulary().ids)
        yield "vocabulary", f"{ids:,} ids in the tokenizer, {rows:,} rows; {known:,} are scored"
        slot = model.slot(PROMPTS["greatest"].text)
    except ModelError as error:
        yield REFUSED, str(error)
        return
    days = [chat.TODAY.strftime(form) for form in _DAYS]
    dated = any(day in slot.prefix_text for day in days)
    yield "template", f"prints a date, pinned to {days[0]}" if dated else "prints no date"
    yield "prefix", f"{len(slot.prefix)} ids: {slot.prefix_text!r}"
    yield "suffix", f"{len(slot.suffix)} ids: {slot.suffix_text!r}"


def _rows(defaults: PretrainedConfig, there: Headers) -> Iterator[Line]:
    """An embedding of other rows than config.json says is refused when the weights are loaded."""
    said = defaults.get_text_config().vocab_size
    for key, header in there.items():
        if key.endswith(_EMBEDDINGS) and header.shape[0] != said:
            what = f"{key!r} has {header.shape[0]:,} rows, and config.json says vocab_size {said:,}"
            yield REFUSED, f"{what}: one of them is another model's, get the checkpoint again"
