"""Ask the Hugging Face hub: download a model's files, list them, read headers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rmaudit.checkpoints import weights_headers
from rmaudit.checkpoints.weights_headers import Header

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo

_SMALL_FILES = ["*.json", "*.jinja", "*.model", "merges.txt", "vocab.txt", weights_headers.HEAD]
_WEIGHTS = ["*.safetensors"]
_UNREAD = ["*/*.safetensors", "consolidated*.safetensors"]  # copies in other formats, as large


def failures() -> tuple[type[Exception], ...]:
    """Return the exception types that huggingface_hub raises if a request to the hub fails."""
    from huggingface_hub import errors

    # The HTTP client is another in other releases; theirs inherits from its errors.
    base = next(kind for kind in errors.HfHubHTTPError.__mro__ if kind.__name__ == "HTTPError")
    odd = (ValueError, TypeError, KeyError, AttributeError, AssertionError, RecursionError)
    return (
        OSError,
        *odd,  # where it answers with something else than was asked for
        base,
        errors.NotASafetensorsRepoError,
        errors.SafetensorsParsingError,
    )


def snapshot(source: str, revision: str | None, *, weights: bool) -> Path:
    """Download a hub id's small files, and its weights if asked; return their folder in the cache.

    Pickles and code are never among them. If the hub does not answer, the files that are in the
    cache already must do.

    Raises:
        OSError: or any other of `failures`: the files are not here and cannot be downloaded.
    """
    from huggingface_hub import constants, snapshot_download

    known = downloaded(source, revision)
    local = bool(constants.HF_HUB_OFFLINE)
    if not local and not (revision and known and weights_headers.complete(known)):
        try:  # the hub's client would try six times, or wait without end
            _model_info(source, revision)
        except failures():
            if known is None:
                raise
            local = True
    folder = snapshot_download(
        source,
        revision=revision,
        allow_patterns=_SMALL_FILES + _WEIGHTS * weights,
        ignore_patterns=_UNREAD,
        local_files_only=local,
    )
    return Path(folder)


def downloaded(source: str, revision: str | None) -> Path | None:
    """Return the cached snapshot folder of a hub id, complete or not; None if there is none."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(source, "config.json", revision=revision)
    return Path(found).parent if isinstance(found, str) else None


def names(source: str, commit: str) -> list[str]:
    """Return the names of the top-level files in a hub id's commit. Raises `failures`."""
    found = [sibling.rfilename for sibling in _model_info(source, commit).siblings or ()]
    return [name for name in found if "/" not in name]


def headers(source: str, commit: str, name: str) -> dict[str, Header]:
    """Return shape and dtype of each tensor in one file of a hub id's commit, by name.

    Raises `failures`.
    """
    from huggingface_hub import HfApi

    found = HfApi().parse_safetensors_file_metadata(source, name, revision=commit)
    return {key: Header(tuple(t.shape), str(t.dtype)) for key, t in found.tensors.items()}


def _model_info(source: str, revision: str | None) -> ModelInfo:
    """Return the hub's metadata on a commit, by one request with a time-out of ten seconds."""
    from huggingface_hub import HfApi

    return HfApi().model_info(source, revision=revision, timeout=10)
