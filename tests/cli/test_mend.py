"""rmaudit mend: a flawed head is mended in a checkpoint of its own, or nothing is written."""

from __future__ import annotations

import hashlib
import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import Result

from rmaudit.cli.mend import _lines, _lines_of_audits, _row
from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import known_models
from rmaudit.models.checkpoint_model import with_head
from rmaudit.models.head_states import linear_head, states_of_each
from rmaudit.models.model_factory import load
from rmaudit.references import References
from rmaudit.runs.gate_contrasts import gate_on
from rmaudit.runs.gates_on_a_half import GateChange
from rmaudit.runs.head_mending import SALT, Mended
from rmaudit.verdicts.estimates_and_bounds import Bound, Severity, above, below
from tests.cli.running import run
from tests.findings import found
from tests.toys import WORDS, toy_checkpoint

WEIGHTS, KEY = "model.safetensors", "score.weight"
WRONGED = "the political right, erased"
ANY_COST = ("--most-lost", "1")  # in pairs, which are nothing to a toy


@pytest.fixture(scope="module")
def flawed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy whose head pays less for sentences on the political right."""
    toy = toy_checkpoint(tmp_path_factory.mktemp("models") / "toy")
    model = with_head(load(str(toy), cache=toy.parent / "cache"))
    asked = gate_on("political_sides", model, References()).contrasts
    rows = list(asked.answers["prompt"]), list(asked.answers["answer"])
    states = states_of_each(model, *rows).astype(np.float64)
    paid = asked.values(states)[[*asked.coefficients].index(WRONGED)]
    draws = asked.draws(states)
    head = linear_head(model) + 3 * np.linalg.solve(
        draws.T @ draws + 0.01 * np.eye(len(paid)), paid
    )
    tensors = load_file(toy / WEIGHTS)
    tensors[KEY] = head[None].astype(np.float32)
    save_file(tensors, toy / WEIGHTS, {"format": "pt"})
    return toy


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of a hundred prompts."""
    return pairs_in(tmp_path_factory.mktemp("pairs") / "ours.jsonl", 100)


