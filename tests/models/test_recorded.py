"""A model without weights: it says what it is, and renders and scores nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError, NoGradient, NotRecorded, ReferenceMissing
from rmaudit.models.protocol import RewardModel
from rmaudit.models.recorded import Recorded

MODEL = Recorded(ModelSpec("N-Lla-8B", "nicolinho/QRM-Llama3.1-8B"))
ASKED: dict[str, Callable[[RewardModel], object]] = {
    "has no tokenizer": lambda model: model.vocabulary(),
    "cannot render 'Why?'": lambda model: model.slot("Why?"),
    "cannot tokenize 'love'": lambda model: model.ids("love"),
    "cannot tokenize 2 texts": lambda model: model.tokenized(["love", "joy"]),
    "cannot decode 1 answers": lambda model: model.texts([(1,)]),
    "cannot score 2 answers to 'Why?'": lambda model: model.score("Why?", ["a", "b"]),
    "has no chat template": lambda model: model.template_digest,
    "cannot render 1 answers to 'Why?'": lambda model: model.retokenized("Why?", ["a"]),
    "cannot score 3 rows of ids": lambda model: model.score_rows([(1,), (2,), (3,)]),
}


@pytest.mark.parametrize("what", ASKED)
def test_it_scores_nothing_itself(what: str) -> None:
    """A ModelError says what was asked, what is recorded, and the command for the rest."""
    with pytest.raises(NotRecorded) as caught:
        ASKED[what](MODEL)

    assert isinstance(caught.value, ModelError)
    assert isinstance(caught.value, ReferenceMissing)  # an audit that needs it is skipped
    assert caught.value.command == "pytest audits --model N-Lla-8B"
    assert str(caught.value) == (
        f"N-Lla-8B: a recorded model {what}; it has whole sweeps (rmaudit.sweep) and scores of "
        f"items (score_texts) only; get it with: pytest audits --model N-Lla-8B"
    )


def test_it_has_no_gradient() -> None:
    """No command gets one: it says what searches without."""
    with pytest.raises(NoGradient) as caught:
        MODEL.gradient("Why?", [(1, 2)])

    assert str(caught.value) == (
        "N-Lla-8B: its reward has no gradient here (it is known by its published scores, not by "
        "its weights); search without one: --method exhaustive"
    )


@pytest.mark.parametrize("source", ["embedded", "/models/run-7", "~/run-7"])
def test_what_has_no_hub_id_is_not_published(source: str) -> None:
    """It says so, whatever was asked for and whatever would have got it."""
    model = Recorded(ModelSpec("mine", source))

    error = model.unrecorded("no sweep of it is there", command="rmaudit import DIR")

    assert model.files == ()
    assert str(error) == (
        "mine: its scores are not published, so nothing of it is recorded; "
        "get it with: pytest audits --model mine"
    )


def test_the_file_with_its_tokens() -> None:
    """The authors write `--` for the slash; the registry's name will do too."""
    assert MODEL.files == ("nicolinho--QRM-Llama3.1-8B.csv", "N-Lla-8B.csv")


def test_its_identity_is_no_checkpoints() -> None:
    """It has a field that no scored model has, and none of those that one must have."""
    assert MODEL.identity == {
        "recorded": "published scores",
        "model": "nicolinho/QRM-Llama3.1-8B",
    }
    assert MODEL.provenance["dtype"] == MODEL.provenance["revision"] == "the authors'"


def test_it_loads_no_torch() -> None:
    """Nor does reading its records."""
    code = (
        "import sys; import rmaudit.models.recorded, rmaudit.scores.sweep; "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
