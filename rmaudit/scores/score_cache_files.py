"""Read and write files of the score cache: in a local folder, or at a URL (`s3://…`, `memory://`).

URLs are those that fsspec knows. A file is written whole or not at all, and by `create` only if
nobody has written it: on a shared file system by a hard link to a file of one's own, on an object
store by a conditional put. Neither needs a lock, which NFS and Lustre may lack. A name has "/"
between folder and file. On failure, all operations but `clear` raise `OSError`.
"""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from rmaudit.config.servers import BARE_URL, masked_urls, secret_in
from rmaudit.errors import StoreError

_TRIES = 10  # of a write whose folder others clear up meanwhile
_CONFLICTS = 3  # tries of a conditional put


class LocalFiles:
    """Files in a folder of the local file system, which other machines may share."""

    def __init__(self, root: Path) -> None:
        """Use the folder `root`, which the first write creates."""
        self.root = root

    def where(self, name: str = "") -> str:
        """Return the path of a file."""
        return str(self.root / name)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist."""
        path = self.root / name
        try:
            if not stat.S_ISREG(path.stat().st_mode):  # to open a pipe would wait for ever
                raise OSError("it is not a file")
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def opened(self, name: str) -> BinaryIO:
        """Return a regular file opened for reading; raise if there is none."""
        path = self.root / name
        if not path.is_file():
            raise FileNotFoundError(str(path))
        return path.open("rb")

    def exists(self, name: str) -> bool:
        """Return whether anything exists under this name, a broken link included."""
        return os.path.lexists(self.root / name)

    def create(self, name: str, content: bytes) -> bool:
        """Write a new file by linking a temporary one; return False if the name is taken.

        On a file system without hard links the temporary file is renamed instead, which may replace
        a file of the same content.
        """

        def placed(own: Path, path: Path) -> None:
            try:
                os.link(own, path)
            except (FileExistsError, FileNotFoundError):
                raise
            except OSError:  # a file system without links
                own.replace(path)

        try:
            self._write(name, content, placed)
        except FileExistsError:
            return False
        return True

    def replace(self, name: str, content: bytes) -> None:
        """Write a file: write a temporary one, and rename it to `name`."""
        self._write(name, content, lambda own, path: own.replace(path))

    def move(self, name: str, new: str) -> None:
        """Rename a file from `name` to `new`."""
        (self.root / name).replace(self.root / new)

    def names(self, folder: str = "") -> list[str]:
        """Return the sorted names of all files below a folder."""
        found = (self.root / folder).rglob("*")
        return sorted(path.relative_to(self.root).as_posix() for path in found if path.is_file())

    def prepare(self, folder: str) -> None:
        """Create the folder and its parents, if they do not exist."""
        (self.root / folder).mkdir(parents=True, exist_ok=True)

    def clear(self, folder: str) -> None:
        """Remove the folder with all its files, also temporary ones of a killed process."""
        shutil.rmtree(self.root / folder, ignore_errors=True)

    def _write(self, name: str, content: bytes, placed: Callable[[Path, Path], object]) -> None:
        path = self.root / name
        parts = path.parent if "/" in name else path.with_suffix(".parts")
        for tries in range(_TRIES):
            own = parts / f"{path.stem}.{uuid.uuid4().hex}.partial"
            try:
                parts.mkdir(parents=True, exist_ok=True)
                with own.open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())  # a power cut after the linking finds the scores there
                placed(own, path)
            except FileNotFoundError:  # somebody has just cleared the folder up
                if tries == _TRIES - 1:
                    raise
            else:
                return
            finally:
                with suppress(OSError):
                    own.unlink(missing_ok=True)


class RemoteFiles:
    """Files at a URL that fsspec can reach, such as an S3 bucket."""

    def __init__(self, url: str) -> None:
        """Find the file system for a URL, such as `s3://bucket/folder`.

        Raises:
            StoreError: no file system is known for the URL, or a package is missing.
        """
        import fsspec

        try:
            self._fs, self._root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            kind = url.partition("://")[0]
            extra = "pip install 'rmaudit[s3]'" if kind in {"s3", "s3a"} else str(error)
            raise StoreError(f"{url}: a package is missing for {kind}://; {extra}") from None
        except ValueError as error:
            raise StoreError(f"{url}: no place for a cache ({error}); name a folder") from None
        self._root = self._root.rstrip("/")
        self._url = url.rstrip("/")

    def where(self, name: str = "") -> str:
        """Return the URL of a file."""
        return f"{self._url}/{name}" if name else self._url

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist."""
        with _as_os_error():
            try:
                return cast("bytes", self._fs.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

    def opened(self, name: str) -> BinaryIO:
        """Return a file opened for reading; only the parts that are read are fetched."""
        with _as_os_error():
            return cast("BinaryIO", self._fs.open(self._path(name), "rb"))

    def exists(self, name: str) -> bool:
        """Ask the server whether the file exists, without fsspec's cached listing."""
        with _as_os_error():
            self._fs.invalidate_cache()
            return bool(self._fs.exists(self._path(name)))

    def create(self, name: str, content: bytes) -> bool:
        """Write the file if it does not exist and return whether it was written; retry twice."""
        for tries in range(_CONFLICTS):
            try:
                with _as_os_error():
                    self._fs.pipe_file(self._path(name), content, mode="create")
            except OSError:  # each client tells in its own way that it is there
                if self.exists(name):
                    return False
                if tries == _CONFLICTS - 1:
                    raise
            else:
                return True
        return False

    def replace(self, name: str, content: bytes) -> None:
        """Write the file, in place of an existing one."""
        with _as_os_error():
            self._fs.pipe_file(self._path(name), content)

    def move(self, name: str, new: str) -> None:
        """Rename a file: copy it, and remove the old one."""
        with _as_os_error():
            self._fs.mv(self._path(name), self._path(new))

    def names(self, folder: str = "") -> list[str]:
        """Return the sorted names of all files below a folder, as the server lists them now."""
        with _as_os_error():
            self._fs.invalidate_cache()
            found: list[Any] = self._fs.find(self._path(folder))
        return sorted(str(path).removeprefix(f"{self._root}/") for path in found)

    def prepare(self, folder: str) -> None:
        """Write an empty file to the folder, to make sure that it can be written to."""
        self.replace(f"{folder}/begun", b"")

    def clear(self, folder: str) -> None:
        """Remove all files below the folder, as far as possible."""
        with suppress(OSError), _as_os_error():
            for name in self.names(folder):
                self._fs.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root


Files: TypeAlias = LocalFiles | RemoteFiles


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Raise an `OSError` in place of any error of an object store's client."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001  (each client has its own)
        raise OSError(masked_urls(f"{type(error).__name__}: {error}")) from None


def files_at(root: Path | str) -> Files:
    """Return an object that reads and writes a cache's scores in a folder or at a URL ("://").

    Raises:
        StoreError: there is no file system for the URL, it has a password, or a package is missing.
    """
    if secret := secret_in(str(root)):
        raise StoreError(f"the cache is {secret}; {BARE_URL}")
    if isinstance(root, str) and "://" in root:
        return RemoteFiles(f"{root.rstrip('/')}/scores")
    return LocalFiles(Path(root) / "scores")
