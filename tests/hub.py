"""A hub of our own: folders served as huggingface.co serves its models, each request noted."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub.constants
import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What is served: hub ids to folders; ids that are gated; and what was asked for."""

    models: dict[str, Path]
    gated: set[str] = field(default_factory=set)
    served: dict[str, int] = field(default_factory=dict)  # bytes of each file
    commit: str = COMMIT
    says: bytes | None = None  # whatever it is asked of a model
    closes: str = (
        ""  # connections, without a word: those that ask about "all", "files" or "weights"
    )


class Handler(BaseHTTPRequestHandler):
    """Answers as the hub does."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""

    def do_HEAD(self) -> None:
        """Without the body."""
        self.answer(head=True)

    def do_GET(self) -> None:
        """With the body."""
        self.answer(head=False)

    def answer(self, *, head: bool) -> None:
        """What lies at the path."""
        parts = self.path.partition("?")[0].strip("/").split("/")
        api = parts[:2] == ["api", "models"]
        parts = parts[2:] if api else parts
        name, rest = "/".join(parts[:2]), parts[2:]
        folder = self.hub.models.get(name)
        revision = next((part for part in rest[1:2]), "main")
        large = parts[-1].endswith(".safetensors")
        if self.hub.closes == "all" or (
            not api and large >= (self.hub.closes == "weights") and self.hub.closes
        ):
            self.close_connection = True
            self.connection.close()
        elif api and self.hub.says is not None:
            self.say(200, self.hub.says)
        elif folder is None:
            self.say(404, b"", {"X-Error-Code": "RepoNotFound"})
        elif revision not in {"main", self.hub.commit}:
            self.say(404, b"", {"X-Error-Code": "RevisionNotFound"})
        elif name in self.hub.gated and not api:
            self.say(403, b"", {"X-Error-Code": "GatedRepo"})
        elif api and rest[:1] == ["tree"]:
            self.say(200, json.dumps([entry(path) for path in files(folder)]).encode())
        elif api:
            siblings = [{"rfilename": path.name} for path in files(folder)]
            info = {"id": name, "sha": self.hub.commit, "siblings": siblings}
            self.say(200, json.dumps(info).encode())
        else:
            self.file(folder / "/".join(rest[2:]), head=head)

    def file(self, path: Path, *, head: bool) -> None:
        """A file, or the range of it that is asked for."""
        if not path.is_file():
            self.say(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        data, about = path.read_bytes(), entry(path)
        lfs = about.get("lfs")
        tag = str(lfs["oid"] if isinstance(lfs, dict) else about["oid"])
        said = {"X-Repo-Commit": self.hub.commit, "ETag": f'"{tag}"', "X-Linked-ETag": f'"{tag}"'}
        said["X-Linked-Size"] = str(len(data))
        start, _, end = (self.headers["Range"] or "bytes=0-").removeprefix("bytes=").partition("-")
        part = data[int(start) : int(end) + 1 if end else None]
        if not head:
            self.hub.served[path.name] = self.hub.served.get(path.name, 0) + len(part)
        if self.headers["Range"]:
            said["Content-Range"] = f"bytes {start}-{int(start) + len(part) - 1}/{len(data)}"
        self.say(206 if self.headers["Range"] else 200, part, said, head=head)

    def say(
        self, code: int, body: bytes, said: dict[str, str] | None = None, *, head: bool = False
    ) -> None:
        """An answer with its headers."""
        self.send_response(code)
        for key, value in {**(said or {}), "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if not head and self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def serving(hub: Hub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The hub in place of huggingface.co, with an empty cache."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Ours", (Handler,), {"hub": hub}))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(
        huggingface_hub.constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        endpoint + "/{repo_id}/resolve/{revision}/{filename}",
    )
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def files(folder: Path) -> list[Path]:
    """What a repository holds."""
    return sorted(path for path in folder.iterdir() if path.is_file())


def entry(path: Path) -> dict[str, object]:
    """What the hub says of a file: large ones are known by their sha256."""
    data = path.read_bytes()
    git = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    found: dict[str, object] = {"type": "file", "path": path.name, "size": len(data), "oid": git}
    if path.suffix in {".safetensors", ".bin"}:
        large = hashlib.sha256(data).hexdigest()
        found["lfs"] = {"oid": large, "size": len(data), "pointerSize": 130}
    return found
