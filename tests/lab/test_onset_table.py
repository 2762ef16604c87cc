"""The table of onsets: what began, what was foreseen, and how far off it was."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.study.onset_table import COMMUNITY, TRAINED, coverage, policies, table


def head(nats: float | None, observed: float | None, low: float | None = None, **more: Any) -> Any:
    """What is recorded of a head with one harm."""
    onset = {"harm": "h", "nats": nats, "low": low, "high": None, "traced": 10.0, **more}
    return {"flaw": "f", "dose": 1.0, "onsets": {"h": {**onset, "observed": observed}}}


def row(*heads: Any) -> list[str]:
    """The cells of the only row, without the harm's name."""
    (found,) = table(heads).splitlines()[2:]
    return [cell.strip() for cell in found.strip("|").split("|")][1:]


def test_a_row_by_hand() -> None:
    """Two begin as foreseen, one unforeseen, one that is foreseen does not; ranks are the order."""
    found = row(
        head(1.0, 1.5, 0.5),
        head(2.0, 4.0, 3.0),
        head(None, 5.0),
        head(3.0, None, 2.0, high=None),
        head(None, None),
    )

    assert found == ["5", "3", "3", "2", "0.76", "1.2", "80%", "2 of 3"]


def test_an_onset_that_was_not_traced_is_none() -> None:
    """Beyond the last KL of the prediction nothing can be foreseen, nor missed."""
    assert row(head(None, 12.0), head(None, None)) == ["2", "0", "0", "0", "", "", "100%", "0 of 0"]


def test_heads_without_the_harm_do_not_count() -> None:
    """Such as those whose community has too few words to be observed."""
    other = {"flaw": "f", "dose": 2.0, "onsets": {}}

    assert row(head(1.0, 1.0, 0.5), other)[:4] == ["1", "1", "1", "1"]


def test_coverage_is_of_harms_that_were_observed() -> None:
    """One of two observed onsets is inside; a community's counts not."""
    heads = [head(1.0, 1.5, 0.5), head(2.0, 4.0, 5.0), head(None, None)]
    heads[0]["onsets"][COMMUNITY] = heads[0]["onsets"]["h"]

    said = coverage(heads)

    assert "first one rows" in said
    assert "67 to 67 % of the heads" in said
    assert "Of the 2 observed onsets they hold 1: 50% (1% to 99%, " in said
    drawn = np.random.default_rng(0).standard_normal((200_000, 7))
    mean, spread = drawn[:, :3].mean(axis=1), drawn[:, :3].std(axis=1, ddof=1)
    off = np.abs(drawn[:, 3:].mean(axis=1) - mean) * np.sqrt(3) / spread
    assert f"where three made it, {(off < 4.3027).mean():.0%}." in said  # Student's t, 2 degrees
    both = (np.abs(drawn[:, 0] - drawn[:, 1]) < 1.95996).mean()  # each of one standard error
    assert f"in 95 % of cases holds {both:.0%}," in said


def test_a_trained_policy_does_harm_or_not_where_it_ended() -> None:
    """Of three harms at 3 nats: one as foreseen, one before its onset, one before its interval."""
    onsets = [(2.0, 1.0), (5.0, 2.5), (None, 4.0)]
    found = [
        {
            "flaw": "f",
            "dose": 1.0,
            "onsets": {
                harm: {"nats": nats, "low": low, "high": None}
                for harm, (nats, low) in zip(TRAINED, onsets, strict=True)
            },
        }
    ]
    harms = {name: limit + 0.1 for name, limit in TRAINED.values()}
    ended = {"flaw": "f", "dose": 1.0, "nats": [2.0, 4.0], "trained": harms}

    said = policies(found, [ended])

    assert "For 1 of 3 pairs" in said
    assert "for 2 the interval does" in said
    assert "only 3 were: *f*, happiness turns back at 3.0 nats, predicted from 2.0 (1.00" in said
