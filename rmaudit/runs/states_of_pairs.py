"""Open a linear head with a file of pairs, and give the states of answers, for `why` and `mend`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.checkpoints.checked_checkpoint import Checked
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.conversation import Asked, from_columns
from rmaudit.layout.answer_slot import Response
from rmaudit.models.head_states import states_of_each, with_linear_head
from rmaudit.models.model_interfaces import RewardModel, Scored
from rmaudit.runs.gate_contrasts import checked_gate
from rmaudit.scores import pair_files
from rmaudit.scores.answer_files import ASKED
from rmaudit.scores.pair_files import Pairs
from rmaudit.scores.progress_bar import Bar

Asking = Callable[[Sequence[Asked], Sequence[Response]], NDArray[np.float32]]


class HeadAndPairs(NamedTuple):
    """A model with its files, its head's vector, (hidden,), pairs, and what gives states."""

    model: RewardModel
    checked: Checked
    head: NDArray[np.float32]
    pairs: Pairs
    states: Asking


def opened(
    load: Callable[[], Scored],
    file: Path,
    gates: Iterable[str],
    *,
    refuse_few: Callable[[Pairs], None],
    cache: Path | None,
) -> HeadAndPairs:
    """Return a model with a linear head, and pairs; `load` opens it once gates and pairs are known.

    A bar shows the progress of states that are not in the cache yet.

    Raises:
        RmauditError: a gate has no contrasts, the file cannot be read or has too few pairs, or the
            model has no linear head.
    """
    for gate in gates:
        checked_gate(gate)
    pairs = pair_files.read(file)
    refuse_few(pairs)
    model, head = with_linear_head(load())
    cached = partial(states_of_each, model, cache=cache or default_cache())

    def states(prompts: Sequence[Asked], answers: Sequence[Response]) -> NDArray[np.float32]:
        with Bar(f"{model.name} · states", len(answers), " answers") as bar:
            return cached(prompts, answers, on_progress=bar.advance)

    return HeadAndPairs(model, model.rows.checked, head, pairs, states)


def of_lines(pairs: Pairs, states: Asking) -> pd.DataFrame:
    """Return chosen less rejected state of each line, by its number, (lines, hidden).

    A line of several answers counts by their means.
    """
    frame = pairs.frame
    asked = [from_columns(*row) for row in frame[ASKED].itertuples(index=False)]
    table = pd.DataFrame(states(asked, frame["response"].tolist()))
    means = table.groupby([frame["line"], frame["chosen"]]).mean()
    chosen, rejected = (pd.DataFrame(means.xs(side, level="chosen")) for side in (True, False))
    return chosen - rejected
