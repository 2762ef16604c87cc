"""How fast this machine is: a rate of matrix products, on a device that is there."""

from __future__ import annotations

from rmaudit.distributed.cost import measured


def test_a_device_that_is_there_has_a_rate() -> None:
    """Of a tenth of a GFLOP/s to a thousand TFLOP/s; the GPU of a number that none has is None."""
    for device, there in (("cpu", {"CPU"}), ("auto", {"CPU", "cuda"})):
        found = measured(device, "float32")

        assert found is not None
        assert found.device in there
        assert 1e8 < found.rate < 1e15
    assert measured("cuda:99", "float32") is None
