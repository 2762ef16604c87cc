"""How fast this machine is: a rate of matrix products, on a device that is there."""

from __future__ import annotations

from rmaudit.distributed.cost import measured


def test_the_cpu_has_a_rate() -> None:
    """Of at least a tenth of a GFLOP/s and at most a thousand TFLOP/s."""
    found = measured("cpu", "bfloat16")

    assert found is not None
    assert found.device == "CPU"
    assert 1e8 < found.rate < 1e15


def test_auto_is_a_device_that_is_there() -> None:
    """The GPU or, without one, the CPU; a GPU of a number that no machine has is none."""
    found = measured("auto", "float32")

    assert found is not None
    assert found.device in {"CPU", "cuda"}
    assert measured("cuda:99", "float32") is None
