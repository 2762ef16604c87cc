"""Headers of weights wherever these are: in a folder, or still on the hub."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rmaudit.checkpoints import headers, hub, source
from rmaudit.checkpoints.headers import Headers
from rmaudit.errors import ModelError


def weights(folder: Path, source: str, *, model: str) -> Headers:
    """Those of a checkpoint; `source` is the hub id whose snapshot the folder is, if it is one.

    Raises:
        ModelError: there are none, they are damaged, or they are not here and the hub cannot be
            asked.
    """
    commit = hub.commit(folder)
    if commit is None or hub.has_weights(folder):
        return headers.in_folder(folder, model=model)
    with _asked(model):
        return headers.on_hub(source, commit, folder, model=model)


def adapter(path: Path, source: str, *, model: str) -> Headers:
    """Those of an adapter's tensors, in the file that would be at `path`; `source` as above.

    Raises:
        ModelError: it has none, they are damaged, or they are not here and the hub cannot be asked.
    """
    if path.is_file():
        return headers.in_file(path, model=model)
    folder, commit, there = path.parent, hub.commit(path.parent), []
    if commit is not None:
        with _asked(model):
            there = headers.names_on_hub(source, commit)
            if path.name in there:
                return headers.file_on_hub(source, commit, path.name)
    pickle = "adapter_model.bin"
    pickled = pickle in there or (folder / pickle).is_file()
    found = f"only {pickle}, a pickle, which can run code" if pickled else "no weights"
    message = (
        f"{model}: no {path.name} in {folder if commit is None else source} ({found}). Load the "
        f"adapter with peft where you trust it, and save it again: model.save_pretrained(FOLDER) "
        f"writes safetensors"
    )
    raise ModelError(message)


@contextmanager
def _asked(model: str) -> Iterator[None]:
    try:
        yield
    except hub.failures() as error:
        raise source.unasked(model, error) from error
