"""Find the requirement with which pip installs the rmaudit that runs here on another machine."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

_SSH = re.compile(r"(?:ssh://)?git@([\w.-]+)[:/](.+)")  # how git writes an address with a key
_SAFE = re.compile(r"(?:[\w.+@/=<>!~,%&?\[\]-]|:(?! )|(?<! )#| (?!#))+", re.ASCII)
_WAIT = 10  # seconds for git


def requirement() -> str | None:
    """Return how pip requires this rmaudit: `rmaudit==1.0` or `rmaudit @ git+https://…`; or None.

    None if nobody else could install from that place, such as a folder of this machine. What was
    installed from a package index is required by its version: so the day on which rmaudit is
    published changes nothing here.
    """
    distribution = importlib.metadata.distribution("rmaudit")
    return required(distribution.read_text("direct_url.json"), distribution.version)


def required(direct_url: str | None, version: str) -> str | None:
    """Return rmaudit's requirement for pip, from direct_url.json (PEP 610) and version, or None.

    `direct_url` is None for an installation from a package index.
    """
    if direct_url is None:
        return f"rmaudit=={version}"
    told = json.loads(direct_url)
    address, commit = told["url"], told.get("vcs_info", {}).get("commit_id", "")
    if "dir_info" in told:
        folder = Path(unquote(urlsplit(address).path))
        address, commit = (
            _output_of_git(folder, "remote", "get-url", "origin"),
            _output_of_git(folder, "rev-parse", "HEAD"),
        )
    found = f"rmaudit @ git+{_public_address(address)}@{commit}"
    return found if _public_address(address) and commit and fits(found) else None


def fits(text: str) -> bool:
    """Return whether a requirement can stand between double quotes in a workflow's command."""
    return _SAFE.fullmatch(text) is not None


def _public_address(address: str) -> str:
    """Return the https address of a repository, without a name or password in it; "" if none."""
    if ssh := _SSH.fullmatch(address):
        return f"https://{ssh[1]}/{ssh[2]}"
    parts = urlsplit(address)
    return (
        f"https://{parts.netloc.rpartition('@')[2]}{parts.path}" if parts.scheme == "https" else ""
    )


def _output_of_git(folder: Path, *command: str) -> str:
    """Return what a git command prints in a repository's top folder; "" elsewhere and on errors."""
    if not (folder / ".git").exists():
        return ""
    try:
        done = subprocess.run(  # noqa: S603  (git, with words of ours)
            ["git", "-C", str(folder), *command],  # noqa: S607  (the user's git)
            capture_output=True,
            text=True,
            check=False,
            timeout=_WAIT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
