"""Asking a server: JSON over HTTP, tried again where that may help, and no number from an error.

urllib3 is used as it is: it reads no proxy, no .netrc and no other setting of the environment, so a
request goes to the host that models.yaml names and nowhere else, redirects included.
"""

from __future__ import annotations

import json
import os
from typing import Any

import urllib3
from urllib3.exceptions import HTTPError, MaxRetryError

from rmaudit.checkpoints.reading import short
from rmaudit.config.spec import ModelSpec
from rmaudit.errors import ModelError

_PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses that another try may not meet
_WAIT, _JITTER, _LONGEST_WAIT = 0.5, 0.5, 60.0  # seconds; doubled at every try
_LONGEST_ASKED = 600  # seconds that a server may ask us to wait (Retry-After)
_CONNECT = 10.0  # seconds until somebody must have picked up
_SHOWN = 200  # characters of what a server says of an error
_SECRET = 8  # characters of a key; a shorter one is no secret, and stands in any answer
_OK, _REDIRECT, _REFUSED, _NOT_FOUND = 200, 300, (401, 403), (404, 405)


class HttpClient:
    """Requests to one server; several threads may share it.

    A request is made again after a broken connection, silence for the entry's `timeout`, or a
    status that passes (429 and 5xx): at once, then after a second and twice as long each time, with
    jitter, or after what `Retry-After` says; `retries` times in all.
    """

    def __init__(self, url: str, spec: ModelSpec) -> None:
        """Nothing is asked yet.

        Raises:
            ModelError: the environment variable that the entry names as `api_key` is not set.
        """
        self.url, self._name = url, spec.name
        self._key = _key(spec)
        self._tries = spec.retries + 1
        headers = {"User-Agent": "rmaudit", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._pool = urllib3.PoolManager(
            maxsize=spec.concurrency,
            headers=headers,
            timeout=urllib3.Timeout(connect=min(_CONNECT, spec.timeout), read=spec.timeout),
            retries=urllib3.Retry(
                spec.retries,
                allowed_methods=None,  # asking for a score twice changes nothing
                status_forcelist=_PASSING,
                backoff_factor=_WAIT,
                backoff_jitter=_JITTER,
                backoff_max=_LONGEST_WAIT,
                retry_after_max=_LONGEST_ASKED,
                raise_on_status=False,
            ),
        )

    def get(self, path: str) -> Any:  # noqa: ANN401  (JSON)
        """What the server answers to a GET. Raises `ModelError`."""
        return self._ask("GET", path)

    def post(self, path: str, body: object) -> Any:  # noqa: ANN401  (JSON)
        """What the server answers to a POST of JSON.

        Raises:
            NoSuchPath: the server has none.
            ModelError: it cannot be reached, refuses, or answers with anything but JSON; the
                message is one line and says what to do.
        """
        return self._ask("POST", path, json.dumps(body).encode())

    def close(self) -> None:
        """Close what is open; the next request opens it again."""
        self._pool.clear()

    def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:  # noqa: ANN401  (JSON)
        where = f"{self.url}{path}"
        sent = {"Content-Type": "application/json"} if body is not None else {}
        try:
            answer = self._pool.request(
                method, where, body=body, headers={**self._pool.headers, **sent}, redirect=False
            )
        except (HTTPError, OSError) as error:
            cause = error.reason if isinstance(error, MaxRetryError) and error.reason else error
            retried = self._tries > 1 and isinstance(error, MaxRetryError)
            tries = f" after {self._tries} tries" if retried else ""
            why = self._told(str(cause.args[-1] if cause.args else cause))
            message = f"{self._name}: no answer from {where}{tries} ({why})"
            raise ModelError(f"{message}; {GO_ON}") from None
        data = answer.data
        if len(self._key) >= _SECRET:  # a server may repeat it, and answers are shown and kept
            data = data.replace(self._key.encode(), b"***")
        if answer.status != _OK:
            raise self._refused(where, answer, _reason(data))
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            said = self._told(data.decode(errors="replace"))
            message = f"{self._name}: {where} answered with no JSON ({said}); is `source` right?"
            raise ModelError(f"{message} {SOURCES}") from None

    def _refused(self, where: str, answer: urllib3.BaseHTTPResponse, reason: str) -> ModelError:
        """The error of a status, with what the server says of it."""
        status, said = answer.status, self._told(reason)
        message = f"{self._name}: {where} answered {status}" + (f" ({said})" if said else "")
        if status in _PASSING:
            times = f", {self._tries} times" if self._tries > 1 else ""
            return ModelError(f"{message}{times}; {GO_ON}")
        if status in _NOT_FOUND:
            return NoSuchPath(f"{message}; is `source` right? {SOURCES}")
        if status in _REFUSED:
            how = "put its key into an environment variable, and that one's name into `api_key`"
            given = "the key that `api_key` names is not taken" if self._key else how
            return ModelError(f"{message}; {given} in models.yaml")
        if status // 100 * 100 == _REDIRECT:
            to = self._told(answer.headers.get("Location", "nowhere"))
            return ModelError(f"{message} and points to {to}; give the address that answers itself")
        return ModelError(f"{message}; rmaudit asked for what this server does not take")

    def _told(self, text: str) -> str:
        """What somebody else says, in one short line and without our key."""
        masked = text.replace(self._key, "***") if self._key else text
        return short(" ".join(masked.split()), _SHOWN)


class NoSuchPath(ModelError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """A server has nothing at this path."""


GO_ON = (
    "what was scored is kept: start the server, or correct `source` in models.yaml, and run the "
    "same command to go on"
)
SOURCES = (
    "vLLM's is vllm+http://host:8000 (no /v1), OpenRLHF's openrlhf+http://host:5000/get_reward"
)


def _key(spec: ModelSpec) -> str:
    """The key that the entry names, "" if it names none."""
    if spec.api_key is None:
        return ""
    if not (key := os.environ.get(spec.api_key, "").strip()):
        message = f"{spec.name}: its `api_key` is {spec.api_key}, and no environment variable of "
        raise ModelError(f"{message}this name is set; export it, or remove `api_key`")
    if not (key.isascii() and key.isprintable()):
        message = (
            f"{spec.name}: the environment variable {spec.api_key} holds more than plain ASCII"
        )
        raise ModelError(f"{message} characters, which no header can carry; export the key anew")
    return key


def _reason(body: bytes) -> str:
    """What an answer that is an error says: the message of vLLM, the detail of FastAPI, or text."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "" if b"<" in body[:_SHOWN] else body.decode(errors="replace")
    for key in ("error", "message", "detail"):
        found = found.get(key, found) if isinstance(found, dict) else found
    return found if isinstance(found, str) else json.dumps(found)
