"""Show how far a task has come: a bar on a terminal, elsewhere a line from time to time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Self

from tqdm import tqdm

TO_FIRST_LINE = 5.0  # seconds
BETWEEN_LINES = 30.0  # seconds
_WITH_DECIMALS = 10  # items a second: a lower speed is shown with decimals
_FEWEST_FOR_TIME_LEFT = 0.01  # share of the total: from less, the time left cannot be estimated


class Bar:
    """Progress display of a task: a bar on a terminal, elsewhere a line from time to time.

    It is shown in a `with` block, which may be entered later, and more than once.
    """

    def __init__(
        self, title: str, total: int, unit: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Set the title and the total, counted in `unit` (" tokens"); `clock` gives seconds."""
        self._title, self._total, self._unit, self._clock = title, total, unit, clock
        self._bar = tqdm(disable=True)
        self._found = self._made = 0
        self._begun = self._said = clock()

    def __enter__(self) -> Self:
        self._bar = tqdm(
            total=self._total,
            desc=self._title,
            unit=self._unit,
            file=sys.stderr,
            disable=None,  # silent when not a terminal
            leave=False,
        )
        self._found = self._made = 0
        self._begun = self._said = self._clock()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def found(self, done: int) -> None:
        """Count `done` items of an earlier run as done, but not towards this run's speed."""
        self._found += done
        if not self._bar.disable:
            self._bar.initial += done
            self._bar.update(done)

    def advance(self, done: int) -> None:
        """Count `done` more items, and show the progress."""
        self._made += done
        self._bar.update(done)
        now = self._clock()
        wait = BETWEEN_LINES if self._said > self._begun else TO_FIRST_LINE
        if self._bar.disable and self._made and now - self._said >= wait:
            self._said = now
            rate, there = self._made / (now - self._begun), self._found + self._made
            seconds = max(self._total - there, 0) / rate
            known = self._made >= _FEWEST_FOR_TIME_LEFT * self._total
            left = f", {tqdm.format_interval(seconds)} left" if known else ""
            speed = f"{rate:,.0f}" if rate >= _WITH_DECIMALS else f"{rate:.2g}"
            done_so_far = f"{there:,} of {self._total:,}{self._unit}, {speed} a second"
            tqdm.write(f"{self._title}: {done_so_far}{left}", file=sys.stderr)

    def say(self, text: str) -> None:
        """Show `text` after the numbers of the progress bar from now on."""
        self._bar.set_postfix_str(text, refresh=False)

    def wait(self) -> None:
        """Print that this process waits, because another one is scoring the same answers."""
        message = f"{self._title}: another process is scoring the same; waiting for it"
        tqdm.write(message, file=sys.stderr)
