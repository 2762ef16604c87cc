"""Describe how a model would be scored, by config.json, tokenizer and safetensors headers.

Nothing is scored, nothing big is downloaded, and no code of a checkpoint is run. The numbers of the
weights are read only where that is asked for, tensor by tensor.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rmaudit.checkpoints import (
    adapter_files,
    bundled_model,
    checkpoint_source,
    config_json,
    head_detection,
    weights_headers,
)
from rmaudit.checkpoints.adapter_files import Adapter
from rmaudit.checkpoints.checked_checkpoint import Checked
from rmaudit.checkpoints.checkpoint_source import CheckpointFiles
from rmaudit.checkpoints.heads import linear
from rmaudit.checkpoints.heads.linear import Shapes
from rmaudit.checkpoints.weights_headers import Headers
from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.servers import KINDS
from rmaudit.errors import ModelError, RmauditError
from rmaudit.layout import chat_template
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.checkpoint_rows import CheckpointRows
from rmaudit.models.model_factory import Opening, kind_of, opened
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.models.text_scorer import TextScorer
from rmaudit.models.transformers_loader import refuse_misfits
from rmaudit.prompts import PROMPTS

if TYPE_CHECKING:
    from transformers import PretrainedConfig

REFUSED, WARNING, UNREAD, WIDTH = "refused", "warning", "not looked at", 13
Line = tuple[str, str]  # a label, and what is said

_READ = "`rmaudit models check {} --weights` looks for NaN among them, "
_RUN = "`rmaudit doctor {}` runs them"
_COMPARED = "whether it scores as its checkpoint; `rmaudit doctor {}` compares the two"
_SHOWN = 4  # keys of a head
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_DAYS = ("%d %b %Y", "%Y-%m-%d", "%d %B %Y", "%B %d, %Y")


def look(spec: ModelSpec, cache: Path, called: str, *, weights: bool = False) -> Iterator[Line]:
    """Yield lines (label, text) on how a model would be scored, or on why it is refused.

    Where nothing is refused, the last lines say how to audit the model and look further.
    `called` is its name for `--model`; with `weights`, the numbers of its weights are read.
    """
    refused = False
    for label, said in _lines(spec, cache, weights=weights):
        refused |= label == REFUSED
        yield label, said.removeprefix(f"{spec.name}: ")
    if not refused:
        yield "can be scored", f"pytest audits --model {shlex.quote(called)}"
        named, kind = shlex.quote(called), kind_of(spec)
        if kind in KINDS:
            yield UNREAD, _COMPARED.format(named)
        elif kind == "implicit":  # `doctor` compares with a head, and it has none
            yield UNREAD, "the numbers of the weights; the first audit reads them"
        elif kind == "checkpoint" and weights:
            yield UNREAD, f"what they give; {_RUN.format(named)}"
        elif kind == "checkpoint":
            yield UNREAD, f"the numbers of its weights; {_READ.format(named)}{_RUN.format(named)}"


def _lines(spec: ModelSpec, cache: Path, *, weights: bool) -> Iterator[Line]:
    if kind_of(spec) != "checkpoint":
        try:
            yield from cast("RewardModel | TextScorer", opened(spec, Opening(cache))).look()
        except RmauditError as error:
            yield REFUSED, str(error)
        return
    if spec.source == "embedded" and not bundled_model.folder_in(cache).is_dir():
        yield "weights", "not built yet; the first audit downloads its base (93 MB) and builds it"
        return
    try:
        found = checkpoint_source.find(spec, cache)
        if not (found.path / adapter_files.CONFIG).is_file():
            yield from _origin_lines(found, spec)
        looked = head_detection.look(found, spec, cache)
        if looked.adapter is not None:
            yield from _adapter_lines(looked.adapter)
        yield "weights", _size_and_types(looked.headers)
        own = [] if looked.base is found else [found]  # an adapter's
        yield from _finite_lines([looked.base, *own] * weights)
        checked = head_detection.check(looked)
        where = f" in {weights_headers.HEAD}" if checked.beside else ""
        yield "head", f"{checked.head.family.NAME}: {_keys(checked.head_shapes)}{where}"
        yield from _objective_lines(checked)
        for said in checked.cautions():
            yield WARNING, said
        rows = CheckpointRows(checked, cache)
        refuse_misfits(rows)
    except ModelError as error:
        yield REFUSED, str(error)
        return
    yield from _scoring_lines(Checkpoint(spec, cache=cache, rows=rows), checked.defaults)


def _objective_lines(checked: Checked) -> Iterator[Line]:
    """Yield a line on the head's outputs if it has several: the one that is audited, or all."""
    if (names := checked.objectives) and (at := checked.objective) is not None:
        yield "objective", f"{names[at]}, output {at} of {len(names)}"
    elif names:
        yield "objectives", f"{', '.join(names)}: audit one as NAME#{names[0]}"


