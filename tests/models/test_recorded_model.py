"""A model without weights: it says what it is, and computes nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError, NotRecorded, ReferenceMissing
from rmaudit.models.recorded_model import Recorded

MODEL = Recorded(ModelSpec("N-Lla-8B", "nicolinho/QRM-Llama3.1-8B"))


def test_it_has_no_weights() -> None:
    """Whoever needs weights is told how to get them."""
    with pytest.raises(NotRecorded) as caught:
        MODEL.with_weights("its gradient is not recorded")
    assert isinstance(caught.value, ModelError)
    assert isinstance(caught.value, ReferenceMissing)  # an audit that needs it is skipped
    assert caught.value.command == "pytest audits --model N-Lla-8B"
    assert str(caught.value).startswith("N-Lla-8B: its gradient is not recorded; get it with: ")


@pytest.mark.parametrize("source", ["embedded", "/models/run-7", "~/run-7"])
def test_what_has_no_hub_id_is_not_published(source: str) -> None:
    """It says so, whatever was asked for and whatever would have got it."""
    model = Recorded(ModelSpec("mine", source))

    assert model.files == ()
    assert str(model.unrecorded("no sweep", command="rmaudit data import DIR")) == (
        "mine: its scores are not published, so nothing of it is recorded; "
        "get it with: pytest audits --model mine"
    )


def test_its_files_and_identity_are_no_checkpoints() -> None:
    """The authors write `--` for the slash; no scored model has such an identity."""
    assert MODEL.files == ("nicolinho--QRM-Llama3.1-8B.csv", "N-Lla-8B.csv")
    assert MODEL.identity == {"recorded": "published scores", "model": MODEL.spec.source}


@pytest.mark.slow
def test_it_loads_no_torch() -> None:
    """Nor does reading its records."""
    code = (
        "import sys; import rmaudit.models.recorded_model, rmaudit.scores.sweep; "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
