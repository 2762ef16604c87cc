"""Where rmaudit keeps what it can make again: built models, sweeps, downloaded references."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def default_cache() -> Path:
    """The user's cache folder for rmaudit (`--rm-cache` names another)."""
    return platformdirs.user_cache_path("rmaudit")
