"""What types cannot say of evidence: how long its rows are, for a chart to be drawn of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rmaudit.measures.elo_agreement import EloAgreementEvidence
from rmaudit.measures.funnel import FunnelEvidence
from rmaudit.measures.model_agreement import ModelAgreementEvidence
from rmaudit.measures.prompt_stability import PromptStabilityEvidence
from rmaudit.verdicts.records import Evidence

_FRAMES = (1, -1)


def misshapen(evidence: Evidence) -> Iterator[str]:
    """What is wrong with it: the place within, what stands there, what is allowed."""
    if isinstance(evidence, EloAgreementEvidence | ModelAgreementEvidence):
        n = len(evidence.cells)
        yield from _counts("cells", evidence.cells, n, n)
    elif isinstance(evidence, FunnelEvidence):
        field = evidence.field
        yield from _counts("field.counts", field.counts, len(field.x) - 1, len(field.y) - 1)
    elif isinstance(evidence, PromptStabilityEvidence):
        for i, row in enumerate(evidence.prompts):
            if row.frame not in _FRAMES:
                yield f"prompts[{i}].frame is {row.frame}, allowed: 1 or -1"


def _counts(name: str, counts: Sequence[Sequence[int]], rows: int, columns: int) -> Iterator[str]:
    if len(counts) != rows:
        yield f"{name} has {len(counts)} rows, allowed: {rows}, one less than there are edges"
    for i, row in enumerate(counts):
        if len(row) != columns:
            yield f"{name}[{i}] has {len(row)} counts, allowed: {columns}"
        if min(row, default=0) < 0:
            yield f"{name}[{i}] has {min(row)}, allowed: counts of 0 or more"
    if rows < 1 or columns < 1:
        yield f"{name} has {rows} rows and {columns} columns, allowed: one or more of each"
