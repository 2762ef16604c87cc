"""Switch off the reduced precision that the environment may allow GPUs in matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

USED = {"float32_products": "float32", "sums_of_half_precision": "float32"}  # for the provenance


@contextmanager
def exact_products() -> Iterator[None]:
    """Make GPUs multiply float32 as float32 and sum half precision in float32, in this context.

    TensorFloat-32, which some images switch on by TORCH_ALLOW_TF32_CUBLAS_OVERRIDE, rounds a
    factor to ten bits; sums in half precision, torch's default, depend on the size of a batch.
    """
    matmul = torch.backends.cuda.matmul
    before = torch.get_float32_matmul_precision()
    halves = (
        matmul.allow_bf16_reduced_precision_reduction,
        matmul.allow_fp16_reduced_precision_reduction,
    )
    torch.set_float32_matmul_precision("highest")
    matmul.allow_bf16_reduced_precision_reduction = False
    matmul.allow_fp16_reduced_precision_reduction = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        (
            matmul.allow_bf16_reduced_precision_reduction,
            matmul.allow_fp16_reduced_precision_reduction,
        ) = halves
