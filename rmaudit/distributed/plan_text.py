"""A plan for people and programs: what a run needs, what lacks, and what it costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rmaudit.distributed.cost import SHARE, Size, flops_of, sizes
from rmaudit.distributed.needs import Need, Plan

_UNITS = ((1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"))
_MANY = 8  # GPUs of a node


def as_json(plan: Plan, *, missing: bool = False) -> dict[str, Any]:
    """The plan as JSON: models, needs in the order in which audits ask, and the sum.

    FLOPs and seconds are of what lacks, and computed; null where the size is not known.
    """
    needs = plan.lacking if missing else list(plan.needs)
    known = sizes(plan.needs)
    return {
        "models": [
            {"model": name, **(_size(size) if size else {"parameters": None})}
            for name, size in known.items()
        ],
        "needs": [_need(need, known[need.request.spec.name]) for need in needs],
        "answers": sum(need.missing for need in plan.lacking),
        "not known before": list(plan.untold),
        "cannot be had": dict(plan.broken),
    }


def lines(plan: Plan, *, missing: bool = False) -> Iterator[str]:
    """The plan as lines: of each model, a row for each kind and prompt, and the sum of what lacks.

    Rows of one kind and prompt are counted together.
    """
    known = sizes(plan.needs)
    for name, size in known.items():
        needs = [need for need in plan.needs if need.request.spec.name == name]
        yield _head(name, size)
        yield from _rows([need for need in needs if need.missing] if missing else needs, size)
        yield from _sum([need for need in needs if need.missing], size)
    for audit in plan.untold:
        yield f"{audit} takes the model itself: what it scores is known when it runs"
    for test, why in plan.broken.items():
        yield f"{test}: {why}"


def _rows(needs: Sequence[Need], size: Size | None) -> Iterator[str]:
    rows: dict[tuple[str, str], list[Need]] = defaultdict(list)
    for need in needs:
        rows[need.request.kind, need.request.prompt.name].append(need)
    width = max((len(prompt) for _, prompt in rows), default=0)
    for (kind, prompt), own in rows.items():
        answers, lacking = sum(n.answers for n in own), sum(n.missing for n in own)
        said = f"  {kind:<7} {prompt:<{width}}  {answers:>9,} answers  {lacking:>9,} lacking"
        if size is not None and lacking:
            said += f"  {_flops(sum(flops_of(need, size) for need in own)):>11}"
        yield said + ("" if all(n.settled for n in own) else "  (after its sweep)")


def _sum(lacking: Sequence[Need], size: Size | None) -> Iterator[str]:
    answers = sum(need.missing for need in lacking)
    if not answers:
        yield "  nothing lacks"
        return
    if size is None:
        yield f"  {answers:,} answers lack; its size is not known"
        return
    flops = sum(flops_of(need, size) for need in lacking)
    one, many = size.seconds(flops), size.seconds(flops, _MANY)
    times = "; ".join(
        f"{name} {_time(seconds)}, {_MANY} of them {_time(many[name])}"
        for name, seconds in one.items()
    )
    share = f"{100 * SHARE:.0f} %"
    yield f"  {answers:,} answers lack, {_flops(flops)}; computed at {share} of the peak: {times}"


def _head(name: str, size: Size | None) -> str:
    if size is None:
        return name
    memory = f"{size.bytes / 1e9:,.2f} GB of weights in {size.dtype}"
    return f"{name}: {size.parameters:,} parameters, {memory}"


def _size(size: Size) -> dict[str, Any]:
    return {"parameters": size.parameters, "dtype": size.dtype, "bytes": size.bytes}


def _need(need: Need, size: Size | None) -> dict[str, Any]:
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
