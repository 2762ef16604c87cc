"""Ask a vLLM server, which scores rows of token ids: by a classifier, or by a judge.

Its requests are those of vLLM's own entrypoints (vllm/entrypoints/pooling/classify/protocol.py,
.../base/protocol.py and the routes beside them), and what `token_id_client` has:

    GET  /version     {"version"}
    POST /classify    {"model", "input": [[ids], ...], "add_special_tokens", "use_activation"}
                      {"model", "data": [{"index", "label", "probs": [...], "num_classes"}]}

Ids are scored as they are: vLLM adds special tokens to texts only. `use_activation: false` asks for
the logit; otherwise one class is put through a sigmoid, in older versions through a softmax, which
is 1.0 for all. Versions that do not know a field leave it out of account without a word, so whether
it had an effect is seen before anything is scored.

A judge's requests are those of vllm/entrypoints/openai/completion (protocol.py and serving.py):

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
from rmaudit.models.external_scorer_batches import checked_rewards, finite, log_odds
from rmaudit.sources.token_id_client import JUDGE_HINT, IdsServer

_NOISE = 0.02  # a probability moves by less in half precision; by more from 0 to 1 to its logit
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
_SETTINGS = ("use_activation", "activation")  # of today's vLLM, and of 0.10 and 0.11


class VllmServer(IdsServer):
    """A client of a vLLM server with a sequence classifier; members may raise `ModelError`."""

    software = "vLLM"
    limit = "--max-model-len"
    logits = False  # `_working_setting` sees an activation by what it does
    hint = "serve a reward model (vllm serve MODEL --runner pooling), or audit its checkpoint"
    _setting = ""

    def _test_rewards(self, rows: Sequence[Ids]) -> list[float]:
        self._setting, found = self._working_setting(rows)
        return found

    def _version(self) -> str:
        try:
            found = self._client.get("/version")
        except ModelError:
            return ""
        said = found.get("version") if isinstance(found, dict) else None
        return short(said, 40) if isinstance(said, str) else ""

    def rewards(self, rows: Sequence[Ids]) -> list[float]:
        """Return the logit of each row of token ids, by one request.

        Raises:
            ScoreError: the answer has not one finite number for each row.
        """
        return self._classified(rows, {self._setting: False})

    def _working_setting(self, rows: Sequence[Ids]) -> tuple[str, list[float]]:
        """Return the request field that switches the sigmoid off, and logits; raise if none does.

        Logits may lie within 0 and 1, if an activation changes them.
        """
        off: list[float] = []
        for setting in _SETTINGS:
            off, on = (self._classified(rows, {setting: value}) for value in (False, True))
            moved = max(abs(one - other) for one, other in zip(off, on, strict=True))
            if moved > _NOISE or any(not 0 <= score <= 1 for score in off):
                return setting, off
        what = "1.0 for every row: a softmax of one class" if set(off) == {1.0} else "within 0 to 1"
        message = (
            f"{self.spec.name}: its server gives no logits, though asked to (use_activation: "
            f"false): {len(off)} rewards are {what}, and the same with an activation, so they "
            f"cannot be compared; serve the model with a newer vLLM, or with the activation off "
            f"(--pooler-config), or audit its checkpoint"
        )
        raise ModelError(message)

    def _classified(self, rows: Sequence[Ids], settings: dict[str, bool]) -> list[float]:
        """Return the single number that /classify gives for each row, in the order of the rows."""
        body = {
            "model": self.model,
            "input": [list(row) for row in rows],
            "add_special_tokens": False,
            **settings,
        }
        where = (
            "where it serves a sequence classifier: start it with `vllm serve MODEL --runner "
            "pooling`, and not from a trainer that starts it to generate"
        )
        found = self._post("/classify", body, len(rows), where)
        whose = f"{self.spec.name}: its server"
        data = found.get("data") if isinstance(found, dict) else None
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            message = f"{whose} answered /classify with {short(repr(found))}, allowed: "
            raise ScoreError(f"{message}vLLM's `data` of one object for each row")
        self._refuse_other_model(found.get("model"))
        numbers = [self._one_number(item.get("probs")) for item in self._in_order(data, "answers")]
        return checked_rewards(numbers, rows, whose)


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
