"""Score texts on OpenRLHF's remote reward endpoint.

Its requests are those of openrlhf/cli/serve_rm.py and openrlhf/utils/remote_rm_utils.py, which
post to one address, and of openrlhf/datasets/prompts_dataset.py, which defines the fields:

    POST {"query": [...], "prompts": [...], "labels": [...]}  ->  {"rewards": [...], ...}

A query is prompt and answer as the chat template prints them, a prompt what it prints before the
answer, and a label is "" where the data have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.scorer_functions import ScorerEntry
from rmaudit.conversation import Asked
from rmaudit.errors import ScoreError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.cached_token_rows import ServedRows, tokenizer_spec
from rmaudit.models.external_scorer_batches import (
    Pace,
    Progress,
    checked_rewards,
    in_batches,
    unwatched,
)
from rmaudit.models.model_factory import Opening
from rmaudit.models.text_scorer import TextScorer
from rmaudit.sources.http_client import HttpClient
from rmaudit.sources.served_model import PROBED, PROBES, known_by, server_asked


class ServedTexts(TextScorer):
    """A reward model on an OpenRLHF endpoint, scored by texts; see `TextScorer` for members."""

    kind = "a server that takes texts"
    behind_server = True

    def __init__(self, spec: ModelSpec, opening: Opening) -> None:
        """Prepare a client; find the tokenizer if one is named. Raises as `ServedIds`."""
        self._url = server_asked(spec, opening).url
        self._client = HttpClient(self._url, spec)
        self.rows = rows = None if tokenizer_spec(spec) is None else ServedRows(spec, opening.cache)
        self._tokenizer = rows and rows.identity
        entry = ScorerEntry(
            spec.name,
            self.batch,
            vocabulary=None if rows is None else rows.folder,
            version=spec.version,
            batch=spec.batch,
            retries=0,  # the client's affair
            concurrency=spec.concurrency,
        )
        super().__init__(entry, spec)
        self.takes_turns = self.rows is not None  # its chat template prints them
        self.pace = self._pace = Pace(spec.batch, spec.concurrency, self._client.stop)

    @cached_property
    def identity(self) -> dict[str, str]:
        """Return what identifies the scores: URL, version, tokenizer and chat template hashes."""
        version, rows = self.spec.version, self.rows
        around = {"tokenizer": self._tokenizer, "template": rows and rows.layout.digest}
        said = {"served": "openrlhf", "url": self._url, "version": version, **around}
        return {key: value for key, value in said.items() if value}

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return facts for the report: server, chat template, and what identifies its scores."""
        how = "the tokenizer's chat template" if self.rows else "none: prompt and answer as one"
        served = {"served by": "OpenRLHF's endpoint", "template": how}
        return {"source": self.spec.source, **served, **known_by(self.spec, "its URL")}

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary to score: the tokenizer's tokens, or else common English words."""
        return self.rows.vocabulary if self.rows else super().vocabulary()

    def score_each(
        self,
        prompts: Sequence[Asked],
        responses: Sequence[str],
        *,
        on_progress: Progress = unwatched,
    ) -> NDArray[np.float32]:
        """Return the reward of each response to its own prompt, shape (n,).

        One request holds several prompts.
        """
        pairs = list(zip(prompts, responses, strict=True))
        return in_batches(self._rewards_of_pairs, pairs, self._pace, on_progress)

    def batch(self, prompt: Asked, responses: Sequence[str]) -> list[float]:
        """Return the rewards of responses to one prompt, by one request."""
        return self._rewards_of_pairs([(prompt, response) for response in responses])

    def look(self) -> Iterator[tuple[str, str]]:
        """Try the server, and yield lines (label, text) on its rewards, vocabulary and template."""
        yield "server", "OpenRLHF's endpoint"
        found = self.batch(PROBED, PROBES)
        yield "rewards", f"from {min(found):.4g} to {max(found):.4g} for {len(found)} answers"
        if self.rows:
            yield from self.rows.look()
        else:
            yield "template", "none: prompt and answer as one text; `tokenizer` gives one"

    def _rewards_of_pairs(self, pairs: Sequence[tuple[Asked, str]]) -> list[float]:
        """Return the rewards of (prompt, response) pairs, by one request.

        Raises:
            ScoreError: the answer has not one finite number for each response.
        """
        printed = [self._rendered(*pair) for pair in pairs]
        if self.rows is not None:
            self.rows.refuse_changed()
        body = {
            "query": ["".join(row) for row in printed],
            "prompts": [before for before, _, _ in printed],
            "labels": ["" for _ in printed],
        }
        found, whose = self._client.post("", body, rows=len(printed)), f"{self.name}: its server"
        if not isinstance(found, dict) or "rewards" not in found:
            message = f"{whose} answered {short(repr(found))}, allowed: "
            raise ScoreError(f'{message}OpenRLHF\'s {{"rewards": [...]}}')
        return checked_rewards(found["rewards"], [response for _, response in pairs], whose)

    def _rendered(self, prompt: Asked, response: str) -> tuple[str, str, str]:
        """Return the rendered text before the response, the response, and the text after it."""
        if self.rows is None:
            return str(prompt), response, ""
        slot = self.rows.slot(prompt)
        return slot.prefix_text, response, slot.suffix_text

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()