def _origin_lines(found: CheckpointFiles, spec: ModelSpec) -> Iterator[Line]:
    """Yield lines on the checkpoint's commit and architecture, before anything is checked."""
    config = config_json.read(found.path, model=spec.name)
    if commit := checkpoint_source.commit_of(found.path):
        yield "revision", f"{commit} ({'pinned' if spec.revision else 'the newest, not pinned'})"
    kind = linear.architecture(config)
    yield "architecture", f"{kind}, model_type {config.get('model_type')}"


def _adapter_lines(adapter: Adapter) -> Iterator[Line]:
    """Yield lines on an adapter and on the base model that it is merged into."""
    yield "adapter", f"{adapter.config}, merged into its base as it is loaded"
    at = "" if adapter.revision is None else f" at {adapter.revision}"
    yield "base", f"{adapter.named}{at}"
    if said := adapter.base_in_training:
        yield "trained on", f"a quantized base ({said!r} in README.md), merged into that one"
    if not isinstance(adapter.base, checkpoint_source.Folder):
        yield "base weights", "not here yet; the first audit downloads them"


def _size_and_types(there: Headers) -> str:
    size = sum(header.bytes for header in there.values())
    kinds = sorted({header.dtype for header in there.values()})
    return f"{_in_bytes(size)} in {len(there)} tensors of {', '.join(kinds)}"


def _finite_lines(checkpoints: Iterable[CheckpointFiles]) -> Iterator[Line]:
    """Yield a line on whether each checkpoint's weights are finite, or are not on this machine."""
    for found in checkpoints:
        if not isinstance(found, checkpoint_source.Folder):
            yield "numbers", "not here yet, so not looked at; the first audit downloads them"
            continue
        files = [found.path / weights_headers.ADAPTER]
        if not files[0].is_file():
            files = weights_headers.weights_paths(found.path, model=found.model)
        files += weights_headers.separate_head(found.path)
        if odd := weights_headers.find_non_finite(files, model=found.model):
            again = "copy or download the checkpoint again, or take an earlier one of its training"
            yield REFUSED, f"{odd} holds NaN or infinity: {again}"
        else:
            yield "numbers", f"all finite in {', '.join(path.name for path in files)}"


def _in_bytes(size: int) -> str:
    """Return a size in bytes as text with a fitting unit (GB, MB or kB), such as "1.50 GB"."""
    unit, name = next((each for each in _UNITS if size >= each[0]), _UNITS[-1])
    return f"{size / unit:,.2f} {name}"


def _keys(shapes: Shapes) -> str:
    shown = [f"{key} {shape}" for key, shape in list(shapes.items())[:_SHOWN]]
    return ", ".join(shown) + (f" and {len(shapes) - _SHOWN} more" if len(shapes) > _SHOWN else "")


def _scoring_lines(model: Checkpoint, defaults: PretrainedConfig) -> Iterator[Line]:
    """Yield lines on pooling, dtype, `ScoringPath`, vocabulary and a prompt, or on a refusal."""
    try:
        settings = model.rows.settings
    except ModelError as error:
        yield REFUSED, str(error)
        return
    for key in ("pool", "dtype", "path"):
        yield key, settings[key]
    if judge := model.spec.judge:
        yes, no = settings["verdict"].split(" less ")
        yield "verdict", f"logit of {judge.yes!r} ({yes}) less that of {judge.no!r} ({no})"
    try:
        tokenizer = model.tokenizer
        ids, rows = len(tokenizer), defaults.get_text_config().vocab_size
        known = len(model.vocabulary().ids)
        yield "vocabulary", f"{ids:,} ids in the tokenizer, {rows:,} rows; {known:,} are scored"
        slot = model.slot(PROMPTS["greatest"].text)
    except ModelError as error:
        yield REFUSED, str(error)
        return
    days = [chat_template.TODAY.strftime(form) for form in _DAYS]
    dated = any(day in slot.prefix_text for day in days)
    yield "template", f"prints a date, pinned to {days[0]}" if dated else "prints no date"
    yield "prefix", f"{len(slot.prefix)} ids: {slot.prefix_text!r}"
    yield "suffix", f"{len(slot.suffix)} ids: {slot.suffix_text!r}"
