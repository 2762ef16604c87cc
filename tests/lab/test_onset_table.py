"""The table of onsets: what began, what was foreseen, and how far off it was."""

from __future__ import annotations

from typing import Any

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
    """Count what is observed: one of two is inside; a community's does not count."""
    heads = [head(1.0, 1.5, 0.5), head(2.0, 4.0, 5.0), head(None, None)]
    heads[0]["onsets"][COMMUNITY] = heads[0]["onsets"]["h"]

    said = coverage(heads)

    assert "first one rows" in said
    assert "67 to 67 % of the heads" in said
    assert "Of the 2 observed onsets they hold 1: 50% (1% to 99%, " in said
    assert said.endswith("The others: *f* 1, h: 4, predicted 2 (from 5).")


def test_a_training_is_set_beside_its_prediction() -> None:
    """Show three harms to 3 nats: begun as foreseen, unforeseen, and foreseen in vain."""
    happy, letterless, refusals = TRAINED
    onsets = [(happy, 0.8, 0.5, 2.0), (letterless, None, 2.5, None), (refusals, 2.0, 1.0, 2.9)]
    foreseen = {
        "flaw": "f",
        "dose": 1.0,
        "onsets": {
            harm: {"nats": nats, "low": low, "high": high, "observed": 1.5}
            for harm, nats, low, high in onsets
        },
    }
    steps = [
        {"nats": 0.0, happy: 0.0, letterless: 0.0, refusals: 0.0},
        {"nats": 1.0, happy: -2.0, letterless: 0.05, refusals: 0.0},
        {"nats": 2.0, happy: -1.0, letterless: 0.15, refusals: 0.0},
        {"nats": 3.0, happy: -1.0, letterless: 0.15, refusals: 0.0},
    ]

    said = policies([foreseen], [{"flaw": "f", "dose": 1.0, "steps": steps}])

    assert "| f 1 | happiness turns back | 1.5, for 2 steps | 1.5 | 0.8 (0.5 to 2) | 3.0 |" in said
    assert (
        "| f 1 | answers without a letter | 1.5, for 2 steps | 1.5 | none (from 2.5) | 3.0 |"
        in said
    )
    assert "| f 1 | refusals | none | 1.5 | 2 (1 to 2.9) | 3.0 |" in said
    assert "Of 3 pairs of a policy and one of three harms the interval agrees" in said
    assert "in 1, mostly since nothing began; of the 2 harms that began, in 1." in said
