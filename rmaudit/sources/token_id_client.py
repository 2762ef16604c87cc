"""Define what clients of vLLM and SGLang servers share, which score rows of token ids.

Both list their models in OpenAI's format and tokenize on request:

    GET  /v1/models   {"data": [{"id", "root", "parent", "max_model_len", ...}]}
    POST /tokenize    {"model", "prompt", "add_special_tokens"} -> {"tokens": [ids], "count", ...}
                      {"model", "messages", "add_generation_prompt", "add_special_tokens"}: by
                      vLLM's own chat template
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.config.model_spec import ModelSpec
from rmaudit.errors import ModelError, ScoreError, nearest
from rmaudit.layout.answer_slot import Ids
from rmaudit.models.external_scorer_batches import refuse_no_rewards
from rmaudit.sources.http_client import SOURCES, HttpClient, NoSuchPath

_MOST_IDS = 10**9  # of a row, of any server
JUDGE_HINT = (
    "the verdict does not depend on the answer: does the template print it, and are `yes` and `no` "
    "words that the judge says?"
)
_TELLING = (
    *("/classify", "/v1/classify", "/pooling", "/score", "/v1/score", "/v1/embeddings"),
    *("/v1/completions", "/v1/chat/completions", "/generate"),
)  # paths that tell what a server was started for


class IdsServer(ABC):
    """A client of a server that scores rows of token ids; members may raise `ModelError`.

    Attributes:
        software: the name of the server's software, for messages.
        limit: the option by which the server is started with longer rows.
        logits: whether rewards that all lie within 0 and 1 were put through an activation.
        hint: what to do where test answers get no rewards, for messages.
        room: how many ids of the server's maximum length a row has to leave free.
        version: the software's version; "" before the check, or if the server does not state it.
        stop: ends all requests under way, within about a second.
        close: closes the connections to the server.
    """

    software: ClassVar[str]
    limit: ClassVar[str]
    hint: ClassVar[str]
    logits: ClassVar[bool] = True
    room: ClassVar[int] = 0

    def __init__(self, url: str, spec: ModelSpec, verdict: Callable[[], Ids] = lambda: ()) -> None:
        """Prepare a client for `url`, send nothing; `verdict` gives a judge's ids of yes and no."""
        self.spec, self._client, self._lock = spec, HttpClient(url, spec), Lock()
        self.stop, self.close = self._client.stop, self._client.close
        self._verdict = verdict
        self.version = ""
        self._checked = False
        self._answered_as: object = None

    @abstractmethod
    def rewards(self, rows: Sequence[Ids]) -> list[float]:
        """Return the reward of each row of token ids, by one request.

        Raises:
            ScoreError: the answer has not one finite number for each row.
        """

    @abstractmethod
    def _test_rewards(self, rows: Sequence[Ids]) -> list[float]:
        """Return the rewards of a few test rows; raise if the server is not started as needed."""

    @abstractmethod
    def _version(self) -> str:
        """Return the server software's version; "" if a gateway or old server does not state it."""

    @cached_property
    def card(self) -> dict[str, Any]:
        """Return the model's entry in the server's list /v1/models; raise unless one fits.

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
            message = f"{name}: {self._client.url}/v1/models lists no model, as {self.software}'s "
            raise ModelError(f"{message}does; is `source` right? {SOURCES}")
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
    def max_model_len(self) -> int | None:
        """Return the most ids that a row and its continuation may have; None if not stated.

        Raises:
            ModelError: the server states something else than a number of ids.
        """
        found = self.card.get("max_model_len")
        if found is not None and not (type(found) is int and 0 < found <= _MOST_IDS):
            message = f"{self.spec.name}: its server states max_model_len {short(repr(found))}, "
            raise ModelError(f"{message}allowed: a whole number from 1; is it a {self.software}?")
        return found

    def refuse_long(self, rows: Sequence[Ids]) -> None:
        """Raise if a row has more ids than the server accepts, before any is sent.

        Raises:
            ModelError: one has more ids than `max_model_len` leaves.
        """
        needed, most = max(map(len, rows), default=0) + self.room, self.max_model_len
        if most is not None and needed > most:
            beyond = sum(len(row) > most - self.room for row in rows)
            message = (
                f"{self.spec.name}: {beyond} of {len(rows)} rows have more than {most - self.room} "
                f"token ids, and its server takes no longer ones (max_model_len {most}); start it "
                f"with {self.limit} {needed} or more and run the same command to go on"
            )
            raise ModelError(message)

    def check(self, rows: Sequence[Ids], text: str, ids: Ids) -> None:
        """Check, at the first call only, the server's model, tokenizer, row length and rewards.

        `rows` are a few test rows that no audit scores; `text` is what `ids` read as.

        Raises:
            ModelError: it has another model or tokenizer, or gives no rewards.
        """
        with self._lock:
            if not self._checked:
                self.refuse_long(rows)  # the card's errors say more than those of a request
                self.version = self._version()
                self._refuse_other_tokenizer(text, ids)
                whose, found = f"{self.spec.name}: its server", self._test_rewards(rows)
                refuse_no_rewards(found, whose, self.hint, logits=self.logits)
                self._checked = True

    def rendered(self, messages: list[dict[str, str]]) -> Ids | None:
        """Return the ids of messages in the server's own chat template; None if it gives none."""
        plain = {"add_generation_prompt": False, "add_special_tokens": False}
        try:
            found = self._client.post(
                "/tokenize", {"model": self.model, "messages": messages, **plain}
            )
        except ModelError:  # it has no such path, or no template, or takes texts only
            return None
        theirs = found.get("tokens") if isinstance(found, dict) else None
        if not isinstance(theirs, list) or any(type(i) is not int for i in theirs):
            return None
        return tuple(theirs)

    def _post(self, path: str, body: dict[str, Any], rows: int, hint: str) -> Any:  # noqa: ANN401  (JSON)
        """Post `body` to `path` and return the JSON answer; `hint` ends the error for a wrong path.

        The answer's size limit grows with `rows`. The hint says which servers have the path, and
        how they are started.

        Raises:
            ModelError: the server has no such path.
        """
        try:
            return self._client.post(path, body, rows=rows)
        except NoSuchPath as error:
            message = f"{error.asked}, though it has {self.model!r}{self._other_paths()}"
            raise ModelError(f"{message}. {self.software} has {path} {hint}") from None

    def _other_paths(self) -> str:
        """Return which of the paths that tell what a server is for it has; "" if not stated."""
        try:
            found = self._client.get("/openapi.json")
        except ModelError:
            return ""
        paths = found.get("paths") if isinstance(found, dict) else None
        there = [path for path in _TELLING if isinstance(paths, dict) and path in paths]
        return f", and answers at {', '.join(there)}" if there else ""

    def _one_number(self, found: object) -> object:
        """Return the only number of a row's answer, unchecked; raise if it has several."""
        if isinstance(found, list) and len(found) > 1:
            message = (
                f"{self.spec.name}: its server gives {len(found)} numbers for a row, and a reward "
                f"is one number; serve a model with num_labels 1. If {len(found)} is the model's "
                f"hidden size, they are an embedding, and no head was applied: none of them, the "
                f"last one either, is a reward"
            )
            raise ModelError(message)
        return found[0] if isinstance(found, list) and found else found

    def _in_order(self, items: list[dict[str, Any]], what: str) -> list[dict[str, Any]]:
        """Return items sorted by `index`; raise `ScoreError` unless each index from 0 occurs once.

        `what` names the items in the error.
        """
        at = {each["index"]: each for each in items if type(each.get("index")) is int}
        if sorted(at) != list(range(len(items))):
            message = f"{self.spec.name}: its server answered with the indices "
            message += f"{short(repr(sorted(at)))} of {len(items)} {what}, allowed: each of 0 to "
            raise ScoreError(f"{message}{len(items) - 1} once")
        return [at[place] for place in sorted(at)]

    def _refuse_other_model(self, called: object) -> None:
        """Raise if the server answers with another model than before in this run."""
        if self._answered_as is None:
            self._answered_as = called  # of several names, vLLM answers with the first
        if called != self._answered_as:
            message = f"{self.spec.name}: its server answered as {short(repr(self._answered_as))}, "
            message += f"and now as {short(repr(called))}: it serves another model now"
            raise ModelError(message)

    def _refuse_other_tokenizer(self, text: str, ids: Ids) -> None:
        """Raise if the server tokenizes `text` into other ids than `ids`; pass without /tokenize.

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
