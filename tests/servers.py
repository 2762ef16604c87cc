"""Servers on the loopback that speak as vLLM, SGLang and OpenRLHF do, and fail when told to.

Formats are those of vllm/entrypoints (pooling/classify/protocol.py, openai/completion/serving.py),
of python/sglang/srt (entrypoints/http_server.py, entrypoints/openai/protocol.py) and of
openrlhf/cli/serve_rm.py.
Each answer that was sent is counted.
"""

from __future__ import annotations

import json
import math
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np
import pytest

from rmaudit.sources import http_client

Ids = tuple[int, ...]
Fault = str | int | Callable[[Callable[[bytes], None]], None]
"""A status; "drop": no answer; "half": the first half of one; "die": no answer,
ever again; "later": 429, and to come again in a second; "later N": 503, and to come again in N;
a function that sends whatever bytes it likes, until nobody takes them."""


def by_hash(row: object) -> float:
    """A reward that differs by row, of float32, between -4 and 4."""
    return float(np.float32(zlib.crc32(repr(row).encode()) / 2**29 - 4))


@dataclass
class Served:
    """What a server has, what it is to do, and what it has done.

    Attributes:
        reward: of a row of ids (vLLM, SGLang) or of a query (OpenRLHF).
        fault: what is to happen to the request of this number, counted from 0; None: nothing.
        change: what is to become of a right answer.
        answered: how often each row or query was scored and sent, without activations.
        activation: what vLLM does to a logit unless it is told not to.
        knows: the setting that tells it so.
        longest: ids that a row may have; None: it does not say.
        version: of vLLM; None: it does not say.
        likeliest: log-probabilities by id, of a vLLM that does not know `logprob_token_ids`.
        rendered: ids of messages in the chat template of vLLM; None: it takes no messages.
        lacks: paths at which it has nothing.
        info: how SGLang was started, and which weights it has; None: of an old version, without.
        sent: bytes that faults could send.
    """

    reward: Callable[[Any], float] = by_hash
    fault: Callable[[int], Fault | None] = lambda _: None
    change: Callable[[Any], Any] = lambda answer: answer
    model: str = "house/rm"
    models: Sequence[str] = ("house/rm",)
    root: str = "/models/house-rm"
    tokenize: Callable[[str], list[int]] | None = None
    rendered: Callable[[list[dict[str, str]]], list[int]] | None = None
    lacks: Sequence[str] = ()
    activation: Callable[[float], float] = lambda logit: 1 / (1 + math.exp(-logit))
    knows: str = "use_activation"
    key: str | None = None
    longest: int | None = None
    version: str | None = None
    likeliest: dict[int, float] | None = None
    info: dict[str, Any] | None = None
    answered: Counter[Any] = field(default_factory=Counter)
    requests: int = 0
    most_at_once: int = 0
    seen: list[dict[str, Any]] = field(default_factory=list)
    dead: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: int = 0
    sent: int = 0

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any, list[Any]]:
        """The status, the answer, and the rows or queries that it scores."""
        if path == "/v1/models":
            card = {"object": "model", "root": self.root, "max_model_len": self.longest}
            return (
                200,
                {"object": "list", "data": [{**card, "id": name} for name in self.models]},
                [],
            )
        if path in self.lacks:
            return 404, {"detail": "Not Found"}, []
        if path == "/tokenize" and "messages" in body:
            return (*self._rendered(body), [])
        if path == "/tokenize" and self.tokenize is not None:
            ids = self.tokenize(body["prompt"])
            return 200, {"count": len(ids), "max_model_len": 4096, "tokens": ids}, []
        scoring = {
            "/classify": self._embedded if "input_ids" in body else self._classify,
            "/v1/completions": self._completed,
            "/v1/score": self._scored,
            "/get_reward": self._endpoint,
        }
        return self._looked_up(path) if path not in scoring else scoring[path](body)

    def _looked_up(self, path: str) -> tuple[int, Any, list[Any]]:
        """What GETs find: its paths, its version, how it was started."""
        paths = ("/classify", "/v1/completions", "/v1/score")
        there: dict[str, Any] = {
            "/openapi.json": {"paths": {path: {} for path in paths if path not in self.lacks}},
            "/version": self.version and {"version": self.version},
            "/server_info": self.info,
            "/model_info": self.info,
        }
        found = there.get(path)
        return (404, {"detail": "Not Found"}, []) if found is None else (200, found, [])

    def _rendered(self, body: dict[str, Any]) -> tuple[int, Any]:
        """VLLM's ids of messages in its own template."""
        if self.rendered is None:
            return 400, {"error": {"message": "No chat template."}}
        assert (body["add_generation_prompt"], body["add_special_tokens"]) == (False, False)
        return 200, {"tokens": self.rendered(body["messages"])}

    def _endpoint(self, body: dict[str, Any]) -> tuple[int, Any, list[Any]]:
        """OpenRLHF's."""
        rewards = [self.reward(query) for query in body["query"]]
        extra = {"scores": rewards, "extra_logs": {"dummy_scores": rewards}}
        return 200, {"rewards": rewards, **extra}, body["query"]

    def _classify(self, body: dict[str, Any]) -> tuple[int, Any, list[Any]]:
        if body.get("model", self.model) not in self.models:
            said = f"The model `{body['model']}` does not exist."
            return 404, {"error": {"message": said, "type": "NotFoundError", "code": 404}}, []
        assert body["add_special_tokens"] is False
        rows = [tuple(row) for row in body["input"]]
        if self.longest is not None and max(map(len, rows)) > self.longest:
            said = f"This model's maximum context length is {self.longest} tokens."
            return 400, {"error": {"message": said, "type": "BadRequestError", "code": 400}}, []
        active = body.get(self.knows, True)
        scored = [self.activation(r) if active else r for r in map(self.reward, rows)]
        data = [
            {"index": i, "label": "LABEL_0", "probs": [score], "num_classes": 1}
            for i, score in enumerate(scored)
        ]
        sent = {"id": "classify-1", "object": "list", "model": self.model, "data": data}
        return 200, sent, [] if active else rows

    def _embedded(self, body: dict[str, Any]) -> tuple[int, Any, list[Any]]:
        """SGLang's /classify, which answers a flat list of ids with one object."""
        assert set(body) == {"input_ids"}
        alone = isinstance(body["input_ids"][0], int)
        rows = [tuple(row) for row in ([body["input_ids"]] if alone else body["input_ids"])]
        found = [
            {"embedding": [self.reward(row)], "meta_info": {"prompt_tokens": len(row)}}
            for row in rows
        ]
        return 200, found[0] if alone else found, rows

    def _completed(self, body: dict[str, Any]) -> tuple[int, Any, list[Any]]:
        """VLLM's completions of one token, which is another than the verdicts."""
        assert body["add_special_tokens"] is False
        assert (body["max_tokens"], body["return_tokens_as_token_ids"]) == (1, True)
        assert body["logprobs"] is not None
        rows = [tuple(row) for row in body["prompt"]]
        choices = []
        for index, row in enumerate(rows):
            asked = dict(zip(body["logprob_token_ids"], _verdicts(self.reward(row)), strict=True))
            logprobs = asked if self.likeliest is None else self.likeliest
            top = {f"token_id:{i}": value for i, value in {0: -0.5, **logprobs}.items()}
            said = {"tokens": ["token_id:0"], "token_logprobs": [-0.5], "top_logprobs": [top]}
            choices.append({"index": index, "text": "a", "logprobs": {"text_offset": [0], **said}})
        sent = {"id": "cmpl-1", "object": "text_completion", "model": self.model}
        return 200, {**sent, "choices": choices}, rows

    def _scored(self, body: dict[str, Any]) -> tuple[int, Any, list[Any]]:
        """SGLang's probabilities of two tokens after query and item."""
        assert (body["apply_softmax"], body["item_first"], body["query"]) == (False, False, [])
        assert len(body["label_token_ids"]) == 2
        rows = [tuple(row) for row in body["items"]]
        scores = [list(map(math.exp, _verdicts(self.reward(row)))) for row in rows]
        return 200, {"scores": scores, "model": self.model, "object": "scoring"}, rows


