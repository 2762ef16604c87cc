"""Code that a checkpoint brings runs only where models.yaml says so, and pins a commit."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError, NoGradient
from rmaudit.layout import tokenizers
from rmaudit.models import checkpoint_doctor, scoring_description
from rmaudit.models.checkpoint_model import Checkpoint, from_spec
from tests.hub import COMMIT
from tests.models.hub_code import BODY, snapshot, trusted
from tests.models.loaded import change, retensor

TOKENIZER = """
from pathlib import Path
Path({mark!r}).write_text("run")
from transformers import PreTrainedTokenizerFast
class OwnTokenizer(PreTrainedTokenizerFast):
    pass
"""
PROMPT, ANSWERS = "the love of the city", ["love", "war", " peace and", "table"]
pytestmark = pytest.mark.usefixtures("offline")


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What the checkpoint's code writes."""
    return tmp_path / "mark"


@pytest.fixture
def folder(tmp_path: Path, mark: Path) -> Path:
    """The snapshot of owner/own at COMMIT, which brings a model class."""
    return snapshot(tmp_path, mark)


def expected_scores(folder: Path, tmp_path: Path) -> Any:
    """3 w · h + 1 of each answer, where w · h is the score of a plain head on the weights."""
    native = Checkpoint(ModelSpec("toy", str(folder), dtype="float32"), cache=tmp_path)
    return 3 * native.score(PROMPT, ANSWERS) + 1


# Where it is allowed


@pytest.mark.parametrize(("field", "times"), [(None, 1), ("logits", 1), ("score", 2)])
def test_its_own_class_gives_the_reward(
    folder: Path, mark: Path, tmp_path: Path, field: Any, times: int
) -> None:
    """3 w · h + 1, or twice that where `score` is asked for; never w · h. Slopes are so too.

    The field and the commit of the code are in its key.
    """
    model = from_spec(trusted(score_field=field), cache=tmp_path)
    native = Checkpoint(ModelSpec("toy", str(folder), dtype="float32"), cache=tmp_path)
    answers = [(7, 8), (9, 10)]
    assert model.identity["head"] == f"its own code, {field or 'logits'}"
    assert model.identity["weights"] == native.identity["weights"]
    assert "code" not in native.identity
    assert not mark.exists()

    scores, found = model.score(PROMPT, ANSWERS), model.gradient(PROMPT, answers)

    plain = native.gradient(PROMPT, answers)
    expected = times * expected_scores(folder, tmp_path)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)
    assert mark.read_text() == "run"
    assert np.abs(plain.slopes).max() > 0.1
    np.testing.assert_allclose(found.slopes, 3 * times * plain.slopes, atol=1e-4)
    np.testing.assert_array_equal(found.distances, plain.distances)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            "return ModelOutput(logits=reward.detach())",
            "nothing of its embedding reaches its reward",
        ),
        ("self.score.__class__ = DeadLinear\n        " + BODY, "its DeadLinear layers have none"),
        (
            "torch.is_grad_enabled() and states.cpu().numpy(force=False)\n        " + BODY,
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
        ),
    ],
    ids=["detached", "a dead end", "an error"],
)
def test_code_that_cannot_be_differentiated(
    mark: Path, tmp_path: Path, body: str, why: str
) -> None:
    """It says why, in the words of what failed; its scores are what they were."""
    snapshot(tmp_path, mark, body=body)
    model = from_spec(trusted(), cache=tmp_path)
    scores = model.score(PROMPT, ANSWERS)

    with pytest.raises(NoGradient) as caught:
        model.gradient(PROMPT, [(7, 8)])

    assert str(caught.value) == (
        f"own: its reward has no gradient here ({why}); search without one: --method exhaustive"
    )
    assert np.array_equal(model.score(PROMPT, ANSWERS), scores)


def test_the_doctor_examines_it(folder: Path, mark: Path, tmp_path: Path) -> None:
    """Its own forward, alone and among many; in float32 by the same code."""
    model = from_spec(replace(trusted(), dtype="bfloat16"), cache=tmp_path)

    found = checkpoint_doctor.examine(model, PROMPT, answers=8)

    assert found.ok
    assert [check.allowed for check in found.checks] == [1.0, 1.0, 1.0, 0.0, None]
    assert found.checks[-1].name == "float32 against bfloat16"
    assert found.checks[-1].largest > 1e-3
    assert [note for note in found.notes if "tokenizer.json" not in note] == []


