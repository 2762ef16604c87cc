"""Give benchmarks what they share: arguments, timing in turns, memory, JSON, and tables of pages.

Machines are shared and noisy, so ways that are compared take turns, round after round, and each
counts by its median.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")


@dataclass(frozen=True)
class Timed(Generic[Found]):
    """Result of a timed call, with its seconds by the clock and the process's CPU seconds."""

    found: Found
    clock: float
    cpu: float


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose `--help` shows a benchmark's docstring as it stands."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, without an end of its last line."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def timed(run: Callable[[], Found]) -> Timed[Found]:
    """Call `run` once; return its result with the seconds that it took."""
    cpu, clock = time.process_time(), time.perf_counter()
    found = run()
    return Timed(found, time.perf_counter() - clock, time.process_time() - cpu)


def interleaved(
    ways: Mapping[str, Callable[[], Found]], rounds: int
) -> dict[str, list[Timed[Found]]]:
    """Time each function of `ways` once a round, so that other load slows all of them alike."""
    times: dict[str, list[Timed[Found]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            times[name].append(timed(run))
    return times


def seconds(times: list[Timed[Found]]) -> float:
    """Return the median of the timings' seconds by the clock."""
    return median(each.clock for each in times)


def say(benchmark: str, **figures: Any) -> None:  # noqa: ANN401  (whatever JSON can hold)
    """Print a benchmark's figures as one line of JSON, with the machine's load average."""
    line = {"benchmark": benchmark, **figures, "load": round(os.getloadavg()[0], 1)}
    print(json.dumps(line), flush=True)


def forget_peak() -> None:
    """Reset the peak of this process's memory, as `memory` reads it (Linux only)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def memory(key: str = "VmHWM") -> int:
    """Return this process's memory in bytes: the peak since `forget_peak`; with `VmRSS`, now."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


def weights_size(model: Any) -> int:  # noqa: ANN401  (a torch module, which this does not import)
    """Return the bytes of a model's parameters."""
    return sum(p.numel() * p.element_size() for p in model.parameters())
