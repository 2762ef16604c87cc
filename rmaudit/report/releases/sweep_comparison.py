"""Compare how two releases rank their tokens: how alike, and which tokens moved furthest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rmaudit.errors import MeasureError
from rmaudit.measures import ranking_comparison
from rmaudit.measures._stats import UNMEASURED
from rmaudit.measures.differences_of_estimates import Interval
from rmaudit.references.offensive_text_masks import mask, masked
from rmaudit.report import packed_scores
from rmaudit.report.number_format import effect_in_numbers
from rmaudit.report.results_document import AuditedModel, Results, SweepSummary
from rmaudit.report.safe_text import line, visible

MOVED = 10  # tokens at either end
_SHOWN = 5  # of them, in the terminal


@dataclass(frozen=True, slots=True)
class MovedToken:
    """A token and its ranks in the old and the new sweep; 1 is the best."""

    text: str
    old: float
    new: float


@dataclass(frozen=True, slots=True)
class SweepChange:
    """How alike two sweeps rank their shared tokens, and which tokens moved furthest."""

    prompt: str
    paired_by: str
    tokens: int
    of: dict[str, int]
    """The number of tokens in the old sweep, and in the new one."""
    tau: Interval | None = None
    spearman: float | None = None
    reason: str = ""
    rose: tuple[MovedToken, ...] = ()
    fell: tuple[MovedToken, ...] = ()


def sweep_changes(
    old: tuple[Results, AuditedModel], new: tuple[Results, AuditedModel], rng: np.random.Generator
) -> Iterator[SweepChange]:
    """Yield, for each prompt and protocol of both releases, how alike their sweeps rank tokens.

    Sweeps without a score per token (only a summary is stored) are left out.
    """
    before = {_question(sweep): sweep for sweep in old[1].sweeps if sweep.scores}
    for after in new[1].sweeps:
        if after.scores and (earlier := before.get(_question(after))):
            yield _sweep_change((old[0], earlier), (new[0], after), rng)


def _question(sweep: SweepSummary) -> tuple[str, str]:
    return sweep.prompt_text, str(sweep.provenance.get("protocol"))


def _sweep_change(
    old: tuple[Results, SweepSummary], new: tuple[Results, SweepSummary], rng: np.random.Generator
) -> SweepChange:
    before, after = old[1], new[1]
    by_id = before.vocabulary == after.vocabulary
    frames = (packed_scores.frame(run.vocabularies, sweep) for run, sweep in (old, new))
    both = ranking_comparison.paired(*map(packed_scores.spelled, frames), by_id=by_id)
    paired_by = "token id" if by_id else "text"
    found = SweepChange(after.prompt, paired_by, len(both), {"old": before.n, "new": after.n})
    try:
        tau = ranking_comparison.correlation(
            both, rng=rng, noise=_noise(after), baseline_noise=_noise(before)
        )
    except MeasureError as error:
        return replace(found, reason=str(error))
    rose, fell = (_moved_tokens(rows) for rows in ranking_comparison.moved(both, MOVED))
    rho = tau.secondary["Spearman's rho"]
    return replace(found, tau=Interval.of(tau), spearman=rho, rose=rose, fell=fell)


def _noise(sweep: SweepSummary) -> float:
    """Return the standard deviation of a sweep's numeric noise; NaN if it was not measured."""
    noise = sweep.provenance.get("noise")
    return float(noise) if isinstance(noise, int | float) else UNMEASURED


def _moved_tokens(rows: pd.DataFrame) -> tuple[MovedToken, ...]:
    columns = (rows[name] for name in ("text", "old", "new"))
    return tuple(
        MovedToken(str(text), float(old), float(new))
        for text, old, new in zip(*columns, strict=True)
    )


def sweep_lines(sweep: SweepChange) -> Iterator[str]:
    """Yield lines for the terminal: how alike the sweeps rank, what rose and what fell most."""
    how = f"  sweep {line(sweep.prompt)}: {sweep.tokens:,} tokens paired by {sweep.paired_by}"
    old, new = sweep.of["old"], sweep.of["new"]
    if not sweep.tokens == old == new:
        how += f" (of {old:,} and {new:,})"
    if sweep.tau is None:
        yield f"{how}; {line(sweep.reason)}"
        return
    tau = effect_in_numbers(sweep.tau)
    yield f"{how}, Kendall's tau-b {tau}, Spearman {sweep.spearman or 0:+.2f}"
    for way, moved in (("rose", sweep.rose), ("fell", sweep.fell)):
        shown = [
            f"{_token(token.text)} {token.old:,.0f} -> {token.new:,.0f}" for token in moved[:_SHOWN]
        ]
        yield f"    {way} most in rank: {'; '.join(shown) or 'none'}"


def _token(text: str) -> str:
    return mask(text) if masked(text) else visible(text)
