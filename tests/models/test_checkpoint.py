"""A checkpoint folder is a reward model: its own scores, loaded late, and no made-up weights."""

from __future__ import annotations

import gc
import json
import re
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from rmaudit.config.registry import Dtype, ModelSpec, Pool
from rmaudit.errors import ModelError, ScoreError
from rmaudit.layout.slot import Response
from rmaudit.models.checkpoint import Checkpoint
from tests.toys import SPECIAL, WORDS, toy_checkpoint, toy_tokenizer

PROMPT = "the love of the city?"
ANSWERS: list[Response] = [
    "love",
    " war",
    "peace and pain",
    "",
    (SPECIAL.index("<pad>"),),
    (7, 8, 9),
]
SIZE = len(toy_tokenizer())
AGAIN = (  # the end of what is said of odd keys
    "Copy the checkpoint again, config.json and all *.safetensors; if they are as they were saved, "
    "correct model_type in config.json, or it is a model that rmaudit does not know"
)
POOLS = get_args(Pool)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain checkpoint, which the tests leave as it is."""
    return toy_checkpoint(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def changed(folder: Path, tmp_path: Path) -> Path:
    """A copy of it to be changed."""
    return shutil.copytree(folder, tmp_path / "changed")


def checkpoint(folder: Path, **settings: Any) -> Checkpoint:
    """The folder as a registry entry means it; its cache is beside it."""
    return Checkpoint(ModelSpec("toy", str(folder), **settings), cache=folder.parent / "cache")


def configure(folder: Path, **settings: Any) -> None:
    """Set keys of config.json, or take them out where they are `...`."""
    path = folder / "config.json"
    config = json.loads(path.read_text()) | settings
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not ...}))


def retensor(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    """Change the tensors of the one safetensors file."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, {"format": "pt"})


def score_refusal(model: Checkpoint) -> str:
    """The text with which scoring is refused, FOLDER in place of the folder's path."""
    with pytest.raises(ModelError) as caught:
        model.score(PROMPT, ["love"])
    return str(caught.value).replace(str(model.folder), "FOLDER")


@torch.inference_mode()
def own_scores(folder: Path, model: Checkpoint) -> list[float]:
    """What transformers gives the rows of ANSWERS, one at a time."""
    own: Any = AutoModelForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32
    ).eval()
    slot = model.slot(PROMPT)
    rows = [[*slot.prefix, *model.ids(answer), *slot.suffix] for answer in ANSWERS]
    return [own(input_ids=torch.tensor([row]), use_cache=False).logits.item() for row in rows]


# Scores


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_scores_are_the_checkpoints_own(tmp_path: Path, kind: str) -> None:
    """Texts and ids score as transformers scores the rendered conversation."""
    folder = toy_checkpoint(tmp_path / "toy", kind=kind)
    model = checkpoint(folder)

    scores = model.score(PROMPT, ANSWERS)

    expected = own_scores(folder, model)
    assert np.std(expected) > 0.1
    assert scores.tolist() == pytest.approx(expected, abs=1e-4 * float(np.std(expected)))


def test_a_text_scores_as_its_ids(folder: Path) -> None:
    """A response is a text or its ids; both forms mean the same row."""
    model = checkpoint(folder)

    text, ids = model.score(PROMPT, ["peace and pain", model.ids("peace and pain")])

    assert text == ids


def test_shards_score_as_one_file(folder: Path, changed: Path) -> None:
    """A checkpoint cut into several safetensors files is the same model."""
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    (changed / "model.safetensors").unlink()
    model.save_pretrained(changed, max_shard_size="20KB")

    assert len(list(changed.glob("*.safetensors"))) > 1
    scores = checkpoint(changed).score(PROMPT, ANSWERS)
    assert scores == pytest.approx(checkpoint(folder).score(PROMPT, ANSWERS), abs=1e-5)


def test_progress_reaches_the_caller(folder: Path) -> None:
    """The answers that are done are counted while scoring."""
    done: list[int] = []

    checkpoint(folder).score(PROMPT, ANSWERS, on_progress=done.append)

    assert sum(done) == len(ANSWERS)


def test_non_finite_scores_are_refused(changed: Path) -> None:
    """An infinite weight in the head never becomes a reward."""
    retensor(changed, lambda tensors: tensors["score.weight"].fill_(torch.inf))

    with pytest.raises(ScoreError, match=r"^1 of 1 rewards are not finite numbers; first ids: "):
        checkpoint(changed).score(PROMPT, ["love"])


