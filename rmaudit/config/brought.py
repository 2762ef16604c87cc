"""Where the files lie that rmaudit brings: its audits and its models.yaml."""

from __future__ import annotations

from pathlib import Path


def brought(name: str) -> Path:
    """`audits` or `models.yaml`: where the wheel puts it, or in a checkout beside the package."""
    package = Path(__file__).parents[1]
    inside = package / name
    return inside if inside.exists() else package.parent / name
