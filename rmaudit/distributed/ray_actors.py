"""Define the Ray actors: `ScoreMaker` computes a model's scores, `FileServer` serves a folder.

What is sent to them and back is data: a model's entry, requests for scores, texts, numbers, bytes.
Their code is that of the rmaudit that is installed where they run, never sent.
"""

from __future__ import annotations

import importlib
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rmaudit.config.model_spec import ModelSpec
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.errors import RmauditError
from rmaudit.runs.run_scores import Request, Scores
from rmaudit.scores.score_cache_files import LocalFiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmaudit.distributed.missing_scores import Need
    from rmaudit.models.model_interfaces import Scored


_OPERATIONS = ("read", "exists", "create", "replace", "move", "names", "prepare", "clear")


class FileServer:
    """A Ray actor that serves a folder's files, on the node that started the run."""

    def __init__(self, folder: str) -> None:
        """Take the path of the folder with the store's files."""
        self.files = LocalFiles(Path(folder))

    def do(self, operation: str, *given: str | bytes) -> Any:  # noqa: ANN401  (by the operation)
        """Call one operation of the folder's files, by its name, and return the result."""
        return getattr(self.files, operation)(*given)


class ServedFiles(LocalFiles):
    """Stand for the files of a folder on another node, which its `FileServer` actor handles.

    What lies beside the scores (`root.parent`) is available only if that node's folder is on this
    node, too.
    """

    def __init__(self, folder: str, server: str) -> None:
        """Connect to the actor named `server`; `folder` is the path on that actor's node."""
        import ray

        here = Path(folder)
        super().__init__(here if here.parent.is_dir() else default_cache() / here.name)
        self._ray, self._server = ray, ray.get_actor(server)
        for operation in _OPERATIONS:
            setattr(self, operation, partial(self._ask, operation))

    def opened(self, name: str) -> BinaryIO:
        """Return a file's bytes as a stream, after all of them were fetched."""
        if (content := self.read(name)) is None:
            raise FileNotFoundError(self.where(name))
        return BytesIO(content)

    def _ask(self, operation: str, *given: str | bytes) -> Any:  # noqa: ANN401  (by the operation)
        return self._ray.get(self._server.do.remote(operation, *given))


class ScoreMaker:
    """A Ray actor that computes scores of one model, which it opens once.

    Ray starts it again if its node dies.
    """

    def __init__(
        self, spec: ModelSpec, module: str, store_root: str, server: str, device: str
    ) -> None:
        """Note the model's entry and where the score store is; nothing is opened yet.

        `module` is the one that declares the model if it is a function, else "". `store_root` is
        the URL of the store, or the folder of its files where a `server` is named.
        """
        self.spec, self.module, self.device = spec, module, device
        self.store_root, self.server = store_root, server
        self._model: Scored | None = None
        self._needs: Mapping[str, Need] = {}  # of the last request, by the key of the scores

    def ready(self) -> str:
        """Open the model; return "", or the reason why it cannot be opened here.

        Weights load at the first score.
        """
        from rmaudit.models.model_factory import Opening, opened
        from rmaudit.scores.score_store import Store

        root = self.store_root
        self.store = Store(ServedFiles(root, self.server) if self.server else root)
        try:
            if self.module:
                importlib.import_module(self.module)
            self._model = opened(self.spec, Opening(self.store.local, self.device))
        except (RmauditError, ImportError) as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Free the weights, before another process looks how much memory is free."""
        if (close := getattr(self._model, "close", None)) is not None:
            close()

    def make(self, request: Request, key: str, start: int | None) -> str:
        """Score the shard of a need from row `start` on, or finish it; return "" or an error.

        `key` is the key of the request's scores. To finish (`start` None) is to join
        the shards, or to make a search.
        """
        try:
            need = self._need(request, key)
            if need.work is None:
                Scores(self.store, self.device).again(need.model, need.request)
            elif start is None:
                self.store.complete(need.work)
            else:
                which = next(each for each in need.work.shards if each.start == start)
                self.store.make(need.work, which)
        except RmauditError as error:
            return str(error)
        return ""

    def _need(self, request: Request, key: str) -> Need:
        """Return the `Need` with this `key`; plan its request first, unless it is the last one.

        Shards of one request come in a row.
        """
        from rmaudit.distributed.missing_scores import Needs

        if self._model is None and (why := self.ready()):  # it was started again
            raise RmauditError(why)
        assert self._model is not None, "it is ready"  # noqa: S101  (for types)
        if key not in self._needs:
            needs = Needs(self.store, self.device)
            needs.ask(self._model, request)
            self._needs = needs.found
        if key not in self._needs:
            message = "its scores would have another key on this node; give all nodes the same "
            raise RmauditError(f"{message}rmaudit, files of the model, and reference data")
        return self._needs[key]