# The pad id and the dtype


def test_the_pad_id_is_the_configs(changed: Path) -> None:
    """Pooling skips config.json's pad id, as transformers does, and not the tokenizer's."""
    end = SPECIAL.index("<|end|>")
    configure(changed, pad_token_id=end)
    model = checkpoint(changed, pool="hf")

    scores = model.score(PROMPT, ANSWERS)

    assert model.identity["pool"] == f"rightmost id but {end}"
    assert scores.tolist() == pytest.approx(own_scores(changed, model), abs=1e-5)


def test_a_pad_id_that_ends_the_turn_is_told(changed: Path) -> None:
    """What it was trained for cannot be known: by default it is scored, with a warning."""
    end = SPECIAL.index("<|end|>")
    configure(changed, pad_token_id=end)
    model = checkpoint(changed)

    with pytest.warns(UserWarning, match="^toy: ") as caught:
        scores = model.score(PROMPT, ANSWERS)

    (message,) = (str(warning.message) for warning in caught)
    assert message == (
        f"toy: its pad token {end} is also what ends a turn, so the reward is read at the answer's "
        f"last token (transformers' rule). If it was trained to be read at the turn's end, add "
        f"`pool: last` to its entry in models.yaml; `pool: hf` accepts this rule"
    )
    assert scores.tolist() == checkpoint(changed, pool="hf").score(PROMPT, ANSWERS).tolist()


def test_a_pad_id_that_starts_the_turns_end_is_not_told(changed: Path) -> None:
    """A row that ends with another id is read at its end by each rule."""
    template = (changed / "chat_template.jinja").read_text()
    (changed / "chat_template.jinja").write_text(template + "{{- '\n' -}}")
    configure(changed, pad_token_id=SPECIAL.index("<|end|>"))

    auto, last = (checkpoint(changed, pool=pool).score(PROMPT, ["love"]) for pool in POOLS[:2])

    assert auto == pytest.approx(last, abs=1e-5)


def test_pool_last_reads_the_last_id_whatever_it_is(changed: Path) -> None:
    """As transformers does where there is no pad id; it is another identity, and no warning."""
    configure(changed, pad_token_id=SPECIAL.index("<|end|>"))
    last, by_rule = (checkpoint(changed, pool=pool) for pool in ("last", "hf"))

    scores, others = last.score(PROMPT, ANSWERS), by_rule.score(PROMPT, ANSWERS)

    configure(changed, pad_token_id=None)
    assert scores.tolist() == pytest.approx(own_scores(changed, last), abs=1e-5)
    assert np.abs(scores - others).max() > 0.1
    assert (last.identity["pool"], last.identity["path"]) == (
        "rightmost id but None",
        "shared prefix",
    )


@pytest.mark.parametrize("pool", POOLS)
def test_every_pool_is_the_same_where_the_pad_id_is_its_own(folder: Path, pool: Pool) -> None:
    """Of rows that end with the turn's end, the last id is never the pad id."""
    scores = checkpoint(folder, pool=pool).score(PROMPT, ANSWERS)

    assert scores == pytest.approx(checkpoint(folder).score(PROMPT, ANSWERS), abs=1e-5)


@pytest.mark.parametrize("pad", [None, ...], ids=["null", "absent"])
def test_no_pad_id_pools_at_the_last_id(changed: Path, pad: object) -> None:
    """A llama config without a pad id means none."""
    configure(changed, pad_token_id=pad)
    model = checkpoint(changed)

    scores = model.score(PROMPT, ANSWERS)

    assert model.identity["pool"] == "rightmost id but None"
    assert scores.tolist() == pytest.approx(own_scores(changed, model), abs=1e-5)


def test_an_absent_pad_id_is_the_architectures(tmp_path: Path) -> None:
    """Gemma's config class has a pad id of its own, 0, where config.json names none."""
    folder = toy_checkpoint(tmp_path / "toy", kind="gemma2")
    configure(folder, pad_token_id=...)
    (folder / "chat_template.jinja").write_text("{{ 'love: ' + messages[1]['content'] }}")
    model = checkpoint(folder)

    scores = model.score(PROMPT, ANSWERS)

    assert scores.tolist() == pytest.approx(own_scores(folder, model), abs=1e-5)


