"""A client of OpenRLHF's remote reward endpoint, which scores texts.

Its requests are those of openrlhf/cli/serve_rm.py and openrlhf/utils/remote_rm_utils.py, which
post to one address, and of openrlhf/datasets/prompts_dataset.py, which defines the fields:

    POST {"query": [...], "prompts": [...], "labels": [...]}  ->  {"rewards": [...], ...}

A query is prompt and answer as the chat template prints them, a prompt what it prints before the
answer, and a label is "" where the data have none.
"""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.config.model_spec import ModelSpec
from rmaudit.errors import ScoreError
from rmaudit.models.external_scorer_batches import checked_rewards
from rmaudit.sources.http_client import HttpClient


class OpenrlhfServer:
    """A client of an OpenRLHF reward endpoint; every member may raise `ModelError`.

    `stop()` ends all requests under way, within about a second; `close()` closes the connections.
    """

    def __init__(self, url: str, spec: ModelSpec) -> None:
        """Prepare a client for `url`; no request is sent yet."""
        self._name, self._client = spec.name, HttpClient(url, spec)
        self.stop, self.close = self._client.stop, self._client.close

    def rewards(self, rows: Sequence[tuple[str, str, str]]) -> list[float]:
        """Return the reward of each row of (text before the response, response, text after it).

        One request holds all rows.

        Raises:
            ScoreError: the answer has not one finite number for each response.
        """
        body = {
            "query": ["".join(row) for row in rows],
            "prompts": [before for before, _, _ in rows],
            "labels": ["" for _ in rows],
        }
        found = self._client.post("", body, rows=len(rows))
        if not isinstance(found, dict) or "rewards" not in found:
            message = f"{self._name}: its server answered {short(repr(found))}, allowed: "
            raise ScoreError(f'{message}OpenRLHF\'s {{"rewards": [...]}}')
        responses = [response for _, response, _ in rows]
        return checked_rewards(found["rewards"], responses, f"{self._name}: its server")
