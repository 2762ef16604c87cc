"""Write the summary of a run on its pull request, in one comment that later runs write over.

    NAME=rmaudit REPORT=/tmp/reports/x PULL_REQUEST=7 TOKEN=... python comment.py

Whatever keeps the comment from being written is a warning: the summary stands on the job's page,
too, and the gate is another step.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import requests

from rmaudit.report.safe_text import line, log

_SECONDS = 30


def main() -> None:
    """Write the comment, or write over the one of an earlier run."""
    try:
        said = _written()
    except requests.HTTPError as error:
        said = f"::warning::no comment: GitHub says {error.response.status_code} to the token"
    except requests.RequestException as error:
        said = f"::warning::no comment: GitHub does not answer ({type(error).__name__})"
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        said = f"::warning::no comment: GitHub's answer cannot be read ({type(error).__name__})"
    print(said)


def _written() -> str:
    """Write the comment and return its address, fit for the log."""
    mark = f"<!-- rmaudit: {os.environ['NAME']} -->"
    summary = (Path(os.environ["REPORT"]) / "summary.md").read_text(encoding="utf-8")
    link = os.environ.get("ARTIFACT", "")
    body = f"{mark}\n{summary}" + (f"\n[The whole report]({link})\n" if link else "")
    api = os.environ["GITHUB_API_URL"]
    issues = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    comments = f"{issues}/{os.environ['PULL_REQUEST']}/comments"
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {os.environ['TOKEN']}"
        session.headers["Accept"] = "application/vnd.github+json"
        own = _own(session, comments, mark)
        method, place = ("POST", comments) if own is None else ("PATCH", f"{issues}/comments/{own}")
        answer = session.request(method, place, json={"body": body}, timeout=_SECONDS)
        answer.raise_for_status()
        return log(line(str(answer.json()["html_url"])))


def _own(session: requests.Session, place: str, mark: str) -> int | None:
    """Return the id of the comment that this token's user began with the mark, None without one."""
    user = _user(session)
    address: str | None = f"{place}?per_page=100"
    while address:
        answer = session.get(address, timeout=_SECONDS)
        answer.raise_for_status()
        for comment in answer.json():
            author = (comment["user"] or {}).get("login")  # None where an account is gone
            if author == user and (comment["body"] or "").startswith(mark):
                return int(comment["id"])
        address = answer.links.get("next", {}).get("url")
    return None


def _user(session: requests.Session) -> str:
    """Return whose token this is: GraphQL says it of a workflow's token, too, and REST does not."""
    query = {"query": "query { viewer { login } }"}
    answer = session.post(os.environ["GITHUB_GRAPHQL_URL"], json=query, timeout=_SECONDS)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return str(found["data"]["viewer"]["login"])


if __name__ == "__main__":
    main()