@pytest.mark.parametrize(
    ("kind", "settings", "path"),
    [
        ("llama", {}, "shared prefix"),
        ("gpt_oss", {}, "expanded cache"),
        ("doge", {}, "full rows"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "full rows"),
        ("llama", {"is_causal": False}, "full rows"),
    ],
    ids=["listed", "by cache", "unlisted", "two ways", "two ways, llama"],
)
def test_every_trunk_has_a_path(
    tmp_path: Path, kind: str, settings: dict[str, Any], path: str
) -> None:
    """Also one that nobody tried, and one that is not causal; the reports say which."""
    folder = toy_checkpoint(tmp_path / "toy", kind=kind, **settings)
    model = checkpoint(folder)
    before = model.provenance["path"]

    scores = model.score(PROMPT, ANSWERS)

    assert scores.tolist() == pytest.approx(own_scores(folder, model), abs=1e-5)
    assert {model.identity["path"], before, model.provenance["path"]} == {path}


def test_a_dtype_by_registry(folder: Path) -> None:
    """The trunk runs in the registry's dtype, and the scores are near those in float32."""
    wide, narrow = checkpoint(folder), checkpoint(folder, dtype="bfloat16")
    expected = wide.score(PROMPT, ANSWERS)

    scores = narrow.score(PROMPT, ANSWERS)

    assert narrow._weights is not None
    assert {p.dtype for p in narrow._weights.scorer.trunk.parameters()} == {torch.bfloat16}
    assert scores.dtype == np.float32
    assert 0 < np.abs(scores - expected).max() < 0.2 * expected.std()
    assert (wide.identity["dtype"], narrow.identity["dtype"]) == ("float32", "bfloat16")


@pytest.mark.parametrize(
    ("asked", "config", "dtype"),
    [
        ("auto", {"dtype": "bfloat16"}, "bfloat16"),
        ("auto", {"dtype": ..., "torch_dtype": "float16"}, "float16"),
        ("auto", {"dtype": ...}, "float32"),
        ("auto", {"dtype": None}, "float32"),
        ("float32", {"dtype": "bfloat16"}, "float32"),
    ],
)
def test_the_dtype_is_the_registrys_or_else_the_configs(
    changed: Path, asked: Dtype, config: dict[str, Any], dtype: str
) -> None:
    """Both of transformers' spellings are read; without any it is float32."""
    configure(changed, **config)

    assert checkpoint(changed, dtype=asked).dtype == dtype


def test_an_unknown_dtype_in_the_config_is_refused(changed: Path) -> None:
    """A dtype that torch does not have is named."""
    configure(changed, dtype="float99")

    assert "float99" in score_refusal(checkpoint(changed))


# Prompts, answers, vocabulary


def test_a_template_by_registry_replaces_the_checkpoints(folder: Path, tmp_path: Path) -> None:
    """The registry's template file is used, in UTF-8, and the folder's own is not."""
    template = tmp_path / "chat.jinja"
    template.write_text("Q: {{ messages[0]['content'] }} → {{ messages[1]['content'] }}!", "utf-8")

    slot = checkpoint(folder, template=str(template)).slot(PROMPT)

    assert (slot.prefix_text, slot.suffix_text) == (f"Q: {PROMPT} → ", "!")
    assert checkpoint(folder).slot(PROMPT).prefix_text.startswith("<|start|>user")


def test_a_folder_without_a_template_is_refused_at_the_first_prompt(changed: Path) -> None:
    """The model is named as in the registry."""
    (changed / "chat_template.jinja").unlink()

    assert score_refusal(checkpoint(changed)).startswith("toy: its tokenizer has no chat template")


def test_a_template_with_nothing_before_the_answer_is_scored_or_refused(changed: Path) -> None:
    """An empty prefix is a ModelError or a score, never an error of torch."""
    (changed / "chat_template.jinja").write_text("{{ messages[1]['content'] + '<|end|>' }}")
    model = checkpoint(changed)

    try:
        scores = model.score(PROMPT, ANSWERS).tolist()
    except ModelError:
        return
    assert scores == pytest.approx(own_scores(changed, model), abs=1e-5)


