"""What scoring costs: a model's size, and a rate of matrix products on a device that is there."""

from __future__ import annotations

from pathlib import Path

from rmaudit.distributed.cost import measured, size_of
from rmaudit.models.model_factory import load
from tests.toys import SIZES, toy_checkpoint, toy_tokenizer


def test_a_device_that_is_there_has_a_rate() -> None:
    """Of a tenth of a GFLOP/s to a thousand TFLOP/s; the GPU of a number that none has is None."""
    for device, there in (("cpu", {"CPU"}), ("auto", {"CPU", "cuda"})):
        found = measured(device, "float32")

        assert found is not None
        assert found.device in there
        assert 1e8 < found.rate < 1e15
    assert measured("cuda:99", "float32") is None


def test_embeddings_are_looked_up(tmp_path: Path) -> None:
    """Of a checkpoint's parameters an id passes all but these; a plan knows it from headers."""
    size = size_of(load(str(toy_checkpoint(tmp_path / "toy")), cache=tmp_path))

    assert size is not None
    assert size.parameters - size.passed == len(toy_tokenizer()) * SIZES["hidden_size"]