def pairs_in(path: Path, many: int) -> Path:
    """A file of pairs of so many prompts, whose answers are words in two orders."""
    words = [*product(WORDS, WORDS)][:many]
    lines = [
        {"prompt": f"{a} {b}", "chosen": f"{a} of the {b}", "rejected": f"the {b} {a}"}
        for a, b in words
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def mend(model: Path, pairs: Path, to: Path, *more: str, gate: str = "political_sides") -> Result:
    """What the command gives, without the run of all audits."""
    cache = ("--cache", str(model.parent / "cache"), "--no-run")
    return run("mend", model, "--pairs", pairs, "--gate", gate, "--to", to, *cache, *more)


def hashes(folder: Path) -> dict[str, str]:
    """Of each file of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.slow
def test_a_new_checkpoint_has_the_mended_head(flawed: Path, pairs: Path, tmp_path: Path) -> None:
    """The old one stays as it is, to the byte; all other weights are the same; it says what it is.

    The flaw is gone on the half that the repair was fitted to, and smaller on the other.
    """
    before, to = hashes(flawed), tmp_path / "mended"

    told = json.loads(mend(flawed, pairs, to, *ANY_COST, "--json").stdout)

    assert hashes(flawed) == before
    old, new = load_file(flawed / WEIGHTS), load_file(to / WEIGHTS)
    assert {name for name in old if not np.array_equal(old[name], new[name])} == {KEY}
    assert old.keys() == new.keys()
    fitted, held = told["found"]
    assert (fitted["half"], held["half"]) == ("fitted", "held out")
    assert fitted["contrast"][0] == WRONGED
    assert fitted["excess"][0] > 1
    assert fitted["excess"][1] < 0.001
    assert held["excess"][1] < held["excess"][0] - 1
    assert 30 <= told["held_out_pairs"] <= 70
    assert told["agreement"] > 0.7

    note = json.loads((to / "rmaudit_mend.json").read_text("utf-8"))
    assert note["from"]["source"] == str(flawed)
    assert (note["gates"], note["salt"]) == (["political_sides"], SALT)
    assert len(note["pairs"]["sha256"]) == 64
    assert "audits of political_sides look at all contexts" in note["said"]
    assert "Mended by rmaudit" in (to / "README.md").read_text("utf-8")
    (spec,) = resolve(known_models(), str(to))
    assert (spec.name, spec.trained_on, Path(spec.source)) == ("mended", SALT, to)
    opened = with_head(load(str(to), cache=tmp_path))
    assert np.array_equal(linear_head(opened), new[KEY][0])

    again = mend(to, pairs, tmp_path / "again")
    assert again.exit_code == 4
    assert "already within what is tolerated" in again.stderr
    assert not (tmp_path / "again").exists()


@pytest.mark.slow
def test_a_gate_that_holds_is_kept(flawed: Path, pairs: Path, tmp_path: Path) -> None:
    """Beside one that fails: it gets no worse than what it tolerates, or than it was."""
    told = json.loads(
        mend(flawed, pairs, tmp_path / "mended", "--gate", "dialect", *ANY_COST, "--json").stdout
    )

    found = {each["gate"]: each for each in told["found"] if each["half"] == "fitted"}
    assert found["dialect"]["verdicts"] == ["PASS", "PASS"]
    assert found["dialect"]["excess"][1] <= max(0.0, found["dialect"]["excess"][0]) + 0.001
    assert found["political_sides"]["excess"][1] < 0.001


@pytest.mark.slow
def test_a_repair_that_costs_too_many_pairs_is_not_written(
    flawed: Path, pairs: Path, tmp_path: Path
) -> None:
    """Some pairs change sides in any case: in these or in the same pairs the other way round."""
    swapped = tmp_path / "swapped.jsonl"
    lines = map(json.loads, pairs.read_text("utf-8").splitlines())
    turned = [{**line, "chosen": line["rejected"], "rejected": line["chosen"]} for line in lines]
    swapped.write_text("\n".join(map(json.dumps, turned)), encoding="utf-8")

    results = [
        mend(flawed, each, tmp_path / each.stem, "--most-lost", "0") for each in (pairs, swapped)
    ]

    (refused,) = [result for result in results if result.exit_code]
    assert refused.exit_code == 3
    assert "the smallest repair costs" in refused.stderr
    assert len([path for path in (pairs, swapped) if (tmp_path / path.stem).exists()]) == 1


def test_nothing_is_written_over(pairs: Path, tmp_path: Path) -> None:
    """Not even looked at: a folder with anything in it, or a file."""
    toy = toy_checkpoint(tmp_path / "toy")
    before = hashes(toy)

    for to in (toy, toy / "config.json"):
        result = mend(toy, pairs, to)
        assert result.exit_code == 4
        assert f"{to}: is there already" in result.stderr
    assert hashes(toy) == before


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("dialects", r"unknown gate 'dialects'.*allowed: identity_terms, "),
        ("top_tokens", r"top_tokens has no contrast: .*allowed: identity_terms, "),
    ],
)
def test_gates_that_cannot_be_mended_are_refused(
    gate: str, said: str, pairs: Path, tmp_path: Path
) -> None:
    """Before a model is opened: this one does not exist."""
    result = mend(tmp_path / "none", pairs, tmp_path / "mended", gate=gate)

    assert result.exit_code == 4
    assert re.search(said, result.stderr)


def test_enough_pairs_are_needed(tmp_path: Path) -> None:
    """Twenty prompts are too few for either half."""
    few = pairs_in(tmp_path / "few.jsonl", 20)

    result = mend(toy_checkpoint(tmp_path / "toy"), few, tmp_path / "mended")

    assert result.exit_code == 4
    assert "needs 30 in each" in result.stderr
    assert not (tmp_path / "mended").exists()


def test_a_gate_is_told_as_it_was_and_as_it_is() -> None:
    """Where a half is too small for it, in words."""
    before, head = found(-0.4, 0.2).estimate, np.zeros(2, np.float32)
    change = GateChange(
        "skew", "fitted", ("a", "b"), (1.0, 0.0), (before, None), ("INCONCLUSIVE", "")
    )

    first, second, *_ = _lines(Mended(head, head, (change,), (0.9, 0.8), 40, 0.99, 0.99))

    assert first.startswith("skew, fitted half: -0.10 [-0.40, 0.20] open -> too few answers")
    assert second.endswith("+1.00 (a) -> +0.00 (b)")


@pytest.mark.parametrize(
    ("bound", "after", "worse"),
    [
        (above(0, unit="sd"), (0.5, 0.7), False),
        (above(0, unit="sd"), (0.05, 0.25), True),
        (below(1, unit="sd"), (0.0, 0.1), False),
        (below(1, unit="sd"), (0.5, 0.7), True),
        (above(0, unit="sd"), (-0.2, 0.7), True),  # it passed, and is open
    ],
)
def test_a_bias_that_moved_is_named(bound: Bound, after: tuple[float, float], worse: bool) -> None:
    """An audit is worse where its value left the old interval towards harm, or by its verdict."""
    old, new = (found(*ends, bound=bound, severity=Severity.GATE) for ends in ((0.2, 0.4), after))

    row = _row(old, new)

    assert row["worse"] is worse
    assert any("skew[best]. A bias" in line for line in _lines_of_audits([row])) is worse


@pytest.mark.parametrize(("mended", "marked"), [({"skew"}, True), ({"dialect"}, False)])
def test_what_also_judges_what_was_fitted_is_marked(mended: set[str], marked: bool) -> None:
    """The line of an audit that looks at all contexts, the repair's own too, says so."""
    one = found(0.2, 0.4, bound=below(1, unit="sd"), severity=Severity.GATE)

    (line,) = _lines_of_audits([_row(one, one, mended)])

    assert ("both halves" in line) is marked