def test_a_text_is_tokenized_as_it_stands(folder: Path) -> None:
    """No special token is added, no space is trimmed, and ids pass through as ints."""
    model = checkpoint(folder)

    love, spaced = model.ids("love"), model.ids(" love")
    numbers: Any = np.array([3, 4])

    assert len(love) == len(spaced) == 1
    assert love != spaced
    assert model.ids("") == ()
    assert model.ids(numbers) == (3, 4)
    assert all(type(i) is int for i in model.ids(numbers))


def test_a_text_gets_no_bos_of_its_own(changed: Path) -> None:
    """A tokenizer that puts a BOS before any text puts none before an answer."""
    tokenizer = toy_tokenizer()
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", SPECIAL.index("<s>"))]
    )
    tokenizer.save_pretrained(changed)
    model = checkpoint(changed)

    assert len(model.tokenizer("love").input_ids) == 2
    assert len(model.ids("love")) == 1


def test_a_gradient_is_of_scores(folder: Path) -> None:
    """Rewards as `score` gives them, in any order of the calls; an id's own distance is 0."""
    first, second = checkpoint(folder), checkpoint(folder)
    answers = [(7, 8), (9, 10), (0, 7)]

    found = first.gradient(PROMPT, answers)

    scores = second.score(PROMPT, answers)
    np.testing.assert_allclose(found.rewards, scores, atol=1e-5)
    assert np.array_equal(first.score(PROMPT, answers), scores)
    assert np.array_equal(second.gradient(PROMPT, answers).slopes, found.slopes)
    assert found.slopes.shape == found.distances.shape == (3, 2, SIZE)
    assert found.distances[1, 0, 9] == 0
    loaded = first.weights((), ()).model
    assert not any(p.requires_grad or p.grad is not None for p in loaded.parameters())


def test_a_gradient_names_the_model(folder: Path) -> None:
    """In what it refuses: answers of several lengths, and an id without a row."""
    model = checkpoint(folder)

    with pytest.raises(ModelError, match=r"^toy: a gradient was asked for answers of \[1, 2\] ids"):
        model.gradient(PROMPT, [(7,), (7, 8)])
    with pytest.raises(ModelError, match=rf"^toy: no token id {SIZE}; ids go from 0 to"):
        model.gradient(PROMPT, [(SIZE,)])


@pytest.mark.parametrize(
    ("ids", "unknown"), [((SIZE,), SIZE), ((3, 10**6), 10**6), ((-1,), -1), ((0, -7, -8), -7)]
)
def test_an_unknown_id_is_refused(folder: Path, ids: tuple[int, ...], unknown: int) -> None:
    """An id that the embedding has no row for is named, before any weight is loaded."""
    model = checkpoint(folder)

    with pytest.raises(ModelError) as caught:
        model.score(PROMPT, ["love", ids])

    assert str(caught.value) == f"toy: no token id {unknown}; ids go from 0 to {SIZE - 1}"
    assert model._weights is None


def test_the_vocabulary_is_every_id(folder: Path) -> None:
    """Special, byte, merged and added ids: none is left out, and each has its piece and text."""
    vocabulary = checkpoint(folder).vocabulary()

    assert vocabulary.ids == tuple(range(SIZE))
    assert vocabulary.pieces[:5] == tuple(SPECIAL)
    assert (vocabulary.pieces[-1], vocabulary.texts[-1]) == ("<added>", "<added>")
    assert {*WORDS, *(f" {word}" for word in WORDS)} <= set(vocabulary.texts)
    assert "Ġlove" in vocabulary.pieces
    assert len(vocabulary.pieces) == len(vocabulary.texts) == SIZE


def test_rows_without_a_token_are_no_vocabulary(changed: Path) -> None:
    """They pad the embedding to a round size; nobody can say them, and nothing is told."""
    configure(changed, vocab_size=SIZE + 64)

    assert checkpoint(changed).vocabulary().ids == tuple(range(SIZE))


def test_ids_without_a_row_are_told_and_not_scored(changed: Path) -> None:
    """The tokenizer has grown and the weights have not, or the other way around."""
    configure(changed, vocab_size=SIZE - 3)
    first = toy_tokenizer().convert_ids_to_tokens(SIZE - 3)
    model = checkpoint(changed)

    with pytest.warns(UserWarning, match="have no row in the embedding") as told:
        vocabulary = model.vocabulary()
    assert model.vocabulary() is vocabulary  # and it is told once

    assert vocabulary.ids == tuple(range(SIZE - 3))
    assert len(told) == 1
    assert str(told[0].message) == (
        f"toy: 3 of its tokenizer's ids, first {SIZE - 3} ({first!r}), have no row in the "
        f"embedding, whose ids go from 0 to {SIZE - 4}: they are not scored. If it was trained "
        f"with them, these are not its weights: save it again after resize_token_embeddings"
    )


