"""The Hugging Face hub: snapshots of hub ids in its cache, their commits, and who may read them."""

from __future__ import annotations

import re
from pathlib import Path

from rmaudit.checkpoints import shards
from rmaudit.errors import ModelError

SMALL = ["*.json", "*.jinja", "*.model", "merges.txt", "vocab.txt"]
WEIGHTS = ["*.safetensors"]
CODE = ["*.py"]
UNREAD = ["*/*.safetensors", "consolidated*.safetensors"]  # copies in other formats, as large


def failures() -> tuple[type[Exception], ...]:
    """What huggingface_hub raises where the hub cannot be asked or does not answer as it should."""
    from huggingface_hub import errors

    # The HTTP client is another in other releases; theirs inherits from its errors.
    base = next(kind for kind in errors.HfHubHTTPError.__mro__ if kind.__name__ == "HTTPError")
    return (
        OSError,
        ValueError,
        base,
        errors.NotASafetensorsRepoError,
        errors.SafetensorsParsingError,
    )


def snapshot(source: str, revision: str | None, wanted: list[str]) -> Path:
    """The folder of a hub id's commit in the hub's cache, what is wanted of it downloaded.

    Raises:
        OSError: or any other of `failures`, it is not here and cannot be had.
    """
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(source, revision=revision, allow_patterns=wanted, ignore_patterns=UNREAD)
    )


def downloaded(source: str, revision: str | None) -> Path | None:
    """The snapshot of a hub id in the hub's cache, whole or not; None if there is none."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(source, "config.json", revision=revision)
    return Path(found).parent if isinstance(found, str) else None


def commit(folder: Path) -> str | None:
    """The commit whose snapshot the folder is, if it is one in the hub's cache."""
    hashed = re.fullmatch("[0-9a-f]{40}", folder.name) is not None
    return folder.name if hashed and folder.parent.name == "snapshots" else None


def has_weights(folder: Path) -> bool:
    """Whether all weights of a snapshot are here, as far as its index tells."""
    try:
        return bool(shards.of(folder, model=folder.name))
    except (ModelError, OSError):
        return False


def access(source: str, revision: str | None) -> str:
    """In a word or two: whether the hub gives it to us. Asks for its metadata only."""
    from huggingface_hub import HfApi, errors

    try:
        HfApi().auth_check(source)
        HfApi().model_info(source, revision=revision, timeout=10)
    except errors.GatedRepoError:
        return "gated"
    except errors.RevisionNotFoundError:
        return "no such revision"
    except errors.RepositoryNotFoundError:
        return "not found"
    except errors.HfHubHTTPError as error:
        return f"refused ({error.response.status_code})"
    except failures():
        return "offline"
    return "reachable"
