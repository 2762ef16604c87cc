"""Servers in models.yaml: what may stand there, and no secret in what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.config.model_registry import ModelSpec, load_registry
from rmaudit.config.servers import Server, masked_urls, server_of
from rmaudit.errors import SpecError

ENTRY = """models:
  rm:
    source: vllm+https://host:8000/
    checkpoint: ./tok
    served_model: house/rm
    version: "2026-11"
    api_key: RM_KEY
    concurrency: 2
    batch: 64
    default: true
"""


def read(folder: Path, text: str) -> ModelSpec:
    """The entry of a file with this text."""
    path = folder / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return load_registry(path).models["rm"]


def test_an_entry_is_read(tmp_path: Path) -> None:
    """Its URL without the slash, its folders from the file's own."""
    (tmp_path / "tok").mkdir()
    spec = read(tmp_path, ENTRY)

    assert (spec.checkpoint, spec.concurrency) == (str(tmp_path / "tok"), 2)
    assert server_of(spec.source) == Server("vllm", "https://host:8000")
    assert server_of("owner/name") is None


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("https://host", "https://me:s3cret@host", ["3: rm: source: ", "password", "`api_key`"]),
        ("8000/", "8000/?key=s3cret", ["3: rm: source: ", "query", "`api_key`"]),
        ("vllm+https", "tgi+https", ["no source is of the kind 'tgi'", "openrlhf"]),
        ("vllm+https://host:8000/", "https://host/rm?key=s3cret", ["no URL of a server"]),
        ("host:8000", "host:80000", ["no URL of a server"]),
        ("RM_KEY", "sk-s3cret", ["api_key", "name of an environment variable"]),
        ("batch: 64", "dtype: float16", ["dtype", "whoever started its server"]),
        ("vllm+https://host:8000/", "./rm", ["checkpoint", "behind a server"]),
        ("8000/", "8000/%3Fkey=s3cret", ["3: rm: source: ", "query", "`api_key`"]),
        ("./tok", "https://me:s3cret@host/tok", ["4: rm: checkpoint: ", "password"]),
        ("served_model: house/rm", "pairs: s3://b/x?sign=s3cret", ["5: rm: pairs: ", "query"]),
        (
            "source: vllm+https://host:8000/",
            "implicit: {policy: a/b, beta: 1, reference: 'https://me:s3cret@host'}",
            ["3: rm: implicit: reference: ", "password"],
        ),
    ],
)
def test_a_wrong_entry_is_refused(old: str, new: str, names: list[str], tmp_path: Path) -> None:
    """With its line, and without what may be a password."""
    with pytest.raises(SpecError) as caught:
        read(tmp_path, ENTRY.replace(old, new))

    said = str(caught.value)
    assert all(name in said for name in names), said
    assert "s3cret" not in said


def test_an_error_of_others_shows_no_password_of_a_url() -> None:
    """Nor a query, where signatures stand; the rest of the sentence stays."""
    said = "403 for 'https://me:s3cret@host:5000/a?sign=s3cret' (s3://b/x?k=s3cret): forbidden"

    shown = "403 for 'https://***@host:5000/a?***' (s3://b/x?*** forbidden"
    assert masked_urls(said) == shown


def test_a_silent_server_needs_a_version(tmp_path: Path) -> None:
    """OpenRLHF's says nothing of its weights: other ones' scores would be read back."""
    (tmp_path / "tok").mkdir()
    entry = ENTRY.replace("vllm+https://host:8000/", "openrlhf+http://host:5000/get_reward")
    assert read(tmp_path, entry).version == "2026-11"

    with pytest.raises(SpecError, match=r":3: rm: source: .* say what it serves.* give `version`"):
        read(tmp_path, entry.replace('    version: "2026-11"\n', ""))