def test_a_prompt_whose_ids_have_no_row_is_refused(changed: Path) -> None:
    """On a GPU the embedding would end the whole process; the id and its token are named."""
    configure(changed, vocab_size=100)
    model = checkpoint(changed)
    (beyond, *_) = [i for i in toy_tokenizer().encode("the ") if i >= 100]

    with pytest.raises(ModelError) as caught:
        model.slot("the ")

    found = re.fullmatch(
        r"toy: its tokenizer and chat template give a prompt the id (\d+) \('.+'\), and the "
        r"embedding's ids go from 0 to 99: tokenizer and weights are not of one model\. Save the "
        r"model again after resize_token_embeddings, or give it its own tokenizer",
        str(caught.value),
    )
    assert found
    assert int(found[1]) >= 100
    assert beyond >= 100


@pytest.mark.parametrize("content", [None, "{", ""], ids=["absent", "not JSON", "empty"])
def test_a_tokenizer_that_cannot_be_read_is_refused(changed: Path, content: str | None) -> None:
    """The first line of what transformers says, and how to get a tokenizer there."""
    for path in changed.glob("tokenizer*"):
        path.unlink()
    if content is not None:
        (changed / "tokenizer.json").write_text(content)

    message = score_refusal(checkpoint(changed))

    assert message.startswith("toy: its tokenizer could not be read from FOLDER (")
    assert message.endswith(
        "); save the model and its tokenizer there again with save_pretrained(FOLDER)"
    )
    assert "\n" not in message


def test_a_tokenizer_file_of_something_else_is_refused(changed: Path) -> None:
    """JSON that is no tokenizer is refused like JSON that is none."""
    (changed / "tokenizer.json").write_text('{"version": "1.0"}')

    assert "its tokenizer could not be read" in score_refusal(checkpoint(changed))


# Loading


