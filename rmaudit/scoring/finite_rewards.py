"""Keep products exact, and refuse rewards that are not finite numbers.

Where one is not finite, the weights are searched for the cause: one pass, and no copy of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rmaudit.errors import ScoreError

_HALF = (torch.bfloat16, torch.float16)
_SUMS = ("allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction")
_CHECKED_DTYPES = (*_HALF, torch.float32, torch.float64)  # quantized numbers are always finite


def refuse(
    finite: NDArray[np.bool_],
    answers: Sequence[Sequence[int]],
    *,
    what: str,
    why: Callable[[], str],
    name: str = "",
) -> None:
    """Raise ScoreError unless all of `finite` are True; the error gives the bad answers' ids.

    `finite` has shape (n,), one for each answer, and `what` names the numbers, such as "rewards";
    `why` gives the error's last sentences (see `reason`); `name` is the model's, with which the
    error begins.

    Raises:
        ScoreError: some are not finite.
    """
    bad = np.flatnonzero(~finite)
    if not len(bad):
        return
    shown = ", ".join(str(list(answers[i])) for i in bad[:5])
    message = (
        f"{name}: " * bool(name) + f"{len(bad)} of {len(finite)} {what} are not finite numbers; "
        f"first ids: {shown}. {why()}"
    )
    raise ScoreError(message)


def reason(
    model: nn.Module, head: object = None, odd_in_files: Callable[[], str] | None = None
) -> str:
    """Return a sentence on why rewards are not finite, judged by weights and dtype, and what to do.

    `head` may have tensors of its own. `odd_in_files` names the first tensor of the files that is
    not finite, "" if all are: a tensor has another name in memory.
    """
    weights = dict(model.named_parameters())
    kinds = {tensor.dtype for tensor in weights.values()}
    half = next((str(kind).removeprefix("torch.") for kind in _HALF if kind in kinds), "")
    for place, tensor in (*weights.items(), *_tensors(head, "head")):
        if not all_finite(tensor):
            saved = odd_in_files() if odd_in_files else ""
            if half and odd_in_files and not saved:
                return (
                    f"Its weight {place} holds NaN or infinity in {half}, and none of its files "
                    f"does: {half} is too narrow, try --rm-dtype float32"
                )
            again = "copy or download the checkpoint again, or take an earlier one of its training"
            wider = f"; if the file's numbers are finite, {half} is too narrow: --rm-dtype float32"
            unsure = wider * bool(half and not saved)
            return f"Its weight {saved or place} holds NaN or infinity: {again}{unsure}"
    if half:
        return f"Its weights are finite, and it ran in {half}: try --rm-dtype float32"
    return (
        "Its weights are finite, and no wider dtype than float32 is to be had: compare config.json "
        "with the checkpoint's own"
    )


def _tensors(head: object, place: str) -> Iterator[tuple[str, Tensor]]:
    """Yield a reward head's tensors, with names, from nested dataclasses, tuples and modules."""
    if isinstance(head, Tensor):
        yield place, head
    elif isinstance(head, nn.Module):
        yield from head.named_parameters(prefix=place)
    elif isinstance(head, tuple):
        for i, part in enumerate(head):
            yield from _tensors(part, f"{place}.{i}")
    elif is_dataclass(head):
        for field in fields(head):
            yield from _tensors(getattr(head, field.name), f"{place}.{field.name}")


def all_finite(tensor: Tensor) -> bool:
    """Return whether all numbers of a tensor are finite; True if its dtype is not checked.

    Only the least and the largest number are looked at: both are NaN where any number is.
    """
    if tensor.is_meta or not tensor.numel() or tensor.dtype not in _CHECKED_DTYPES:
        return True
    return all(bool(torch.isfinite(end)) for end in torch.aminmax(tensor.detach()))


@contextmanager
def exact_products() -> Iterator[None]:
    """In the `with` block, make GPUs multiply float32 exactly and sum half precision in float32.

    TensorFloat-32, which some images switch on by TORCH_ALLOW_TF32_CUBLAS_OVERRIDE, rounds a
    factor to ten bits; sums in half precision, torch's default, depend on the size of a batch.
    """
    matmul = torch.backends.cuda.matmul
    before, sums = torch.get_float32_matmul_precision(), {of: getattr(matmul, of) for of in _SUMS}
    torch.set_float32_matmul_precision("highest")
    for name in _SUMS:
        setattr(matmul, name, False)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        for name, value in sums.items():
            setattr(matmul, name, value)
