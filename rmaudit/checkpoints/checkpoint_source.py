"""Find a checkpoint's files: in a folder, or in a commit on the hub, not downloaded yet.

A source of either kind says which files there are and what the headers of their tensors are, so
what is checked is checked alike. Of a hub id, config.json and the like are downloaded at once, and
weights only when they are asked for: a refusal costs kilobytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rmaudit.checkpoints import bundled_model, hub_client, tensor_names, weights_headers
from rmaudit.checkpoints.third_party_errors import brief, short
from rmaudit.checkpoints.weights_headers import Header
from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.paths_and_atomic_writes import expanded, is_folder
from rmaudit.config.servers import KINDS, kind_of
from rmaudit.errors import ModelError

BUILT, UNBUILT = "built", "not built yet"
DOWNLOADED, ELSEWHERE = "downloaded", "not downloaded"
FOLDER, MISSING = "folder", "folder missing"
SERVED = "served"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that has all files of a checkpoint; errors begin with `model`."""

    model: str
    path: Path

    @property
    def where(self) -> str:
        """Return the folder's path as text."""
        return str(self.path)

    def names(self) -> list[str]:
        """Return the names of the files in the folder."""
        return weights_headers.names_in(self.path, model=self.model)

    def headers(self, name: str) -> dict[str, Header]:
        """Return shape and dtype of each tensor in one safetensors file of the folder."""
        return weights_headers.headers(self.path / name, model=self.model)

    def downloaded(self) -> Folder:
        """Return this folder, which has its weights already."""
        return self


@dataclass(frozen=True, slots=True)
class HubCommit:
    """A commit on the hub whose weights are not downloaded; `path` has its small files.

    `folder_hint` is for errors: how a folder is given in place of a hub id that cannot be
    downloaded.
    """

    model: str
    id: str
    commit: str
    path: Path
    folder_hint: str

    @property
    def where(self) -> str:
        """Return the hub id."""
        return self.id

    def names(self) -> list[str]:
        """Return the names of the commit's files on the hub, without subfolders' files."""
        with self._asked():
            return hub_client.names(self.id, self.commit)

    def headers(self, name: str) -> dict[str, Header]:
        """Return shape and dtype of each tensor in one file, by range requests to the hub.

        Nothing big is downloaded.
        """
        with self._asked():
            return hub_client.headers(self.id, self.commit, name)

    def downloaded(self) -> Folder:
        """Download the commit's weights, and return its folder in the hub's cache."""
        path = _snapshot(self.model, self.id, self.commit, self.folder_hint, weights=True)
        if not weights_headers.complete(path):  # offline, only the small files are there
            read(self)
        return Folder(self.model, path)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Turn a failure of the hub in a `with` block into a `ModelError`."""
        try:
            yield
        except hub_client.failures() as error:
            raise ModelError(
                f"{self.model}: its weights are not downloaded, and the hub cannot be asked for "
                f"them ({brief(error)}); check your connection and your access (`hf auth login`)"
            ) from error


# The files of a checkpoint, wherever they are; every member may raise `ModelError`.
CheckpointFiles: TypeAlias = Folder | HubCommit


def find(spec: ModelSpec, cache: Path, *, folder_hint: str = "") -> CheckpointFiles:
    """Find a model's files; build the bundled model, or download a hub id's files without weights.

    `folder_hint` is for errors: how a folder is given in place of a hub id that cannot be
    downloaded, where that is not by the model's name.

    Raises:
        ModelError: the files are not here and cannot be downloaded.
    """
    if spec.source == "embedded":
        return Folder(spec.name, bundled_model.build(cache))
    if kind := kind_of(spec.source):
        where = "behind a server" if kind in KINDS else "opened by another package"
        message = f"{spec.name}: it is {where} ({spec.source}), and this needs its files; "
        raise ModelError(f"{message}name the checkpoint's folder or hub id in its place")
    folder = expanded(spec.source)
    if folder.is_absolute():  # the registry makes every folder absolute
        if not is_folder(folder):
            shown = short(repr(str(folder)).strip("'"), 500)
            raise ModelError(f"{spec.name}: no folder {shown}; correct its `source` in models.yaml")
        return Folder(spec.name, folder)
    path = _snapshot(spec.name, spec.source, spec.revision, folder_hint, weights=False)
    commit = commit_of(path) or spec.revision
    if commit is None or weights_headers.complete(path):
        return Folder(spec.name, path)
    return HubCommit(spec.name, spec.source, commit, path, folder_hint)


def commit_of(folder: Path) -> str | None:
    """Return a folder's commit hash if it is a snapshot in the hub's cache; None otherwise."""
    hashed = re.fullmatch("[0-9a-f]{40}", folder.name) is not None
    return folder.name if hashed and folder.parent.name == "snapshots" else None


def read(source: CheckpointFiles) -> dict[str, Header]:
    """Return shape and dtype of every weights tensor of a checkpoint, by tensor name.

    The names are without prefixes of wrappers (`tensor_names`).

    Raises:
        ModelError: there are none, they are damaged or incomplete, or they are on the hub and it
            cannot be asked.
    """
    found: dict[str, Header] = {}
    for name in weights_headers.weights_names(
        source.names(), source.path, model=source.model, where=source.where
    ):
        found |= source.headers(name)
    return {name: found[stored] for name, stored in tensor_names.plain(found).items()}


def presence(spec: ModelSpec, cache: Path) -> str:
    """Return whether a model's files are on this machine, as a word such as "downloaded".

    The words are `BUILT`, `UNBUILT`, `DOWNLOADED`, `ELSEWHERE`, `FOLDER`, `MISSING` and, of what
    has no files, `SERVED` or the kind that another package opens. Neither the network nor any
    weights are read.
    """
    if spec.source == "embedded":
        return BUILT if bundled_model.folder_in(cache).is_dir() else UNBUILT
    if kind := kind_of(spec.source):
        return SERVED if kind in KINDS else kind
    folder = expanded(spec.source)
    if folder.is_absolute():
        return FOLDER if is_folder(folder) else MISSING
    found = hub_client.downloaded(spec.source, spec.revision)
    return DOWNLOADED if found is not None and weights_headers.complete(found) else ELSEWHERE


def _snapshot(
    model: str, source: str, revision: str | None, folder_hint: str, *, weights: bool
) -> Path:
    try:
        return hub_client.snapshot(source, revision, weights=weights)
    except hub_client.failures() as error:
        whose = "" if model == source else f"{model}: "
        folder = f"a folder: {folder_hint}" if folder_hint else "a checkpoint folder"
        raise ModelError(
            f"{whose}{short(source)} is no folder here, and the Hugging Face hub did not give it "
            f"({brief(error)}). Check the name, your connection and your access "
            f"(`hf auth login`), or give {folder}"
        ) from error
