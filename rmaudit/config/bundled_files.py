"""The files that come with rmaudit: its audits and its models.yaml."""

from __future__ import annotations

from pathlib import Path


def bundled(name: str) -> Path:
    """Return where `audits` or `models.yaml` lies, in a wheel or beside the package."""
    package = Path(__file__).parents[1]
    inside = package / name
    return inside if inside.exists() else package.parent / name
