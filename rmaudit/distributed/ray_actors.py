"""What runs in Ray's own processes: makers of scores, and the keeper of a folder.

What is sent to them and back is plain: texts, numbers, bytes, and tuples and mappings of these.
Their code is that of the rmaudit that is installed where they run, never sent.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from rmaudit.config.local_files import default_cache
from rmaudit.errors import RmauditError
from rmaudit.scores.files import LocalFiles

if TYPE_CHECKING:
    from rmaudit.distributed.needs import Need, Needs
    from rmaudit.models.protocol import Scored


class Keeper:
    """Has the files of a folder, on the node from which the scores are asked."""

    def __init__(self, folder: str) -> None:
        """`folder` is that of the store's files."""
        self.files = LocalFiles(Path(folder))

    def do(self, operation: str, *given: str | bytes) -> Any:  # noqa: ANN401  (by the operation)
        """Call one of the operations of `Files` and return its result."""
        return getattr(self.files, operation)(*given)


class Kept(LocalFiles):
    """The files of a folder of another node, by its keeper.

    What lies beside the scores (`root.parent`) is there too where that node's folder is here.
    """

    def __init__(self, folder: str, keeper: str) -> None:
        """`folder` is that of the store's files, as the keeper's node calls it."""
        import ray

        here = Path(folder)
        super().__init__(here if here.parent.is_dir() else default_cache() / here.name)
        self._ray, self._keeper = ray, ray.get_actor(keeper)

    def read(self, name: str) -> bytes | None:
        """Return what a file holds, None if there is none."""
        return cast("bytes | None", self._ask("read", name))

    def opened(self, name: str) -> BinaryIO:
        """Return the file's bytes, all of which are fetched."""
        if (content := self.read(name)) is None:
            raise FileNotFoundError(self.where(name))
        return BytesIO(content)

    def exists(self, name: str) -> bool:
        """Return whether anything is there."""
        return bool(self._ask("exists", name))

    def create(self, name: str, content: bytes) -> bool:
        """Write a file; False, and nothing is written, if it is there."""
        return bool(self._ask("create", name, content))

    def replace(self, name: str, content: bytes) -> None:
        """Write a file in place of any that is there."""
        self._ask("replace", name, content)

    def move(self, name: str, new: str) -> None:
        """Rename it."""
        self._ask("move", name, new)

    def names(self, folder: str = "") -> list[str]:
        """Return the names of all files below."""
        return list(self._ask("names", folder))

    def prepare(self, folder: str) -> None:
        """Make it."""
        self._ask("prepare", folder)

    def clear(self, folder: str) -> None:
        """Remove it."""
        self._ask("clear", folder)

    def _ask(self, operation: str, *given: str | bytes) -> Any:  # noqa: ANN401  (by the operation)
        return self._ray.get(self._keeper.do.remote(operation, *given))


class Maker:
    """Makes scores of one model, which it opens once; Ray starts it again if its node dies."""

    def __init__(
        self, entry: Mapping[str, Any], module: str, place: str, keeper: str, device: str
    ) -> None:
        """Nothing is opened yet.

        `entry` is the model's; `module` declares it where it is a function, else "". `place` is the
        URL of the store, or the folder of its files where a `keeper` is named.
        """
        self.entry, self.module, self.device = dict(entry), module, device
        self.place, self.keeper = place, keeper
        self._model: Scored | None = None
        self._asked: tuple[Mapping[str, Any], Needs] | None = None

    def ready(self) -> str:
        """Open the model; "", or why it cannot be had here. Weights load at the first score."""
        from rmaudit.config.spec import ModelSpec
        from rmaudit.models.load_model import opened
        from rmaudit.scores.store import Store

        self.store = Store(Kept(self.place, self.keeper) if self.keeper else self.place)
        try:
            if self.module:
                importlib.import_module(self.module)
            spec = ModelSpec(**self.entry)
            self._model = opened(spec, cache=self.store.local, device=self.device)
        except (RmauditError, ImportError) as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Free the weights, before whoever comes next looks how much memory is free."""
        if (close := getattr(self._model, "close", None)) is not None:
            close()

    def make(self, asked: Mapping[str, Any], key: str, start: int | None) -> str:
        """Make the shard of a request's scores that begins at row `start`; "", or why it fails.

        Without a start all that is left of them: the shards are joined, or a search is made.
        """
        from rmaudit.runs.requests import answer

        try:
            need = self._need(asked, key)
            if need.work is None:
                answer(need.request, need.model, self.store, self.device)
            elif start is None:
                self.store.complete(need.work)
            else:
                which = next(each for each in need.work.shards if each.start == start)
                self.store.make(need.work, which)
        except RmauditError as error:
            return str(error)
        return ""

    def _need(self, asked: Mapping[str, Any], key: str) -> Need:
        """Return what a request needs here; the last one's is kept, since shards come in a row."""
        from rmaudit.distributed.needs import Needs
        from rmaudit.runs.requests import from_plain

        if self._model is None and (why := self.ready()):  # it was started again
            raise RmauditError(why)
        assert self._model is not None, "it is ready"  # noqa: S101  (for types)
        if self._asked is None or self._asked[0] != asked or key not in self._asked[1].found:
            needs = Needs(self.store, self.device)
            needs.ask(self._model, from_plain(asked))
            self._asked = asked, needs
        found = self._asked[1].found
        if key not in found:
            message = "its scores would have another key on this node; give all nodes the same "
            raise RmauditError(f"{message}rmaudit, files of the model, and reference data")
        return found[key]