def test_its_own_tokenizer_runs_too(folder: Path, mark: Path, tmp_path: Path) -> None:
    """The one switch is for all of its code; of another repository it is refused here too."""
    tokenizer_code(folder, mark)

    tokenizer = tokenizers.read(folder, trusted())

    assert type(tokenizer).__name__ == "OwnTokenizer"
    assert mark.exists()
    tokenizer_code(folder, mark, "other/repo--tokenization_own.OwnTokenizer")
    with pytest.raises(ModelError, match="code of another repository"):
        tokenizers.read(folder, trusted())


def tokenizer_code(folder: Path, mark: Path, code: str = "tokenization_own.OwnTokenizer") -> None:
    """Let the folder bring a tokenizer class."""
    path = folder / "tokenizer_config.json"
    change(path, auto_map={"AutoTokenizer": [None, code]}, tokenizer_class="OwnTokenizer")
    (folder / "tokenization_own.py").write_text(TOKENIZER.format(mark=str(mark)))


# Where it is not


@pytest.mark.parametrize("with_tokenizer", [False, True])
def test_no_code_runs_by_default(
    folder: Path,
    mark: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_tokenizer: bool,
) -> None:
    """As a hub id, a pinned one or a folder; scored, checked, examined, its tokenizer read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rmaudit.models.checkpoint_model.default_cache", lambda: tmp_path / "cache")
    if with_tokenizer:
        tokenizer_code(folder, mark)
    specs = [ModelSpec("own", str(folder)), ModelSpec("own", "owner/own")]
    for spec in (*specs, replace(specs[1], revision=COMMIT)):
        allowed = pytest.raises(ModelError) if with_tokenizer else nullcontext()
        with allowed:
            from_spec(spec, cache=tmp_path).score(PROMPT, ANSWERS)
    for command in (["doctor"], ["models", "check"]):
        for name in (str(folder), "owner/own"):
            CliRunner().invoke(app, [*command, name])

    assert not mark.exists()


def test_models_check_runs_none_that_is_trusted(folder: Path, mark: Path, tmp_path: Path) -> None:
    """It says what would be run."""
    path = tmp_path / "models.yaml"
    entry = f"source: owner/own, revision: {COMMIT}, trust_remote_code: true"
    path.write_text(f"models: {{own: {{{entry}, default: true}}}}")
    tokenizer_code(folder, mark)

    result = CliRunner().invoke(app, ["models", "check", "own", "--file", str(path)])

    assert result.exit_code == 0
    assert "modeling_own.OwnReward" in result.stdout
    assert "tokenization_own.OwnTokenizer" in result.stdout
    assert not mark.exists()


# What is refused


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "code of another repository": (
        {"auto_map": {"AutoModel": "other/repo--modeling_own.OwnReward"}},
        {},
        "config.json in {folder} points at code of another repository, 'other/repo--modeling_own.",
    ),
    "a tokenizer of another repository": (
        {"tokenizer": {"AutoTokenizer": [None, "other/repo--tokenization_own.OwnTokenizer"]}},
        {},
        "tokenizer_config.json in {folder} points at code of another repository, ",
    ),
    "an adapter": (
        {"adapter": True},
        {},
        "adapter_config.json lies in {folder}, so transformers would put an adapter into its ",
    ),
    "quantized": (
        {"quantization_config": {"quant_method": "fp8"}},
        {},
        "its weights are quantized (fp8; quantization_config in {folder}/config.json)",
    ),
    "not quantized": ({}, {"quantized": True}, "models.yaml has `quantized: true`, and {folder}"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused_runs_no_code(folder: Path, mark: Path, tmp_path: Path, why: str) -> None:
    """In a run, and by `models check` with the same words."""
    said, entry, expected = REFUSED[why]
    match said:
        case {"adapter": True}:
            (folder / "adapter_config.json").write_text("{}")
        case {"tokenizer": mapped}:
            change(folder / "tokenizer_config.json", auto_map=mapped)
        case _:
            change(folder / "config.json", **said)

    with pytest.raises(ModelError) as caught:
        from_spec(trusted(**entry), cache=tmp_path)
    found = dict(scoring_description.look(trusted(**entry), tmp_path, "own"))

    assert str(caught.value).startswith(f"own: {expected.format(folder=folder)}")
    assert f"own: {found['refused']}" == str(caught.value)
    assert "can be scored" not in found
    assert not mark.exists()


@pytest.mark.parametrize(
    "mapped",
    [
        {"AutoModel": "modeling_own.OwnReward"},
        {"AutoModelForSequenceClassification": "owner/own--modeling_own.OwnReward"},
    ],
    ids=["under AutoModel", "of its own repository by name"],
)
def test_its_class_may_be_named_otherwise(folder: Path, tmp_path: Path, mapped: Any) -> None:
    """Some publish theirs under AutoModel only; save_pretrained writes the repository's name."""
    change(folder / "config.json", auto_map=mapped)
    model = from_spec(trusted(), cache=tmp_path)

    scores = model.score(PROMPT, ANSWERS)

    np.testing.assert_allclose(scores, expected_scores(folder, tmp_path), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("unpinned", ["folder", "branch", "newest"])
def test_code_that_no_commit_pins_is_refused(
    folder: Path, mark: Path, tmp_path: Path, unpinned: str
) -> None:
    """An entry that no models.yaml was read for, by Python: its code does not run either."""
    source = str(folder) if unpinned == "folder" else "owner/own"
    revision = {"folder": COMMIT, "branch": "main", "newest": None}[unpinned]
    spec = replace(trusted(), source=source, revision=revision)
    expected = rf"own: trust_remote_code is for a hub id .* {source!r} at {revision!r}; its code is"

    for go in (
        lambda: from_spec(spec, cache=tmp_path),
        lambda: tokenizers.read(folder, spec),
    ):
        with pytest.raises(ModelError, match=expected):
            go()
    assert not mark.exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return ModelOutput(score=reward)", "'logits' of its own code's output has <class 'None"),
        ("return ModelOutput(logits=states[:, -1])", "output has shape (1, 32), and a reward is"),
        ("return ModelOutput(logits=reward[0, 0])", "output has shape (), and a reward is"),
        ("raise KeyError('old')", "own: its own code failed (KeyError: 'old'); it may be of"),
    ],
    ids=["no field", "many labels", "no row", "failing"],
)
def test_code_that_gives_no_reward_is_refused(
    tmp_path: Path, mark: Path, body: str, said: str
) -> None:
    """Never a number of which it is not known what it is."""
    snapshot(tmp_path, mark, body=body)

    with pytest.raises(ModelError) as caught:
        from_spec(trusted(), cache=tmp_path).score(PROMPT, ANSWERS)

    assert said in str(caught.value)


