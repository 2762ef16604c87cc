"""Where rmaudit is installed from: what another machine can give to pip, or nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rmaudit.cli.rmaudit_requirement import required

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def from_git(url: str) -> str:
    """What pip records (PEP 610) of an installation from a git URL."""
    return json.dumps({"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT}})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/o/rmaudit.git", "https://a.example/o/rmaudit.git"),
        ("https://user:secret@a.example:8443/o/r", "https://a.example:8443/o/r"),
        ("ssh://git@a.example/o/r.git", "https://a.example/o/r.git"),
    ],
)
def test_a_git_url_is_given_with_its_commit(url: str, expected: str) -> None:
    """Without a password that stands in it, and without a key that others have not."""
    assert required(from_git(url), "0.2.0") == f"rmaudit @ git+{expected}@{COMMIT}"


def test_from_an_index_it_is_the_version() -> None:
    """Pip records no URL then: so nothing is to be changed when rmaudit is published."""
    assert required(None, "0.2.0") == "rmaudit==0.2.0"


@pytest.mark.parametrize(
    "recorded",
    [
        from_git("file:///home/me/rmaudit"),
        from_git('https://a.example/"; curl b'),
        json.dumps({"url": "file:///home/me/rmaudit-0.2.0.whl", "archive_info": {}}),
    ],
)
def test_what_others_cannot_reach_is_no_source(recorded: str) -> None:
    """A folder or a file of this machine, or an address that would be a command."""
    assert required(recorded, "0.2.0") is None


def test_a_clone_is_its_origin_at_its_commit(tmp_path: Path) -> None:
    """As git says; a clone without an origin, and a folder that is none, are no source."""

    def git(*command: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path / "a b"), *who, *command],  # noqa: S607  (the tester's git)
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    (tmp_path / "a b").mkdir()
    recorded = json.dumps({"url": (tmp_path / "a b").as_uri(), "dir_info": {"editable": True}})
    assert required(recorded, "0.2.0") is None
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x")
    assert required(recorded, "0.2.0") is None
    git("remote", "add", "origin", "git@a.example:o/rmaudit.git")

    commit = git("rev-parse", "HEAD")
    assert required(recorded, "0.2.0") == f"rmaudit @ git+https://a.example/o/rmaudit.git@{commit}"
