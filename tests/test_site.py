"""The documentation site is built without a warning, and asks nobody for anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import unavailable

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.nightly
PAGES = ("index.html", "python.html", "audits/positive_skew.html", "how-to/gate-in-ci.html")


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """A strict build of the site, in a copy of what it is built from."""
    if find_spec("zensical") is None:
        unavailable("zensical is not installed: pip install -c constraints.txt -e '.[docs]'")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The settings, the pages and the package."""
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "rmaudit").symlink_to(ROOT / "rmaudit")
    return tmp_path


def test_the_site_asks_nobody(copy: Path) -> None:
    """Opened in a browser, its pages load files of the site and nothing else, without an error."""
    from playwright.sync_api import sync_playwright

    done = build(copy)
    assert done.returncode == 0, done.stdout + done.stderr

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in PAGES:
            page.goto((copy / "site" / name).as_uri())
            page.wait_for_load_state("networkidle")
        browser.close()
    assert (copy / "site" / "llms.txt").read_bytes() == (ROOT / "docs" / "llms.txt").read_bytes()
    own = (copy / "site").as_uri()
    assert [url for url in asked if not url.startswith((own, "data:", "blob:"))] == []
    assert len(asked) > len(PAGES)
