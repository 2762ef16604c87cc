"""Open reward models on a vLLM or SGLang server, which are scored by token ids.

What needs the weights themselves (a gradient, a dtype) is not available.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.servers import Server, server_of
from rmaudit.conversation import ASSISTANT, USER, Asked, messages
from rmaudit.errors import NoWeights, SpecError
from rmaudit.layout.answer_slot import Ids, Response, ids_alone, refuse_text
from rmaudit.models.cached_token_rows import ServedRows, tokenizer_spec
from rmaudit.models.external_scorer_batches import Pace, Progress, in_batches, unwatched
from rmaudit.models.model_factory import Opening
from rmaudit.models.model_interfaces import KNOWN_BY, RewardModel
from rmaudit.prompts import ALL
from rmaudit.sources.sglang_client import SglangJudge, SglangServer
from rmaudit.sources.token_id_client import IdsServer
from rmaudit.sources.vllm_client import VllmJudge, VllmServer

PROBES = ("yes", "no", "time", "!", "The end.", "17", "a b c", "love")  # to no prompt of an audit
PROBED = "?"
_CLIENTS: dict[str, tuple[type[IdsServer], type[IdsServer]]] = {
    "vllm": (VllmServer, VllmJudge),
    "sglang": (SglangServer, SglangJudge),
}  # of a reward head, and of a judge
_URL_AND_CARD = "its URL and what the server says of the model"


class ServedIds(RewardModel):
    """A reward model on a vLLM or SGLang server, scored by token ids; see `RewardModel`."""

    behind_server = True
    no_gradient = "a server gives rewards, and no gradients of them"
    rows: ServedRows

    def __init__(self, spec: ModelSpec, opening: Opening) -> None:
        """Find the tokenizer and prepare a client; send no request yet.

        Raises:
            SpecError: a dtype was asked for, or the entry names no tokenizer.
            ModelError: it cannot be had, or the key that the entry names is not set.
        """
        server = server_asked(spec, opening)
        head, judge = _CLIENTS[server.kind]
        if tokenizer_spec(spec) is None:
            message = (
                f"{spec.name}: a {head.software} server takes token ids, and no tokenizer is "
                f"given; add `checkpoint: FOLDER or owner/name` of the model that it serves"
            )
            raise SpecError(message)
        self.spec, self._address = spec, server
        self.rows = rows = ServedRows(spec, opening.cache)
        client = head if spec.judge is None else judge
        self._server = client(server.url, spec, lambda: rows.verdict)
        self.pace = self._pace = Pace(spec.batch, spec.concurrency, self._server.stop)

    @cached_property
    def identity(self) -> dict[str, str]:
        """Return what identifies the scores: URL, model name, version, tokenizer, a judge's words.

        Without a version in models.yaml, what the server says of the model stands for it.
        """
        version, verdict = self.spec.version, self.rows.verdict
        return {
            "served": self._address.kind,
            "url": self._address.url,
            "served_model": self._server.model,
            **(self._server.known_by if version is None else {"version": version}),
            "tokenizer": self.rows.identity,
            **({"verdict": "{} less {}".format(*verdict)} if verdict else {"activation": "none"}),
        }

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return facts for the report: server, its version, what identifies its scores."""
        version = f"{self._server.software} {self._server.version}".strip()
        known = known_by(self.spec, _URL_AND_CARD)
        return {"source": self.spec.source, "served by": version, **known}

    def with_head(self) -> NoReturn:
        """Raise `NoWeights`: the weights are the server's."""
        message = f"{self.name} is behind a server: this needs its weights; give its checkpoint"
        raise NoWeights(message)

    @property
    def limits(self) -> dict[str, int]:
        """Return {"max_model_len": most ids of prompt and answer}; {} if the server states none.

        Raises `ModelError`.
        """
        most = self._server.max_model_len
        return {} if most is None else {"max_model_len": most}

    def score(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each response to the prompt, shape (n,). See `RewardModel`."""
        refuse_text(responses)
        rows = [self._row(prompt, response) for response in responses]
        return self.score_rows(rows, on_progress=on_progress)

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
        rows = [self._row(*pair) for pair in zip(prompts, responses, strict=True)]
        return self.score_rows(rows, on_progress=on_progress)

    def _row(self, prompt: Asked, response: Response) -> Ids:
        slot = self.slot(prompt)
        return (*slot.prefix, *self.ids(response), *slot.suffix)

    def score_rows(
        self, rows: Sequence[Ids], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each row (prompt and answer as token ids), shape (n,).

        Raises:
            ModelError: the server cannot be reached, refuses, or gives no logits.
            ScoreError: a reward is not a finite number.
        """
        if not rows:
            return np.empty(0, dtype=np.float32)
        self._check()
        self._server.refuse_long(rows)
        return in_batches(self._server.rewards, rows, self._pace, on_progress)

    def rendered_there(self, prompt: str, answer: str) -> Ids | None:
        """Return the ids that the server's own chat template prints; None if it does not say."""
        turns = ((USER, prompt), (ASSISTANT, answer))
        return self._server.rendered(messages(turns))

    def own_rewards(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """Return the reward of each row of token ids, by one request for each, shape (n,)."""
        return np.concatenate([np.empty(0, "f4"), *(self.score_rows([row]) for row in rows)])

    def _check(self) -> None:
        self.rows.refuse_changed()
        _ = self.rows.verdict  # what gives none is refused before anything is sent
        slot = self.slot(PROBED)
        rows = [self._row(PROBED, probe) for probe in PROBES]
        text = f"{slot.prefix_text}{PROBES[0]}{slot.suffix_text}"
        self._server.check(rows, text, ids_alone(self.rows.layout.tokenizer, text))

    def look(self) -> Iterator[tuple[str, str]]:
        """Try the server, and yield lines (label, text) on its version, vocabulary and limits."""
        verdict = self.rows.verdict
        yield "server", f"{self._server.software}, which has {self._server.model!r}"
        self._check()
        if self._server.version:
            yield "version", self._server.version
        if judge := self.spec.judge:
            said = zip((judge.yes, judge.no), verdict, strict=True)
            words = " less that of ".join(f"{word!r} ({i})" for word, i in said)
            yield "verdict", f"log-probability of {words}, by token ids"
        else:
            yield "rewards", "logits, by token ids"
        yield from super().look()
        if (most := self._server.max_model_len) is not None:
            slots = [self.slot(prompt.text) for prompt in ALL.values()]
            rows = [(*slot.prefix, *self.vocabulary().ids[:1], *slot.suffix) for slot in slots]
            needed = max(map(len, rows)) + self._server.room
            yield "max_model_len", f"{most:,} ids a row; a token after a prompt needs {needed}"
            self._server.refuse_long(rows)

    def close(self) -> None:
        """Close the connections to the server."""
        self._server.close()


def server_asked(spec: ModelSpec, opening: Opening) -> Server:
    """Return an entry's server; raise `SpecError` if there is none, or a dtype was asked for."""
    if opening.dtype is not None:
        message = f"{spec.name}: dtype {opening.dtype} was asked for, and whoever started its "
        raise SpecError(f"{message}server decides that; leave it out")
    if (server := server_of(spec.source)) is None:
        raise SpecError(f"{spec.name}: its source {spec.source!r} is no server")
    return server


def known_by(spec: ModelSpec, otherwise: str) -> dict[str, str | int | float]:
    """Return, for the provenance, what identifies a server's scores: a version, or `otherwise`."""
    version = f"its URL and the version {spec.version} in models.yaml"
    plain = f"{otherwise}, and by no version, since models.yaml gives none"
    return {KNOWN_BY: plain if spec.version is None else version}
