"""Compute how many FLOPs and seconds scoring takes from a model's size, and format plans as text.

FLOPs are 2 for each parameter that an id passes and each id; the embedding is looked up and costs
none, and attention is left out: at the lengths of audits it adds a few per cent. A mixture of
experts is counted whole. Time is FLOPs at `SHARE` of the hardware's peak, without loading.
"""

from __future__ import annotations

import math
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rmaudit.errors import NotRecorded, NoWeights
from rmaudit.runs.run_scores import FORWARDS
from rmaudit.scoring import ScoringPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rmaudit.distributed.missing_scores import Need, Plan
    from rmaudit.models.model_interfaces import RewardModel, Scored

SHARE = 0.44  # of the stated peak: a sweep of Llama-3.1-8B reached 0.47 on an H100
_SHARE_HERE = 0.6  # of the rate of large products: 0.59 on that H100, 0.8 on two CPU cores
PEAK = {  # FLOP/s of dense matrix products, as the maker states them
    "half precision": {"H100": 989e12, "A100": 312e12},
    "float32": {"H100": 67e12, "A100": 19.5e12},
}
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_NOT_PASSED = re.compile(  # embeddings are looked up, and no text passes what reads images
    r"(^|\.)(embed_tokens|wte|wpe|word_embeddings|tok_embeddings|lm_head|vision_tower|visual|"
    r"multi_modal_projector)\."
)
_OWN_ROWS = 16  # scored once more by the model's own forward, for the noise


@dataclass(frozen=True, slots=True)
class Size:
    """A model's parameter count and dtype, and how many parameters each token runs through."""

    parameters: int
    passed: int
    dtype: str

    @property
    def bytes(self) -> int:
        """Return the bytes of the weights in memory; batches need memory in addition."""
        return self.parameters * _BYTES[self.dtype]

    def seconds(self, flops: float, gpus: int = 1) -> dict[str, float]:
        """Return the seconds that so many FLOPs take on `gpus` GPUs, by kind of GPU."""
        kind = "float32" if self.dtype == "float32" else "half precision"
        return {name: flops / (SHARE * peak * gpus) for name, peak in PEAK[kind].items()}


def size_of(model: Scored) -> Size | None:
    """Return a model's size from its files' headers; None if it has no readable weights."""
    from rmaudit.models.checkpoint_rows import CheckpointRows

    try:
        rows = model.with_head().rows  # an ensemble's are its first member's
    except (NoWeights, NotRecorded):
        return None
    if not isinstance(rows, CheckpointRows):
        return None
    counts = {name: math.prod(header.shape) for name, header in rows.checked.headers.items()}
    passed = sum(n for name, n in counts.items() if not _NOT_PASSED.search(name))
    return Size(sum(counts.values()), passed, rows.dtype)


def ids_of(need: Need) -> int:
    """Return how many token ids (prompts included) all scores of `need` take, also stored ones."""
    model = need.model
    if model.takes != "token ids":
        return 0
    slot = model.slot(need.request.prompt.text)
    before, after = len(slot.prefix), len(slot.suffix)
    if need.request.kind in FORWARDS:
        return before
    own = _ids_of_answers(model, need)
    full = model.identity.get("path") == ScoringPath.FULL_ROWS
    around = before + after if full else after
    return own + need.answers * around + before + _OWN_ROWS * (before + after + 1)


def flops_of(need: Need, size: Size) -> float:
    """Return the FLOPs that it takes to compute the missing scores of `need`."""
    return 2.0 * size.passed * ids_of(need) * need.missing / max(need.answers, 1)


def sizes(needs: Iterable[Need]) -> Mapping[str, Size | None]:
    """Return each model's size by its name, None if unknown, for the models in `needs`."""
    models = {need.request.spec.name: need.model for need in needs}
    return {name: size_of(model) for name, model in models.items()}


