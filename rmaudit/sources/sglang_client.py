"""Ask SGLang servers, which score rows of token ids: by a classifier, or by a judge.

Its requests are those of SGLang's python/sglang/srt: entrypoints/http_server.py, the routes in
entrypoints/openai, and managers/tokenizer_manager_score_mixin.py; and what `token_id_client` has:

    GET  /model_info    {"model_path", "weight_version", ...}; before, /get_model_info
    GET  /server_info   {"version", "multi_item_scoring_delimiter", ...}; before, /get_server_info
    POST /classify      {"input_ids": [[ids], ...]}
                        [{"embedding": [reward], "meta_info": {...}}, ...]
    POST /v1/score      {"model", "query": [], "items": [[ids], ...], "label_token_ids": [yes, no],
                         "apply_softmax": false, "item_first": false}
                        {"model", "scores": [[P(yes), P(no)], ...], "object": "scoring"}

`/classify` gives what the head gives. `/v1/classify` puts it through a softmax, which is 1.0 for
one class, so it is not asked. `/v1/score` gives probabilities, of which the logarithms are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.errors import ModelError, ScoreError
from rmaudit.layout.answer_slot import Ids
from rmaudit.models.external_scorer_batches import checked_rewards, log_odds
from rmaudit.sources.http_client import NoSuchPath
from rmaudit.sources.token_id_client import JUDGE_HINT, IdsServer

_DELIMITER = "multi_item_scoring_delimiter"


class SglangServer(IdsServer):
    """A client of an SGLang server with a classifier; every member may raise `ModelError`."""

    software = "SGLang"
    limit = "--context-length"
    room = 1  # of its context length
    hint = (
        "serve a reward model with --is-embedding, without an activation, or audit its checkpoint"
    )

    @cached_property
    def info(self) -> dict[str, Any]:
        """Return the server's version and start options by name; {} if it does not state them."""
        return self._first_of("/server_info", "/get_server_info")

    @property
    def known_by(self) -> dict[str, str]:
        """Return the model's path and the version of its weights, as far as the server says."""
        found = self._first_of("/model_info", "/get_model_info")
        return {key: str(found[key]) for key in ("model_path", "weight_version") if found.get(key)}

    def _first_of(self, path: str, before: str) -> dict[str, Any]:
        """Return the JSON object at `path`, or else at `before` (older servers); {} if none."""
        for where in (path, before):
            try:
                found = self._client.get(where)
            except NoSuchPath:
                continue
            return found if isinstance(found, dict) else {}
        return {}

    def _version(self) -> str:
        said = self.info.get("version")
        return short(said, 40) if isinstance(said, str) else ""

    def _test_rewards(self, rows: Sequence[Ids]) -> list[float]:
        return self.rewards(rows)

    def rewards(self, rows: Sequence[Ids]) -> list[float]:
        """Return the reward of each row of token ids, by one request.

        Raises:
            ScoreError: the answer has not one finite number for each row.
        """
        # Some versions fail on a list of one row.
        ids = list(rows[0]) if len(rows) == 1 else [list(row) for row in rows]
        where = "where it serves a reward model (sglang.launch_server --is-embedding)"
        found = self._post("/classify", {"input_ids": ids}, len(rows), where)
        items = [found] if isinstance(found, dict) else found
        if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
            message = f"{self.spec.name}: its server answered /classify with {short(repr(found))}, "
            raise ScoreError(f"{message}allowed: SGLang's `embedding` for each row")
        numbers = [self._one_number(each.get("embedding")) for each in items]
        return checked_rewards(numbers, rows, f"{self.spec.name}: its server")


class SglangJudge(SglangServer):
    """A client of an SGLang server with a language model as judge, whose verdict is the reward."""

    logits = False
    hint = JUDGE_HINT

    def _test_rewards(self, rows: Sequence[Ids]) -> list[float]:
        if self.info.get(_DELIMITER) is not None:
            message = (
                f"{self.spec.name}: its server puts a delimiter around every row "
                f"(--multi-item-scoring-delimiter), so it scores other rows than it is sent; "
                f"start it without that option"
            )
            raise ModelError(message)
        return self.rewards(rows)

    def rewards(self, rows: Sequence[Ids]) -> list[float]:
        """Return the log-probability of yes minus that of no after each row, by one request.

        Raises:
            ScoreError: the answer has not two probabilities for each row.
        """
        body = {
            "model": self.model,
            "query": [],
            "items": [list(row) for row in rows],
            "label_token_ids": list(self._verdict()),
            "apply_softmax": False,
            "item_first": False,
        }
        where = (
            "where it serves a language model; an old version has none, so serve the judge with a "
            "newer one"
        )
        found = self._post("/v1/score", body, len(rows), where)
        scores = found.get("scores") if isinstance(found, dict) else None
        if not isinstance(scores, list):
            message = f"{self.spec.name}: its server answered /v1/score with {short(repr(found))}, "
            raise ScoreError(f"{message}allowed: SGLang's `scores`, two for each row")
        self._refuse_other_model(found.get("model"))
        rewards = [_difference(each) for each in scores]
        return checked_rewards(rewards, rows, f"{self.spec.name}: its server")


def _difference(scores: object) -> object:
    """Return log P(yes) - log P(no), or `scores` itself if these are not two probabilities."""
    match scores:
        case [yes, no]:
            odds = log_odds(yes, no, logs=False)
            return scores if odds is None else odds
    return scores
