"""A client of a vLLM server with a judge: reward = log P(yes) - log P(no) of its verdict.

Its requests are those of vllm/entrypoints/openai/completion (protocol.py and serving.py):

    POST /v1/completions
        {"model", "prompt": [[ids], ...], "add_special_tokens", "max_tokens": 1, "logprobs": 20,
         "logprob_token_ids": [yes, no], "return_tokens_as_token_ids": true, ...}
        {"model", "choices": [{"index", "logprobs": {"top_logprobs": [{"token_id:7": -0.3, ...}]}}]}

Log-probabilities differ as logits do, for both lack the same sum. They are those of the model
itself, before any sampling (`--logprobs-mode raw_logprobs`, the default); the request switches off
what the model's generation_config.json would change, for servers that give them after it. Versions
that do not know `logprob_token_ids` give the likeliest 20, among which a verdict may not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.errors import ModelError, ScoreError
from rmaudit.layout.answer_slot import Ids
from rmaudit.models.checked_numbers import finite, log_odds
from rmaudit.models.external_scorer_batches import checked_rewards
from rmaudit.models.token_id_client import JUDGE_HINT
from rmaudit.models.vllm_client import VllmServer

_LEAST = -9999.0  # what vLLM writes for a log-probability of minus infinity
_AS_THE_MODEL = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}


class VllmJudge(VllmServer):
    """A client of a vLLM server with a language model as judge; members may raise `ModelError`."""

    room = 1  # for the verdict
    logits = False
    hint = JUDGE_HINT

    def _test_rewards(self, rows: Sequence[Ids]) -> list[float]:
        return self.rewards(rows)

    def rewards(self, rows: Sequence[Ids]) -> list[float]:
        """Return the log-probability of yes minus that of no after each row, by one request.

        Raises:
            ModelError: the server does not return both.
            ScoreError: the answer has not one finite number for each row.
        """
        body = {
            "model": self.model,
            "prompt": [list(row) for row in rows],
            "add_special_tokens": False,
            "max_tokens": 1,
            "logprobs": 20,
            "logprob_token_ids": list(self._verdict()),
            "return_tokens_as_token_ids": True,
            **_AS_THE_MODEL,
        }
        where = "where it serves a language model (vllm serve MODEL)"
        found = self._post("/v1/completions", body, 2 * len(rows), where)
        choices = found.get("choices") if isinstance(found, dict) else None
        if not isinstance(choices, list) or not all(isinstance(each, dict) for each in choices):
            message = f"{self.spec.name}: its server answered /v1/completions with "
            raise ScoreError(f"{message}{short(repr(found))}, allowed: `choices`, one for each row")
        self._refuse_other_model(found.get("model"))
        rewards = [self._difference(each) for each in self._in_order(choices, "choices")]
        return checked_rewards(rewards, rows, f"{self.spec.name}: its server")

    def _difference(self, choice: dict[str, Any]) -> object:
        """Return log P(yes) - log P(no) of a row's `choice`, or what it has if these are none.

        Raises:
            ModelError: one of the two is not among the log-probabilities.
        """
        try:
            (found,) = choice["logprobs"]["top_logprobs"]
            both = [found.get(f"token_id:{i}", _LEAST) for i in self._verdict()]
        except (KeyError, TypeError, ValueError, AttributeError):
            return choice.get("logprobs")
        absent = [finite(each) is not None and each <= _LEAST for each in both]
        if not any(absent):
            odds = log_odds(*both, logs=True)
            return both if odds is None else odds
        word = self._verdict()[absent.index(True)]
        message = (
            f"{self.spec.name}: its server returns {len(found)} log-probabilities after a row, and "
            f"that of the verdict's token {word} is not among them; serve it with a vLLM that "
            f"knows `logprob_token_ids` (0.32 does), or choose verdicts that the model would say"
        )
        raise ModelError(message)
