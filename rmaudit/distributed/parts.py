"""Divide a sweep into parts by a hash, so that the jobs of an array need not know of each other."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rmaudit.errors import SpecError

_DIGITS = 13  # hex digits of a hash that a float holds


class Part(NamedTuple):
    """One of `of` parts, numbered from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, task: str, place: int = 0, models: int = 1) -> bool:
        """Return whether a task belongs to it; of any `of` parts exactly one has it.

        `place` is the model's among so many `models`. Each model takes an equal share of the parts,
        so that a part loads few models.
        """
        drawn = int(hashlib.sha256(task.encode()).hexdigest()[:_DIGITS], 16) / 16**_DIGITS
        return int((place + drawn) * self.of / models) == self.number - 1


def part(given: str) -> Part:
    """Return the part that is written as `3/16`.

    Raises:
        SpecError: it is not written so, or is none of them.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", given)
    if found and 1 <= int(found[1]) <= int(found[2]):
        return Part(int(found[1]), int(found[2]))
    raise SpecError(f"--part: {given!r}; write 3/16 for the third of 16 parts")


def array_script(command: Sequence[str], jobs: int, settings: Mapping[str, str]) -> str:
    """Return a script for sbatch that runs `command`, a sweep, in an array of so many jobs.

    `settings` are options of sbatch, such as `gres` or `partition`.
    """
    given = {"job-name": "rmaudit", "array": f"1-{jobs}"}
    given |= {name.replace("_", "-"): value for name, value in settings.items()}
    sweep = shlex.join(command)
    return "\n".join(
        [
            "#!/bin/bash",
            *(f"#SBATCH --{name}={value}" for name, value in given.items()),
            "#SBATCH --requeue",
            f"{sweep} --part $SLURM_ARRAY_TASK_ID/{jobs}",
            "# Exit code 2: other parts have something left. When all have ended, submit it again,",
            f"# until this lists nothing: {sweep.replace(' sweep ', ' plan ', 1)} --missing",
        ]
    )
