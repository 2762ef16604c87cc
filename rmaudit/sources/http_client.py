"""Send JSON requests to a reward server over HTTP, and retry after temporary failures.

A request goes to the host that models.yaml names and nowhere else (`bounded_http`).

The API key comes from the environment. Answers and errors of a server stand in reports and logs,
and a server may repeat what it was sent, so the key is masked in them: as it is, escaped for JSON,
HTML or an address, or in base64, as in basic authentication.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from tqdm import tqdm
from urllib3.exceptions import HTTPError, InvalidHeader
from urllib3.util import Retry

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.config.model_spec import ModelSpec
from rmaudit.config.servers import masked_urls
from rmaudit.errors import ModelError
from rmaudit.sources.bounded_http import Answer, BoundedHttp, BoundError

SILENCE, RETRIES = 120.0, 6  # seconds until a request is made again, and how often it is
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)  # statuses that another try may not meet
_WAIT, _JITTER, _LONGEST_WAIT = 0.5, 0.5, 60.0  # seconds; doubled at every try
_LONGEST_ASKED = 600  # seconds in all that a server may have one request wait (Retry-After)
_FOREVER = 10**9  # more seconds than that are as many
_LONG_WAIT = 3.0  # seconds; longer waits are printed
_MOST, _MOST_A_ROW = 1 << 20, 1 << 10  # bytes of an answer
_SHOWN = 200  # characters of what a server says of an error
SHORTEST = 8  # characters of a key: a shorter one stands in any text, and cannot be masked
_MASK = "***"
_OK, _REDIRECT, _REFUSED, _NOT_FOUND = 200, 300, (401, 403), (404, 405)


class HttpClient:
    """A JSON client of one server, with retries; several threads may share it.

    A request is made again after a broken connection, silence for `SILENCE` seconds, or a
    status of `_TEMPORARY` (such as 429 or 503): at once, then after a second and twice as long each
    time, with jitter, or after what `Retry-After` says; `RETRIES` times in all. A response is
    limited in bytes and in time: one over a limit is not asked for again. Waits of seconds are told
    on stderr.

    `stop()` ends all requests under way, which then raise `ModelError`; `close()` closes the open
    connections, and the next request opens them again.
    """

    def __init__(self, url: str, spec: ModelSpec) -> None:
        """Prepare a client: read the API key from the environment, and send no request yet.

        Raises:
            ModelError: the environment variable that the entry names as `api_key` is not set, or
                holds no key.
        """
        self.url, self._name = url, spec.name
        self._key = key_of(spec)
        self._mask = masking(self._key)
        self._tries = RETRIES + 1
        self._headers = {"User-Agent": "rmaudit", "Accept": "application/json"}
        if self._key:
            self._headers["Authorization"] = f"Bearer {self._key}"
        self._announced_until = 0.0
        self._http = BoundedHttp(silence=SILENCE, at_once=spec.concurrency)
        self.stop = self._http.stop
        self.close = self._http.close

    def get(self, path: str) -> Any:  # noqa: ANN401  (JSON)
        """Return the JSON answer to a GET of `path`; raise `ModelError` if there is none."""
        return self._ask("GET", path)

    def post(self, path: str, body: object, *, rows: int = 0) -> Any:  # noqa: ANN401  (JSON)
        """Post `body` as JSON and return the JSON answer, whose size limit grows with `rows`.

        Raises:
            NoSuchPath: the server has nothing at `path`.
            ModelError: it cannot be reached, refuses, or answers with too much, too slowly, or with
                anything but JSON; the message is one line and says what to do.
        """
        return self._ask("POST", path, json.dumps(body).encode(), rows)

    def _ask(self, method: str, path: str, body: bytes | None = None, rows: int = 0) -> Any:  # noqa: ANN401  (JSON)
        where = f"{self.url}{path}"
        answer = self._ask_with_retries(method, where, body, _MOST + _MOST_A_ROW * rows)
        if answer.status != _OK:
            raise self._error_for(where, answer, _reason(answer.data))
        try:  # a server may repeat its key, and answers are shown and kept
            return masked_json(json.loads(answer.data), self._mask)
        except (ValueError, RecursionError):
            said = self._masked(answer.data.decode(errors="replace"))
            message = f"{self._name}: {where} answered with no JSON ({said}); is `source` right?"
            raise ModelError(f"{message} {SOURCES}") from None

    def _ask_with_retries(self, method: str, where: str, body: bytes | None, most: int) -> Answer:
        """Send a request to `where` (URL) with retries; return a response of up to `most` bytes."""
        sent = {"Content-Type": "application/json"} if body is not None else {}
        left = float(_LONGEST_ASKED)
        for failed in range(1, self._tries + 1):
            try:
                answer = self._http.ask(
                    method, where, body=body, headers={**self._headers, **sent}, most=most
                )
                if answer.status not in _TEMPORARY or failed == self._tries:
                    return answer
                asked = _retry_after(answer.headers.get("Retry-After", ""))
                why = str(answer.status)
            except (HTTPError, OSError) as error:
                asked, why = 0.0, self._masked(_cause(error))
                if failed == self._tries or isinstance(error, BoundError):
                    tries = f" after {failed} tries" if failed > 1 else ""
                    message = f"{self._name}: no answer from {where}{tries} ({why})"
                    raise ModelError(f"{message}; {GO_ON}") from None
            if asked > left:
                message = f"{self._name}: {where} answered {why} and asks to be left alone for "
                message += f"{asked:,.0f} s, and rmaudit waits for {_LONGEST_ASKED} s in all"
                raise ModelError(f"{message}; {GO_ON}")
            left -= asked
            self._wait(asked or _backoff(failed), where, why, server_asks=bool(asked))
        raise AssertionError  # there is one try at least

    def _wait(self, seconds: float, where: str, why: str, *, server_asks: bool) -> None:
        """Wait before a retry; report a long wait and `why` on stderr, once for all threads."""
        until = time.monotonic() + seconds
        if seconds >= _LONG_WAIT and until > self._announced_until + _LONG_WAIT:
            self._announced_until = until
            how = ", as the server asks" if server_asks else ", and then trying again"
            said = f"{self._name}: {where} failed ({why}): waiting {seconds:,.0f} s{how}"
            tqdm.write(said, file=sys.stderr)
        try:
            self._http.wait(seconds)
        except BoundError as error:
            raise ModelError(f"{self._name}: no answer from {where} ({error}); {GO_ON}") from None

    def _error_for(self, where: str, answer: Answer, reason: str) -> ModelError:
        """Return the error for an HTTP error status, with the server's reason and what to do."""
        status, said = answer.status, self._masked(reason)
        message = f"{self._name}: {where} answered {status}" + (f" ({said})" if said else "")
        if status in _TEMPORARY:
            times = f", {self._tries} times" if self._tries > 1 else ""
            return ModelError(f"{message}{times}; {GO_ON}")
        if status in _NOT_FOUND:
            return NoSuchPath(message)
        if status in _REFUSED:
            how = "put its key into an environment variable, and that one's name into `api_key`"
            given = "the key that `api_key` names is not taken" if self._key else how
            return ModelError(f"{message}; {given} in models.yaml")
        if status // 100 * 100 == _REDIRECT:
            to = self._masked(masked_urls(answer.headers.get("Location", "nowhere")))
            return ModelError(f"{message} and points to {to}; give the address that answers itself")
        return ModelError(f"{message}; rmaudit asked for what this server does not take")

    def _masked(self, text: str) -> str:
        """Return a server's text as one line of at most 200 characters, with the API key masked."""
        return short(" ".join(self._mask(text).split()), _SHOWN)