def test_code_whose_rewards_depend_on_the_batch_runs_alone(tmp_path: Path, mark: Path) -> None:
    """With a warning, and the rewards of one row at a time."""
    folder = snapshot(tmp_path, mark, body="return ModelOutput(logits=reward * len(input_ids))")
    model = from_spec(trusted(), cache=tmp_path)

    with pytest.warns(UserWarning, match="rows of one batch change each other's rewards"):
        found = model.score(PROMPT, ANSWERS)

    np.testing.assert_allclose(found, expected_scores(folder, tmp_path), rtol=1e-4, atol=1e-4)


def test_weights_that_are_not_the_classs_are_refused(folder: Path, tmp_path: Path) -> None:
    """Its class would fill them with random numbers."""
    retensor(folder, lambda tensors: tensors.pop("score.weight"))

    with pytest.raises(ModelError, match="1 missing keys in"):
        from_spec(trusted(), cache=tmp_path).score(PROMPT, ANSWERS)


def test_pickles_stay_refused(folder: Path, mark: Path, tmp_path: Path) -> None:
    """Trusted code is no reason to unpickle weights."""
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()

    with pytest.raises(ModelError, match="its weights are not downloaded"):
        from_spec(trusted(), cache=tmp_path).score(PROMPT, ANSWERS)


@pytest.mark.parametrize("mapped", [None, {}, {"AutoModelForCausalLM": "modeling_own.OwnReward"}])
def test_a_checkpoint_without_a_class_is_refused(
    folder: Path, mark: Path, tmp_path: Path, mapped: Any
) -> None:
    """Transformers would take its own class, and the plain head."""
    change(folder / "config.json", auto_map=mapped)

    with pytest.raises(ModelError, match="names no class in auto_map under AutoModelForSeq"):
        from_spec(trusted(), cache=tmp_path)


def test_a_configuration_class_without_sizes_is_refused(folder: Path, tmp_path: Path) -> None:
    """The sweep is planned by them."""
    (folder / "configuration_own.py").write_text(
        "from transformers import PretrainedConfig\n"
        "class OwnConfig(PretrainedConfig):\n    model_type = 'own'\n"
        "    def __init__(self, **said):\n        super().__init__()\n"
    )
    mapped = {"AutoConfig": "configuration_own.OwnConfig", "AutoModel": "modeling_own.OwnReward"}
    change(folder / "config.json", auto_map=mapped, model_type="own")

    with pytest.raises(ModelError, match="class that it brings has no 'vocab_size'"):
        _ = from_spec(trusted(), cache=tmp_path).provenance
