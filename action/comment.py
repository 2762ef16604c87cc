"""Write the summary of a run on its pull request, in one comment that later runs write over.

    NAME=rmaudit REPORT=.rmaudit/reports/x PULL_REQUEST=7 TOKEN=... python comment.py

A token that may not write, as that of a fork's pull request, is a warning: the summary stands on
the job's page, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import requests

_SECONDS = 30
_REFUSED = (401, 403, 404)  # the token may not, or may not even see


def main() -> None:
    """Write it anew, or for the first time."""
    mark = f"<!-- rmaudit: {os.environ['NAME']} -->"
    summary = (Path(os.environ["REPORT"]) / "summary.md").read_text(encoding="utf-8")
    link = os.environ.get("ARTIFACT", "")
    body = f"{mark}\n{summary}" + (f"\n[The whole report]({link})\n" if link else "")
    api = os.environ["GITHUB_API_URL"]
    issues = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {os.environ['TOKEN']}"
        session.headers["Accept"] = "application/vnd.github+json"
        try:
            own = _own(session, f"{issues}/{os.environ['PULL_REQUEST']}/comments", mark)
            if own is None:
                place = f"{issues}/{os.environ['PULL_REQUEST']}/comments"
                answer = session.post(place, json={"body": body}, timeout=_SECONDS)
            else:
                place = f"{issues}/comments/{own['id']}"
                answer = session.patch(place, json={"body": body}, timeout=_SECONDS)
            answer.raise_for_status()
        except requests.HTTPError as error:
            if error.response.status_code not in _REFUSED:
                raise
            print(f"::warning::no comment: GitHub says {error.response.status_code} to the token")
        else:
            print(answer.json()["html_url"])


def _own(session: requests.Session, place: str, mark: str) -> dict[str, Any] | None:
    """The comment that a bot of this token began with the mark, of all pages; None without one."""
    address: str | None = f"{place}?per_page=100"
    while address:
        answer = session.get(address, timeout=_SECONDS)
        answer.raise_for_status()
        for comment in answer.json():
            user = comment["user"] or {}  # None where an account is gone
            if comment["body"].startswith(mark) and user.get("type") == "Bot":
                found: dict[str, Any] = comment
                return found
        address = answer.links.get("next", {}).get("url")
    return None


if __name__ == "__main__":
    main()