def test_weights_are_loaded_by_the_first_score_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a cached sweep asks of a model is answered without its weights."""
    loads: list[Checkpoint] = []
    real = Checkpoint._load

    def load(self: Checkpoint) -> Any:
        loads.append(self)
        return real(self)

    monkeypatch.setattr(Checkpoint, "_load", load)
    model = checkpoint(folder)

    model.slot(PROMPT)
    model.vocabulary()
    model.ids("love")
    assert dict(model.identity)
    assert dict(model.provenance)
    assert (loads, model._weights) == ([], None)

    model.score(PROMPT, ["love"])
    model.score(PROMPT, ["war"])

    assert loads == [model]


def test_close_frees_the_weights_and_a_later_score_works(folder: Path) -> None:
    """After `close` no tensor is left; the next score loads them again and is the same."""
    model = checkpoint(folder)
    before = model.score(PROMPT, ANSWERS)
    assert model._weights is not None
    trunk = weakref.ref(model._weights.scorer.trunk)

    model.close()
    gc.collect()

    assert trunk() is None
    assert model.score(PROMPT, ANSWERS) == pytest.approx(before, abs=1e-5)


def test_closing_what_was_never_loaded_is_fine(folder: Path) -> None:
    """`close` may be called at any time, twice too."""
    model = checkpoint(folder)

    model.close()
    model.close()

    assert model._weights is None


def test_an_unexpected_key_is_refused(changed: Path) -> None:
    """A head with a bias, or anything beside it, would be ignored: an error instead."""
    retensor(changed, lambda tensors: tensors.update({"score.bias": torch.zeros(1)}))

    assert score_refusal(checkpoint(changed)) == (
        "toy: 1 unexpected keys in FOLDER, first 'score.bias': neither a trunk of model_type "
        f"'llama' nor its linear head has a place for them. {AGAIN}"
    )


def test_a_missing_key_is_refused(changed: Path) -> None:
    """A weight that is not there would be random: an error instead."""
    retensor(changed, lambda tensors: tensors.pop("model.norm.weight"))

    assert score_refusal(checkpoint(changed)) == (
        "toy: 1 missing keys in FOLDER, first 'model.norm.weight': a trunk of model_type 'llama' "
        f"would fill them with random numbers. {AGAIN}"
    )


def test_a_refused_model_stays_unloaded(changed: Path) -> None:
    """The second score is refused like the first one."""
    retensor(changed, lambda tensors: tensors.pop("model.norm.weight"))
    model = checkpoint(changed)

    assert score_refusal(model) == score_refusal(model)
    assert model._weights is None


def test_a_weight_of_another_shape_is_refused(changed: Path) -> None:
    """An embedding that config.json gives another size is an error of ours, by its key."""
    configure(changed, vocab_size=SIZE + 64)

    assert score_refusal(checkpoint(changed)) == (
        "toy: 1 mismatched keys in FOLDER, first 'model.embed_tokens.weight': they are of another "
        f"shape than a trunk of model_type 'llama' has with this config.json. {AGAIN}"
    )


@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "t5"])
def test_a_model_type_with_a_head_of_another_name_is_refused(changed: Path, kind: str) -> None:
    """Its weights would be random; one line says so."""
    configure(changed, model_type=kind, num_layers=1)

    message = score_refusal(checkpoint(changed))

    assert re.fullmatch(
        rf"toy: \d+ missing keys in FOLDER, first '[\w.]+': a trunk of model_type '{kind}' would "
        rf"fill them with random numbers\. {re.escape(AGAIN)}",
        message,
    )


@pytest.mark.parametrize("kind", ["Llama", None, ["llama"]])
def test_a_model_type_that_is_unknown_is_refused(changed: Path, kind: object) -> None:
    """Before its identity is made, and at the first score."""
    configure(changed, model_type=kind)

    with pytest.raises(ModelError, match=r"^toy: transformers \S+ does not know .*"):
        _ = checkpoint(changed).identity
    assert repr(kind) in score_refusal(checkpoint(changed))


def test_a_model_type_without_a_classifier_is_refused(changed: Path) -> None:
    """At the first score."""
    configure(changed, model_type="mamba")

    assert "has no sequence-classification class for the model_type 'mamba'" in score_refusal(
        checkpoint(changed)
    )


def test_a_missing_shard_is_refused(folder: Path, changed: Path) -> None:
    """A shard that the index names and the folder lacks is named."""
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    (changed / "model.safetensors").unlink()
    model.save_pretrained(changed, max_shard_size="20KB")
    first = min(changed.glob("*.safetensors"))
    first.unlink()

    with pytest.raises(ModelError) as caught:
        checkpoint(changed)
    assert first.name in str(caught.value)


# Name, identity, provenance


def test_the_identity_names_what_decides_a_score(folder: Path) -> None:
    """Weights and tokenizer by hash, head, pooling, dtype and path by name."""
    identity = checkpoint(folder).identity

    assert set(identity) == {"weights", "tokenizer", "head", "pool", "dtype", "path"}
    assert identity["path"] == "shared prefix"
    assert (identity["head"], identity["dtype"]) == ("linear", "float32")
    assert len(identity["weights"]) == len(identity["tokenizer"]) == 64


def test_a_copy_has_the_same_identity(folder: Path, changed: Path) -> None:
    """Where the folder lies does not matter, and what the model is called neither."""
    renamed = Checkpoint(ModelSpec("other", str(changed)), cache=changed.parent / "cache")

    assert renamed.identity == checkpoint(folder).identity
    assert renamed.name == "other"


def test_another_weight_is_another_identity(folder: Path, changed: Path) -> None:
    """One changed number in the head is another model."""
    retensor(changed, lambda tensors: tensors["score.weight"][0, 0].add_(1e-3))
    one, other = checkpoint(folder).identity, checkpoint(changed).identity

    assert one["weights"] != other["weights"]
    assert one["tokenizer"] == other["tokenizer"]


def test_the_provenance_says_what_ran_where(folder: Path) -> None:
    """Source, architecture, versions and machine, for a report."""
    provenance = checkpoint(folder).provenance

    assert provenance["source"] == str(folder)
    assert provenance["architecture"] == "LlamaForSequenceClassification"
    assert provenance["layers"] == 2
    assert provenance["torch"] == torch.__version__
    assert provenance["threads"] == 1
    assert json.dumps(provenance)
