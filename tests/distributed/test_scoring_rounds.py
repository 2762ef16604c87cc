"""Whose task it is, where nobody asks."""

from __future__ import annotations

from collections import Counter

import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.distributed.scoring_rounds import Part, part
from rmaudit.errors import SpecError

TASKS = [f"key-{i}:{4096 * j}" for i in range(40) for j in range(20)]


@pytest.mark.slow
@pytest.mark.parametrize(("models", "parts"), [(1, 16), (3, 16), (16, 16), (100, 16), (5, 1)])
def test_each_task_belongs_to_exactly_one_part(models: int, parts: int) -> None:
    """Whatever the numbers; shares are even, and a part has as few models as can be."""
    owners: Counter[int] = Counter()
    held: dict[int, set[int]] = {}
    for place in range(models):
        for task in TASKS:
            (owner,) = [k for k in range(1, parts + 1) if Part(k, parts).has(task, place, models)]
            owners[owner] += 1
            held.setdefault(owner, set()).add(place)
    even = models * len(TASKS) / parts
    assert all(0.7 * even < owners[k] < 1.3 * even for k in range(1, parts + 1))
    assert max(map(len, held.values())) <= models // parts + 2


def test_a_part_is_written_in_one_way() -> None:
    """Numbered from 1; anything else is refused, with an example."""
    assert part("3/16") == Part(3, 16)
    assert str(part("3/16")) == "3/16"
    for given in ("0/16", "17/16", "3", "3/", "a/b", "-1/4", "1/0", ""):
        with pytest.raises(SpecError, match=r"^--part: .*; write 3/16 for the third of 16 parts$"):
            part(given)


def test_a_script_can_be_printed_and_edited() -> None:
    """It has what was asked for; an option that is none is refused with an example."""
    asked = ["sweep", "audits", "--model", "a b", "--cache", "s3://b/x", "--array", "8"]
    ran = CliRunner().invoke(app, [*asked, "--gres", "gpu:1", "--sbatch", "time=60", "--print"])

    assert ran.exit_code == 0
    script = ran.output
    for line in ("--array=1-8", "--gres=gpu:1", "--time=60", "--requeue"):
        assert f"#SBATCH {line}" in script.splitlines()
    sweep = "rmaudit sweep audits '--model=a b' --cache=s3://b/x"
    assert f"\n{sweep} --part $SLURM_ARRAY_TASK_ID/8\n" in script
    assert f"{sweep.replace('sweep', 'plan', 1)} --missing" in script
    ran = CliRunner().invoke(app, ["sweep", "--print", "--sbatch", "partition"])
    assert ran.exit_code == 4
    assert "partition=gpu" in ran.output