class NoSuchPath(ModelError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """Raised when a server has nothing at the requested path (status 404 or 405).

    `asked` says what was asked and answered, without the advice to correct `source`.
    """

    def __init__(self, asked: str) -> None:
        """Take what was asked and answered as the error's first words."""
        super().__init__(f"{asked}; is `source` right? {SOURCES}")
        self.asked = asked


GO_ON = (
    "what was scored is kept: start the server, or correct `source` in models.yaml, and run the "
    "same command to go on"
)
SOURCES = (
    "vLLM's is vllm+http://host:8000 (no /v1), SGLang's sglang+http://host:30000, OpenRLHF's "
    "openrlhf+http://host:5000/get_reward"
)


def _cause(error: Exception) -> str:
    """Return a connection error's message without urllib3's prefix (its connection pool)."""
    return str(error.args[-1] if error.args else error).rpartition("): ")[2]


def _backoff(failed: int) -> float:
    """Return seconds until the next try: 0 after one failure, then doubling to 60, with jitter."""
    if failed == 1:
        return 0.0
    jitter = _JITTER * random.random()  # noqa: S311  (it decides no score and no secret)
    return float(min(_WAIT * 2 ** (failed - 1) + jitter, _LONGEST_WAIT))


def _retry_after(said: str) -> float:
    """Return the seconds that a Retry-After header (number or date) asks for; 0 if unreadable."""
    try:
        return Retry(retry_after_max=_FOREVER).parse_retry_after(said)
    except (InvalidHeader, ValueError, OverflowError, TypeError, IndexError):
        return 0.0


def _reason(body: bytes) -> str:
    """Return an HTTP error's message from its body, which is JSON or text; "" if it seems HTML.

    vLLM's JSON has a message, FastAPI's a detail.
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "" if b"<" in body[:_SHOWN] else body.decode(errors="replace")
    for key in ("error", "message", "detail"):
        found = found.get(key, found) if isinstance(found, dict) else found
    return found if isinstance(found, str) else json.dumps(found)


def key_of(spec: ModelSpec) -> str:
    """Return the API key in the variable that the entry names, "" if it names none.

    Raises:
        ModelError: the variable is not set, or its value is no key; neither is quoted, nor is the
            name of a variable that is not set, which may be a key.
    """
    if spec.api_key is None:
        return ""
    message = f"{spec.name}: the environment variable that `api_key` in models.yaml names "
    if not (key := os.environ.get(spec.api_key, "").strip()):
        how = "is not set; export it, or remove `api_key`"
        raise ModelError(f"{message}{how}, which takes a variable's name and never a key")
    if not (key.isascii() and key.isprintable()):
        how = "holds more than plain ASCII characters, which no header can carry"
        raise ModelError(f"{message}{how}; export the key anew")
    if len(key) < SHORTEST:
        how = f"holds a key of {len(key)} characters, too few to be masked in what the server says"
        raise ModelError(
            f"{message}{how}; start the server with a key of {SHORTEST} or more, or with none, and "
            f"remove `api_key`"
        )
    return key


def masking(key: str) -> Callable[[str], str]:
    """Return a function that masks `key` in a text, however it is written there; "" masks nothing.

    It is known as it is, with each character plain or escaped (as in JSON, also in JSON within
    JSON, in a percent-encoded address and in HTML), and in base64 with anything before and after.
    """
    if not key:
        return lambda text: text
    plain = "".join(map(_written, key))
    pattern = re.compile("|".join([plain, *dict.fromkeys(map(re.escape, _in_base64(key)))]))
    return lambda text: pattern.sub(_MASK, text)


def masked_json(value: Any, mask: Callable[[str], str]) -> Any:  # noqa: ANN401  (JSON)
    """Return a JSON value with `mask` applied to all its texts and keys, and to no number."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [masked_json(each, mask) for each in value]
    if isinstance(value, dict):
        return {mask(name): masked_json(each, mask) for name, each in value.items()}
    return value


def _written(character: str) -> str:
    """Return a pattern of a character as it is, or escaped once or several times."""
    code = ord(character)
    percent = rf"%(?:25)*(?i:{code:02x})"
    # As many as JSON in JSON in JSON has: without a bound a long run of them would take for ever.
    escaped = rf"\\{{1,8}}(?:u00(?i:{code:02x})|x(?i:{code:02x})|{re.escape(character)})"
    html = rf"&(?:amp;)*#(?:0*{code}|[xX]0*(?i:{code:x}));"
    more = {"&": "&(?:amp;)+", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;", " ": r"\+"}
    every = [more.get(character, ""), re.escape(character), escaped, percent, html]
    return f"(?:{'|'.join(filter(None, every))})"


def _in_base64(key: str) -> list[str]:
    """Return the characters of base64 that `key` decides, at each of three places in a group."""
    found: list[str] = []
    for before in range(3):
        coded = b64encode(b"\0" * before + key.encode()).decode()
        own = coded[-(-before * 8 // 6) : (before + len(key)) * 8 // 6]
        found += [own, own.replace("+", "-").replace("/", "_")]
    return found
