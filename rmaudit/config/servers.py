"""Read `source: KIND+...` of models.yaml: a server, or a source of another package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from urllib.parse import unquote, urlsplit

from rmaudit.errors import nearest

GROUP = "rmaudit.sources"  # of the entry points by which other packages open models
KIND = "[a-z][a-z0-9_-]*"

KINDS = ("vllm", "sglang", "openrlhf")
ENSEMBLE = "ensemble"  # the KIND of an entry that has members; nobody writes it
OURS = (
    *KINDS,
    ENSEMBLE,
    "checkpoint",
    "function",
    "implicit",
    "recorded",
)  # what they open is in rmaudit.sources
SILENT = ("openrlhf",)  # they say nothing of the weights that they serve
JUDGING = ("vllm", "sglang")  # they give the probabilities of a judge's two verdicts
SPELLING = rf"({'|'.join(KINDS)})\+https?://\S+"
OTHERS = rf"(?!({'|'.join(KINDS)})\+){KIND}\+\S.*"  # what another package may open
KEY_NAME = "[A-Z_][A-Z0-9_]*"  # of an environment variable
_EXPECTED = (
    "no URL of a server that rmaudit knows; expected vllm+http://host:8000, "
    "sglang+http://host:30000 or openrlhf+http://host:5000/get_reward, the same with https, a "
    "folder, or a hub id owner/name"
)
BARE_URL = (
    "give the bare URL, and what opens it in the environment variables or settings of its client"
)
KEYS = ("checkpoint", "served_model", "version", "api_key", "batch", "concurrency")
"""Keys of models.yaml which mean nothing of any other model."""
WITHOUT = ("dtype", "pool", "logit", "objective", "quantized", "compiled")
"""Keys that whoever started the server decides."""


@dataclass(frozen=True, slots=True)
class Server:
    """A reward model server: its protocol and its URL.

    Attributes:
        kind: what it speaks, one of `KINDS`.
        url: where it is, with no slash at its end.
    """

    kind: str
    url: str


def server_of(source: str) -> Server | None:
    """Return the server that a model's `source` names; None if it names no server."""
    if not re.fullmatch(SPELLING, source):
        return None
    kind, _, url = source.partition("+")
    return Server(kind, url.rstrip("/"))


def kind_of(source: str) -> str:
    """Return the KIND of a source `KIND+...`, which has no files here; "" for any other source."""
    found = re.match(rf"({KIND})\+", source)
    return found[1] if found else ""


def installed() -> dict[str, EntryPoint]:
    """Return the entry points by which installed packages open models, by their kind."""
    return {each.name: each for each in entry_points(group=GROUP) if each.name not in OURS}


def unknown_kind(kind: str) -> str:
    """Return what is wrong with a source of this kind; "" if rmaudit or a package opens it."""
    if kind in KINDS or kind in (others := installed()):  # which reads what is installed
        return ""
    known = [*KINDS, *sorted(others)]
    return (
        f"no source is of the kind {kind!r};{nearest(kind, known)} known: {', '.join(known)}, as "
        f"in vllm+http://host:8000; correct it, or install the package that has it as an entry "
        f"point of {GROUP}"
    )


def source_problem(source: str) -> str:
    """Return what is wrong with a model's source URL, quoting no secrets; "" if nothing is wrong.

    Sources appear in reports and keys, so they must not contain a password.
    """
    if "://" not in source:
        return ""
    kind = kind_of(source)
    if kind and (wrong := unknown_kind(kind)):
        return wrong
    if not kind or (kind in KINDS and server_of(source) is None):
        return _EXPECTED
    try:
        parts = urlsplit(source.partition("+")[2])
        port = parts.port
    except ValueError:
        return _EXPECTED
    if secret := secret_in(source):
        return (
            f"{secret}; give the bare URL, and as `api_key` the name of an environment variable "
            f"with the key"
        )
    return "" if kind not in KINDS or (parts.hostname and port != 0) else _EXPECTED


def masked_urls(text: str) -> str:
    """Return a text of others, such as a client's error, with no password or query in its URLs."""
    return re.sub(
        r"(://[^\s?#'\"]*)\?[^\s'\"]*", r"\1?***", re.sub(r"://[^/\s@]*@", "://***@", text)
    )


def secret_in(url: str) -> str:
    """Return in words what of a URL may be a secret, which is refused unquoted; "" if nothing is.

    URLs stand in reports, logs and commands. Signatures and tokens come in a query.
    """
    plain = unquote(url)
    if "://" in plain and "@" in plain:
        return "a URL with a name or a password, which would stand in reports"
    if "://" in plain and ("?" in plain or "#" in plain):
        return "a URL with a query (`?` or `#`), which would stand in reports"
    return ""
