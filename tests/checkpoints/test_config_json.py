"""config.json is read strictly: whatever is wrong with it is one line that names file and entry."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path

import pytest
import transformers
from transformers.utils import logging as theirs

from rmaudit.checkpoints import config_json, third_party_errors
from rmaudit.errors import ModelError
from tests.checkpoints.folders import HIDDEN, refusal, refused, write


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not JSON: Expecting property name"),
        (b"", "is not JSON: Expecting value"),
        (b"\xff\xfe", "is not JSON: 'utf-8' codec can't decode"),
        (b"[1, 2]", "holds no mapping"),
        (b"null", "holds no mapping"),
        (b"[" * 10**5, "is nested too deeply"),
        (b'{"a":' * 10**5, "is nested too deeply"),
        (None, "cannot be read (Is a directory)"),
    ],
    ids=range(8),
)
def test_a_config_is_a_mapping(tmp_path: Path, content: bytes | None, said: str) -> None:
    """The file and what is wrong with it are named."""
    path = write(tmp_path) / "config.json"
    path.unlink()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)

    assert refusal(tmp_path).startswith(f"toy: FOLDER/config.json {said}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("architectures", "LlamaForSequenceClassification"),
        ("architectures", 3),
        ("architectures", {"a": 1}),
        ("architectures", [None]),
        ("text_config", "text"),
        ("text_config", [1]),
        ("text_config", {"vocab_size": 0}),
        *(("vocab_size", value) for value in (0, -1, 2.5, "8", True, 10**9)),
        *(("num_hidden_layers", value) for value in (0, -1, 10**9)),
        ("n_layer", "twelve"),
    ],
)
def test_an_entry_of_a_wrong_kind_is_refused(tmp_path: Path, key: str, value: object) -> None:
    """It is named with what stands there and what should."""
    text = refusal(write(tmp_path, **{key: value}))

    (named,) = value if isinstance(value, dict) and key == "text_config" else (key,)
    shown = value[named] if named != key and isinstance(value, dict) else value
    assert text.startswith(f"toy: {named} in FOLDER/config.json is {shown!r}, and should be ")


def test_a_folder_without_a_config_is_refused(tmp_path: Path) -> None:
    """As models.yaml may name one; of a training run the newest checkpoint is named."""
    text = refusal(tmp_path)
    assert text == "toy: no config.json in FOLDER; is it a checkpoint folder?"

    write(tmp_path / "checkpoint-20")
    write(tmp_path / "checkpoint-100")

    assert refusal(tmp_path) == f"{text} Give one of its checkpoints, such as FOLDER/checkpoint-100"


def test_defaults_are_those_of_the_class(tmp_path: Path) -> None:
    """What config.json leaves out has the class's value."""
    write(tmp_path)
    config = {"model_type": "gemma2", "hidden_size": HIDDEN}
    (tmp_path / "config.json").write_text(json.dumps(config))

    read = config_json.defaults(tmp_path, model="toy")

    assert (type(read).__name__, read.hidden_size, read.pad_token_id) == ("Gemma2Config", HIDDEN, 0)


@pytest.mark.parametrize("kind", ["Llama", "nonsense", "", None, 3, ["llama"], {"llama": 1}])
def test_an_unknown_model_type_is_refused(tmp_path: Path, kind: object) -> None:
    """Whatever stands there, it is told with its file, and what can be done."""
    write(tmp_path, model_type=kind)

    text = refused(config_json.defaults, tmp_path, at=tmp_path, model="toy")

    assert f"transformers {transformers.__version__} does not know the" in text
    assert f"model_type {kind!r} in FOLDER/config.json; correct it" in text


@pytest.mark.parametrize("kind", ["mamba", "vit", "llama4"])
def test_a_model_type_without_a_classifier_is_refused(tmp_path: Path, kind: str) -> None:
    """Nothing in transformers could load it with a head."""
    with pytest.raises(ModelError, match=rf"no sequence-classification class .* '{kind}' in "):
        config_json.refuse_unclassified(write(tmp_path, model_type=kind), kind, model="toy")


def test_a_part_that_its_class_does_not_know_is_refused(tmp_path: Path) -> None:
    """Transformers would keep it as it is, and take it for the configuration."""
    write(tmp_path, text_config={}, num_attention_heads=2)

    with pytest.raises(ModelError, match=r"text_config in .* is \{\}, and should be left out of a"):
        config_json.defaults(tmp_path, model="toy")


def test_a_setting_that_its_class_refuses(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the first line of what transformers says, and by nothing else."""
    write(tmp_path, num_attention_heads="four", rope_scaling={"rope_type": "nonsense"})

    text = refused(config_json.defaults, tmp_path, at=tmp_path, model="toy")

    assert text.startswith("toy: config.json could not be read from FOLDER (")
    assert capfd.readouterr().err == ""


def test_what_transformers_warns_of_is_said_once() -> None:
    """After a reading that went well; where it failed, our one line says it."""
    logger, said = theirs.get_logger("transformers.models"), list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    theirs.add_handler(handler)
    try:
        with third_party_errors.transformers_log_held_back():
            for _ in range(7):
                logger.warning("strange rope")
        assert said == ["strange rope"]
        with suppress(ModelError), third_party_errors.as_model_error("toy", "it", Path("folder")):
            logger.warning("strange rope")
            raise KeyError("rope")
        assert said == ["strange rope"]
    finally:
        theirs.remove_handler(handler)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(2), MemoryError()])
def test_what_is_no_failure_of_a_reader_goes_on(error: BaseException) -> None:
    """Ctrl-C ends the run, and memory that lacks is told elsewhere."""
    with pytest.raises(type(error)), third_party_errors.as_model_error("toy", "it", Path("folder")):
        raise error


def test_a_panic_is_a_failure(tmp_path: Path) -> None:
    """Rust libraries raise it past every `except Exception`."""
    panic = type("PanicException", (BaseException,), {})

    told = third_party_errors.as_model_error("toy", "its tokenizer", tmp_path)
    with pytest.raises(ModelError, match=r"PanicException: no such byte"), told:
        raise panic("no such byte")
