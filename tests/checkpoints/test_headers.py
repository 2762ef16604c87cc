"""Headers: shapes and types as they were saved, and sizes that add up to the file's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from rmaudit.checkpoints import headers
from rmaudit.checkpoints.headers import Header

KINDS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "I64": torch.int64,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


@pytest.mark.parametrize("name", KINDS)
def test_a_header_says_shape_type_and_size(tmp_path: Path, name: str) -> None:
    """As safetensors names the type, and torch counts the bytes."""
    tensor = torch.zeros(3, 5, dtype=KINDS[name])
    save_file({"a": tensor, "b": tensor[0, 0].clone()}, tmp_path / "model.safetensors")

    found = headers.in_folder(tmp_path, model="toy")

    assert found == {"a": Header((3, 5), name), "b": Header((), name)}
    assert [one.bytes for one in found.values()] == [15 * tensor.itemsize, tensor.itemsize]


@pytest.mark.parametrize(
    ("dtype", "size"), [("F4", 4), ("F6_E2M3", 6), ("C64", 64), ("F8_E8M0", 8)]
)
def test_sizes_of_types_that_torch_may_lack(dtype: str, size: int) -> None:
    """In bits; the name's number, but for those of less than a byte."""
    assert Header((2, 4), dtype).bytes == size
