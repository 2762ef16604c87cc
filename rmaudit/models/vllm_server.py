"""A vLLM server as a scorer of rows of token ids.

What it speaks is that of vLLM's own entrypoints (vllm/entrypoints/pooling/classify/protocol.py,
.../base/protocol.py and the tokenize and models routes beside them):

    GET  /v1/models   {"data": [{"id", "root", "parent", "max_model_len", ...}]}
    GET  /version     {"version"}
    POST /classify    {"model", "input": [[ids], ...], "add_special_tokens", "use_activation"}
                      {"model", "data": [{"index", "label", "probs": [...], "num_classes"}]}
    POST /tokenize    {"model", "prompt", "add_special_tokens"} -> {"tokens": [ids], "count", ...}

Ids are scored as they are: vLLM adds special tokens to texts only. `use_activation: false` asks for
the logit; otherwise one class is put through a sigmoid, in older versions through a softmax, which
is 1.0 for all. Versions that do not know a field leave it out of account without a word, so whether
it had an effect is seen before anything is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

from rmaudit.checkpoints.reader_errors import short
from rmaudit.config.spec import ModelSpec
from rmaudit.errors import ModelError, ScoreError, nearest
from rmaudit.models.batches import rewards_in
from rmaudit.models.http_client import SOURCES, HttpClient, NoSuchPath

Ids = tuple[int, ...]
_NOISE = 0.02  # a probability moves by less in half precision; by more from 0 to 1 to its logit
_SETTINGS = ("use_activation", "activation")  # of today's vLLM, and of 0.10 and 0.11


class VllmServer:
    """A client of a vLLM server that scores rows of token ids; members may raise `ModelError`."""

    def __init__(self, url: str, spec: ModelSpec) -> None:
        """Prepare a client for `url`; no request is sent yet."""
        self.spec, self._client, self._lock = spec, HttpClient(url, spec), Lock()
        self._setting = ""
        self.version = ""  # once it was checked, and if it says so
        self._called: object = None

    @cached_property
    def card(self) -> dict[str, Any]:
        """Return the server's entry for the model in its list /v1/models.

        Raises:
            ModelError: it serves no model of the name that models.yaml gives, or several and none
                is named.
        """
        name, asked = self.spec.name, self.spec.served_model
        found = self._client.get("/v1/models")
        data = found.get("data") if isinstance(found, dict) else None
        cards = {
            str(card["id"]): card
            for card in (data if isinstance(data, list) else ())
            if isinstance(card, dict) and "id" in card
        }
        served = ", ".join(map(short, cards)) or "none"
        if not cards:
            message = f"{name}: {self._client.url}/v1/models lists no model, as vLLM's does; "
            raise ModelError(f"{message}is `source` right? {SOURCES}")
        if asked is None and len(cards) > 1:
            message = f"{name}: its server has {len(cards)} models: {served}; name one as "
            raise ModelError(f"{message}`served_model` in models.yaml")
        if asked is not None and asked not in cards:
            message = f"{name}: its server has no model {asked!r};{nearest(asked, cards)} it has: "
            raise ModelError(f"{message}{served}; correct `served_model` in models.yaml")
        return cards[asked or next(iter(cards))]

    @property
    def model(self) -> str:
        """Return the model's name on the server: from models.yaml, or else as served."""
        return self.spec.served_model or str(self.card["id"])

    @property
    def known_by(self) -> dict[str, str]:
        """Return the model's origin (`root`) and revision, as far as the server states them."""
        return {key: str(self.card[key]) for key in ("root", "revision") if self.card.get(key)}

    @property
    def longest(self) -> int | None:
        """Return how many ids a row may have; None if the server does not say."""
        found = self.card.get("max_model_len")
        return found if type(found) is int and found > 0 else None

    def refuse_long(self, rows: Sequence[Ids]) -> None:
        """Raise if a row has more ids than the server accepts, before any is sent.

        Raises:
            ModelError: one has more ids than `longest`.
        """
        needed, longest = max(map(len, rows), default=0), self.longest
        if longest is not None and needed > longest:
            beyond = sum(len(row) > longest for row in rows)
            message = (
                f"{self.spec.name}: {beyond} of {len(rows)} rows have more than {longest} token "
                f"ids, and its server takes no longer ones (max_model_len {longest}); start it "
                f"with --max-model-len {needed} or more and run the same command to go on"
            )
            raise ModelError(message)

    def rewards(self, rows: Sequence[Ids]) -> list[float]:
        """Return the logit of each row of token ids, by one request.

        Raises:
            ScoreError: the answer has not one finite number for each row.
        """
        return self._classified(rows, {self._setting: False})

    def check(self, rows: Sequence[Ids], text: str, ids: Ids) -> None:
        """Check once that the server has this model and our tokenizer, and gives logits.

        `rows` are a few test rows that no audit scores; `text` is what `ids` read as.

        Raises:
            ModelError: it has another model or tokenizer, or gives no logits.
        """
        with self._lock:
            if not self._setting:
                self.refuse_long(rows)  # the card's errors say more than /classify's
                self.version = self._version()
                self._refuse_other_tokenizer(text, ids)
                self._setting = self._working_setting(rows)

    def _version(self) -> str:
        """Return vLLM's version, "" where a gateway or an old server does not say."""
        try:
            found = self._client.get("/version")
        except ModelError:
            return ""
        version = found.get("version") if isinstance(found, dict) else None
        return short(version, 40) if isinstance(version, str) else ""

    def _working_setting(self, rows: Sequence[Ids]) -> str:
        """Return the request field that switches the sigmoid off; raise if none does."""
        off: list[float] = []
        for setting in _SETTINGS:
            off, on = (self._classified(rows, {setting: value}) for value in (False, True))
            moved = max(abs(one - other) for one, other in zip(off, on, strict=True))
            if moved > _NOISE or any(not 0 <= score <= 1 for score in off):
                return setting
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
        try:
            found = self._client.post("/classify", body, rows=len(rows))
        except NoSuchPath as error:
            message = f"{error}; vLLM has /classify where it serves a sequence classifier "
            raise ModelError(f"{message}(vllm serve MODEL --runner pooling)") from None
        whose = f"{self.spec.name}: its server"
        data = found.get("data") if isinstance(found, dict) else None
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            message = f"{whose} answered /classify with {short(repr(found))}, allowed: "
            raise ScoreError(f"{message}vLLM's `data` of one object for each row")
        self._refuse_other_model(found.get("model"))
        at = {item["index"]: item for item in data if type(item.get("index")) is int}
        if sorted(at) != list(range(len(data))):
            message = f"{whose} answered with the indices {short(repr(sorted(at)))} of {len(data)} "
            raise ScoreError(f"{message}answers, allowed: each of 0 to {len(data) - 1} once")
        return rewards_in([self._only(at[place]) for place in sorted(at)], rows, whose)

    def _refuse_other_model(self, called: object) -> None:
        """Raise if the server answers with another model than before in this run."""
        if self._called is None:
            self._called = called  # of several names for one model, vLLM answers with the first
        if called != self._called:
            message = f"{self.spec.name}: its server answered as {short(repr(self._called))}, and "
            raise ModelError(f"{message}now as {short(repr(called))}: it serves another model now")

    def _only(self, item: dict[str, Any]) -> object:
        """Return the number of the only class in an item of /classify; raise if it has several."""
        found = item.get("probs")
        if isinstance(found, list) and len(found) > 1:
            message = f"{self.spec.name}: its server classifies into {len(found)} classes, and a "
            raise ModelError(f"{message}reward is one number; serve a model with num_labels 1")
        return found[0] if isinstance(found, list) and found else found

    def _refuse_other_tokenizer(self, text: str, ids: Ids) -> None:
        """Raise if the server tokenizes `text` into other ids than `ids`.

        Ids of another tokenizer would be scored without a word.
        """
        body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        try:
            found = self._client.post("/tokenize", body)
        except NoSuchPath:
            return  # a server behind a gateway; `rmaudit doctor` sees what it makes of ids
        theirs = found.get("tokens") if isinstance(found, dict) else None
        if theirs != list(ids):
            message = (
                f"{self.spec.name}: its server tokenizes {short(repr(text), 60)} as "
                f"{short(repr(theirs), 60)}, and its `tokenizer` as {short(repr(list(ids)), 60)}; "
                f"give the tokenizer of the model that is served"
            )
            raise ModelError(message)

    def stop(self) -> None:
        """End all requests under way, within about a second."""
        self._client.stop()

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()
