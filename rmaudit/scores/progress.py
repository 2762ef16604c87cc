"""What a person sees of a sweep at work."""

from __future__ import annotations

import sys
from typing import Self

from tqdm import tqdm


class Bar:
    """A progress bar on a terminal, and nothing elsewhere."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        """`unit` is what is counted, for example " tokens"."""
        self._title = title
        self._bar = tqdm(
            total=total,
            desc=title,
            unit=unit,
            file=sys.stderr,
            disable=None,  # silent when not a terminal
            leave=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def start(self, which: slice) -> None:
        """A shard begins: those before it are done, by an earlier run if not by this one."""
        if not self._bar.disable and self._bar.n < which.start:
            self._bar.initial = which.start
            self._bar.update(which.start - self._bar.n)

    def advance(self, done: int) -> None:
        """So many more are done."""
        self._bar.update(done)

    def say(self, text: str) -> None:
        """What stands behind the numbers from now on."""
        self._bar.set_postfix_str(text, refresh=False)

    def wait(self) -> None:
        """Somebody else is at it; said anywhere, for else this looks like a hang."""
        message = f"{self._title}: another process is scoring the same; waiting for it"
        tqdm.write(message, file=sys.stderr)
