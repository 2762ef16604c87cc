"""Before anything large is downloaded, it is said where a model goes, and whether it fits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.distributed import hardware_forecast
from rmaudit.distributed.hardware_forecast import GB, Gpu
from rmaudit.errors import ModelError, SpecError
from tests.hollow import GEMMA_27B, LLAMA_8B, LLAMA_70B, hollow_checkpoint


def rehearsed(
    folder: Path, shape: Mapping[str, Any], gpus: list[Gpu]
) -> hardware_forecast.Rehearsal:
    """What is said of a checkpoint of this shape in bfloat16."""
    spec = ModelSpec("toy", str(hollow_checkpoint(folder / "toy", shape)))
    return hardware_forecast.forecast(spec, folder, gpus)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "gpus", "gigabytes"),
    [(LLAMA_8B, "H100", [15]), (GEMMA_27B, "h100", [54]), (LLAMA_70B, "H100:2", [69, 69])],
    ids=["8B", "27B", "70B on two"],
)
def test_where_weights_go_and_how_many_ids_run_at_once(
    tmp_path: Path, shape: dict[str, Any], gpus: str, gigabytes: list[int]
) -> None:
    """On as few GPUs as they fit on, evenly; longer prompts leave room for fewer ids."""
    found = rehearsed(tmp_path, shape, hardware_forecast.gpus_named(gpus))

    held = [weights / GB for weights in found.weights.values()]
    assert held == pytest.approx(gigabytes, abs=3.5)
    sizes = list(found.batches.values())
    assert sizes == sorted(sizes, reverse=True)
    assert 1 <= sizes[-1] < sizes[0] <= 16384
    assert found.seconds is not None
    assert found.seconds > 0
    assert found.download == 0


@pytest.mark.slow
def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    """With the sizes, and what to do."""
    with pytest.raises(ModelError) as caught:
        rehearsed(tmp_path, LLAMA_70B, hardware_forecast.gpus_named("H100"))

    for named in ("toy: ", "bfloat16", "cuda:0 78", "--rm-dtype bfloat16", "--rm-device spread"):
        assert named in str(caught.value)


@pytest.mark.parametrize("text", ["", "H100:0", "H100:x", "P40:2", "H100:2:2", ":2"])
def test_a_gpu_that_is_not_known_is_refused(text: str) -> None:
    """With those that are."""
    with pytest.raises(SpecError, match=rf"^--as {re.escape(repr(text))}: .*H100:2.*A100"):
        hardware_forecast.gpus_named(text)


def test_gpus_are_named_by_kind_and_number() -> None:
    """In any case; without a number it is one."""
    assert hardware_forecast.gpus_named("a100-40:3") == [Gpu("A100-40", 41 * GB)] * 3
    assert hardware_forecast.gpus_named("H100") == [Gpu("H100", 84 * GB)]
