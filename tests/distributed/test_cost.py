"""What scoring costs: a model's size, and a rate of matrix products on a device that is there."""

from __future__ import annotations

from pathlib import Path

from rmaudit.config.scorer_functions import ScorerEntry
from rmaudit.distributed.cost import ids_of, measured, size_of
from rmaudit.distributed.missing_scores import Need
from rmaudit.models.model_factory import load
from rmaudit.models.model_interfaces import Scored
from rmaudit.models.text_scorer import TextScorer
from rmaudit.prompts import PROMPTS
from rmaudit.runs.run_scores import Request
from tests.toys import SIZES, toy_checkpoint, toy_tokenizer


def test_a_device_that_is_there_has_a_rate() -> None:
    """Of a tenth of a GFLOP/s to a thousand TFLOP/s; the GPU of a number that none has is None."""
    for device, there in (("cpu", {"CPU"}), ("auto", {"CPU", "cuda"})):
        found = measured(device, "float32")

        assert found is not None
        assert found.device in there
        assert 1e8 < found.rate < 1e15
    assert measured("cuda:99", "float32") is None


def test_embeddings_are_looked_up(tmp_path: Path) -> None:
    """Of a checkpoint's parameters an id passes all but these; a plan knows it from headers."""
    size = size_of(load(str(toy_checkpoint(tmp_path / "toy")), cache=tmp_path))

    assert size is not None
    assert size.parameters - size.passed == len(toy_tokenizer()) * SIZES["hidden_size"]


def swept(model: Scored, answers: int) -> int:
    """The token ids of a sweep of so many one-token answers."""
    request = Request("sweep", model.spec, {"prompt": PROMPTS["best"]})
    return ids_of(Need(request, "key", answers, answers, model))


def test_an_answer_costs_itself_and_what_follows_it(tmp_path: Path) -> None:
    """The prompt before it is run once; a function of texts runs no ids."""
    toy = load(str(toy_checkpoint(tmp_path / "toy")), cache=tmp_path)
    after = len(toy.slot(PROMPTS["best"].text).suffix)

    assert swept(toy, 300) - swept(toy, 200) == 100 * (1 + after)
    assert swept(TextScorer(ScorerEntry("toy", lambda _: [], None, "1", 1, 0, 1)), 300) == 0
