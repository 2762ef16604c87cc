"""What the benchmarks share: arguments, interleaved rounds, memory, and one line of JSON.

Machines are shared and noisy, so ways that are compared take turns, round after round, and each
counts by its median.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")


@dataclass(frozen=True)
class Timed(Generic[Found]):
    """What a call returned, and its seconds by the clock and of this process's processors."""

    found: Found
    clock: float
    cpu: float


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose `--help` shows a benchmark's docstring as it stands."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def timed(run: Callable[[], Found]) -> Timed[Found]:
    """Call `run` once."""
    cpu, clock = time.process_time(), time.perf_counter()
    found = run()
    return Timed(found, time.perf_counter() - clock, time.process_time() - cpu)


def interleaved(
    ways: Mapping[str, Callable[[], Found]], rounds: int
) -> dict[str, list[Timed[Found]]]:
    """Call every way once a round, so that what else the machine does slows all of them alike."""
    times: dict[str, list[Timed[Found]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            times[name].append(timed(run))
    return times


def seconds(times: list[Timed[Found]]) -> float:
    """Return the median of the clock."""
    return median(each.clock for each in times)


def say(benchmark: str, **figures: Any) -> None:  # noqa: ANN401  (whatever JSON can hold)
    """Print the figures as one line of JSON, with the machine's load."""
    line = {"benchmark": benchmark, **figures, "load": round(os.getloadavg()[0], 1)}
    print(json.dumps(line), flush=True)


def forget_peak() -> None:
    """Let the high-water mark of this process's memory start again (Linux only)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def memory(key: str = "VmHWM") -> int:
    """Return bytes of this process: `VmHWM`, the most since `forget_peak`, or `VmRSS`, now."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


def weights_size(model: Any) -> int:  # noqa: ANN401  (a torch module, which this does not import)
    """Return the bytes of a model's parameters."""
    return sum(p.numel() * p.element_size() for p in model.parameters())
