"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    r"""Write UTF-8 text with line feeds: into a file beside it first, which then takes its place.

    Lone surrogates are spelled out (`\ud800`).

    Raises:
        OSError: it cannot be written; what stood there before still stands.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with partial.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