def _verdicts(reward: float) -> tuple[float, float]:
    """Two log-probabilities that differ by a reward."""
    return -2 + min(reward, 0), -2 - max(reward, 0)


class _Handler(BaseHTTPRequestHandler):
    """One connection, kept open between requests as uvicorn does."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits for 40 ms
    served: Served

    def do_GET(self) -> None:
        """A GET has no body."""
        self._reply({})

    def do_POST(self) -> None:
        """A POST has JSON."""
        self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (likewise)
        """Nothing is logged."""

    def _reply(self, body: dict[str, Any]) -> None:
        served = self.served
        with served.lock:
            number, served.requests = served.requests, served.requests + 1
            served.running += 1
            served.most_at_once = max(served.most_at_once, served.running)
            served.seen.append(body)
        try:
            self._answered(number, body)
        finally:
            with served.lock:
                served.running -= 1

    def _answered(self, number: int, body: dict[str, Any]) -> None:
        served, fault = self.served, self.served.fault(number)
        if fault == "die":
            served.dead = True
        if served.dead or fault == "drop":
            self.close_connection = True
            return
        if served.key and self.headers.get("Authorization") != f"Bearer {served.key}":
            self._send(401, {"error": f"Unauthorized: {self.headers.get('Authorization')}"})
            return
        if callable(fault):
            self.close_connection = True
            with suppress(OSError):
                fault(self._sent)
            return
        if isinstance(fault, int) or (fault or "").startswith("later"):
            wait = str(fault).partition(" ")[2] or ("1" if fault == "later" else "0")
            number = fault if isinstance(fault, int) else 429 if fault == "later" else 503
            self._send(number, {"error": {"message": "busy"}}, {"Retry-After": wait})
            return
        status, answer, scored = served.answer(self.path, body)
        if status == 200:
            answer = served.change(answer)
        if fault == "half":
            self._send(status, answer, half=True)
            return
        with served.lock:
            if served.dead:
                self.close_connection = True
                return
            served.answered.update(scored)
        self._send(status, answer)

    def _sent(self, data: bytes) -> None:
        with self.served.lock:
            self.served.sent += self.wfile.write(data)

    def _send(
        self,
        status: int,
        answer: object,
        headers: dict[str, str] | None = None,
        *,
        half: bool = False,
    ) -> None:
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if half else data)
        self.close_connection = half


def patient(
    patch: pytest.MonkeyPatch, *, retries: int = 1, silence: float = 60, longest: int = 600
) -> None:
    """Let clients make a request again so often, each time after so many seconds of silence.

    A server may have one request wait for `longest` seconds in all.
    """
    patch.setattr(http_client, "_LONGEST_ASKED", longest)
    patch.setattr(http_client, "RETRIES", retries)
    patch.setattr(http_client, "SILENCE", silence)


class Running:
    """A server that runs; `with` stops it. Another may take its port afterwards."""

    def __init__(self, served: Served, port: int = 0) -> None:
        handler = type("Handler", (_Handler,), {"served": served})
        served.dead = False
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self._served = served
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._served.dead = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