def _ids_of_answers(model: RewardModel, need: Need) -> int:
    """Return how many token ids the answers to be scored have, without the prompt."""
    from rmaudit.scores.scoring_protocols import ids_of as ids_of_texts

    request = need.request
    if request.kind == "texts":
        return sum(map(len, ids_of_texts(model, request.given["texts"])))
    if request.kind == "pairs" and need.work is not None:  # their prompts are left out
        column = "response" if "response" in need.work.rows else "text"
        return sum(map(len, ids_of_texts(model, need.work.rows[column].tolist())))
    return need.answers * (request.given["settings"].length if request.kind == "search" else 1)


_UNITS = ((1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"))
_GPUS_OF_A_NODE = 8  # GPUs of a node


def as_json(plan: Plan, *, missing: bool = False) -> dict[str, Any]:
    """Return the plan of needed scores as JSON; `missing` leaves out scores that are stored.

    FLOPs and seconds are computed, for missing scores only; null where the size is not known.
    """
    needs = plan.missing_needs if missing else list(plan.needs)
    known = sizes(plan.needs)
    return {
        "models": [
            {"model": name, **(_size_as_json(size) if size else {"parameters": None})}
            for name, size in known.items()
        ],
        "this machine": [
            {"model": name, "device": own.device, "seconds": _seconds_here(absent, size, own)}
            for name, size in known.items()
            if (absent := [n for n in plan.missing_needs if n.request.spec.name == name])
            if size is not None and (own := measured(plan.device, size.dtype))
        ],
        "needs": [_need_as_json(need, known[need.request.spec.name]) for need in needs],
        "answers": sum(need.missing for need in plan.missing_needs),
        "not known before": list(plan.unknown),
        "cannot be had": dict(plan.broken),
    }


def lines(plan: Plan, *, missing: bool = False) -> Iterator[str]:
    """Yield the plan as lines of text; `missing` leaves out scores that are stored.

    The scores of one model, kind and prompt are counted together. Then come the time that they
    take, audits with unknown needs, and tests that cannot run.
    """
    known = sizes(plan.needs)
    for name, size in known.items():
        needs = [need for need in plan.needs if need.request.spec.name == name]
        yield _title(name, size)
        yield from _rows([need for need in needs if need.missing] if missing else needs, size)
        absent = [need for need in needs if need.missing]
        yield from _missing_total(absent, size)
        if absent and size is not None and (own := measured(plan.device, size.dtype)):
            seconds = _seconds_here(absent, size, own)
            rate = f"{own.rate / 1e9:,.0f} GFLOP/s"
            yield (
                f"  on this machine ({own.device}) {_time(seconds)}: {_SHARE_HERE:.0%} of {rate}, "
                "measured just now; loading and the audits' own computation come on top"
            ).replace("%", " %")
    for audit in plan.unknown:
        yield f"{audit} takes the model itself: what it scores is known when it runs"
    tests = defaultdict[str, list[str]](list)
    for test, why in plan.broken.items():
        tests[why].append(test)
    for why, named in tests.items():
        yield f"{named[0]}{f' and {len(named) - 1} more' * (len(named) > 1)}: {why}"


def _seconds_here(missing: Iterable[Need], size: Size, machine: Machine) -> float:
    """Return the seconds that this machine takes for the missing scores."""
    return sum(flops_of(need, size) for need in missing) / (_SHARE_HERE * machine.rate)


def _rows(needs: Sequence[Need], size: Size | None) -> Iterator[str]:
    rows: dict[tuple[str, str], list[Need]] = defaultdict(list)
    for need in needs:
        rows[need.request.kind, need.request.prompt.name].append(need)
    width = max((len(prompt) for _, prompt in rows), default=0)
    for (kind, prompt), own in rows.items():
        answers, absent = sum(n.answers for n in own), sum(n.missing for n in own)
        said = f"  {kind:<7} {prompt:<{width}}  {answers:>9,} answers  {absent:>9,} missing"
        if size is not None and absent:
            said += f"  {_flops(sum(flops_of(need, size) for need in own)):>11}"
        yield said + ("" if all(n.settled for n in own) else "  (after its sweep)")


def _missing_total(missing: Sequence[Need], size: Size | None) -> Iterator[str]:
    answers = sum(need.missing for need in missing)
    if not answers:
        yield "  nothing is missing"
        return
    if size is None:
        yield f"  {answers:,} answers are missing; its size is not known"
        return
    flops = sum(flops_of(need, size) for need in missing)
    one, many = size.seconds(flops), size.seconds(flops, _GPUS_OF_A_NODE)
    times = "; ".join(
        f"{name} {_time(seconds)}, {_GPUS_OF_A_NODE} of them {_time(many[name])}"
        for name, seconds in one.items()
    )
    share = f"{100 * SHARE:.0f} %"
    head = f"  {answers:,} answers are missing, {_flops(flops)}"
    yield f"{head}; computed at {share} of the peak: {times}"


def _title(name: str, size: Size | None) -> str:
    if size is None:
        return name
    memory = f"{size.bytes / 1e9:,.2f} GB of weights in {size.dtype}"
    return f"{name}: {size.parameters:,} parameters, {memory}"


def _size_as_json(size: Size) -> dict[str, Any]:
    return {"parameters": size.parameters, "dtype": size.dtype, "bytes": size.bytes}


def _need_as_json(need: Need, size: Size | None) -> dict[str, Any]:
    flops = flops_of(need, size) if size else None
    return {
        "model": need.request.spec.name,
        "prompt": need.request.prompt.name,
        "kind": need.request.kind,
        "key": need.key,
        "answers": need.answers,
        "missing": need.missing,
        "settled": need.settled,
        "flops": flops,
        "seconds": size.seconds(flops) if size and flops is not None else None,
    }


def _flops(flops: float) -> str:
    unit, name = next((each for each in _UNITS if flops >= each[0]), _UNITS[-1])
    return f"{flops / unit:,.1f} {name}"


def _time(seconds: float) -> str:
    for size, name in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s" if seconds >= 1 else "under 1 s"


_ROWS, _WIDTH = 512, 2048  # of the products: as large as those of a small model's batch
_FLOPS = 2.0 * _ROWS * _WIDTH * _WIDTH
_ENOUGH = 0.3  # seconds of products


@dataclass(frozen=True, slots=True)
class Machine:
    """The device that a model would run on, and the FLOP/s of its matrix products just now."""

    device: str
    rate: float


def measured(device: str, dtype: str) -> Machine | None:
    """Measure the FLOP/s of matrix products of `dtype` (CPU: float32) on `device`; None without it.

    It takes less than a second.
    `device` is as for a run: "auto" and "spread" mean a GPU where there is any, else the CPU. In
    float32, a CPU needs no torch: a plan loads none. Other work on the machine makes the rate
    smaller.
    """
    if device == "cpu" or (device in {"auto", "spread"} and shutil.which("nvidia-smi") is None):
        one, other = np.ones((_ROWS, _WIDTH), np.float32), np.ones((_WIDTH, _WIDTH), np.float32)
        return Machine("CPU", _rate(lambda: one @ other))
    return _measured_gpu("cuda" if device in {"auto", "spread"} else device, dtype)


def _measured_gpu(device: str, dtype: str) -> Machine | None:
    import torch

    try:
        one = torch.ones(_ROWS, _WIDTH, dtype=getattr(torch, dtype), device=device)
        other = torch.ones(_WIDTH, _WIDTH, dtype=one.dtype, device=device)
        return Machine(device, _rate(lambda: float((one @ other)[0, 0])))  # waits for the product
    except (RuntimeError, AssertionError):  # the latter where torch was built without CUDA
        return None


def _rate(multiply: Callable[[], object]) -> float:
    """Return the highest FLOP/s of several calls of `multiply`; the first one does not count."""
    multiply()
    fastest, begun = float("inf"), time.perf_counter()
    while time.perf_counter() - begun < _ENOUGH:
        start = time.perf_counter()
        multiply()
        fastest = min(fastest, time.perf_counter() - start)
    return _FLOPS / fastest
