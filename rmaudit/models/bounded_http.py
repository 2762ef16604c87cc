"""One question to a server, with bounds: so many bytes, so many seconds in all, ended by a word.

A server may send without end, a byte at a time, or say `100 Continue` for ever, and a socket's own
time-out knows silence only. So each question has a thread of its own, for which the asker waits no
longer than he wants; the socket is then shut down beneath it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from socket import SHUT_RDWR
from threading import Event, Thread
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError

_CONNECT = 10.0  # seconds until somebody must have picked up
_GRACE = 1.0  # seconds that a question under way has to end well once all are to stop
_IDENTITY = ("", "identity")


class BoundError(HTTPError):
    """An answer is over a bound, or nobody waits for it any longer; asking again would not help."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, the headers, and the body as it came."""

    status: int
    headers: Mapping[str, str]
    data: bytes


@dataclass(slots=True, eq=False)
class _Call:
    """A question under way."""

    connection: HTTPConnection | None = None
    answer: Answer | None = None
    error: Exception | None = None
    finished: Event = field(default_factory=Event)
    woken: Event = field(default_factory=Event)  # it is finished, or is to stop
    ended: bool = False

    def over(self, connection: HTTPConnection) -> None:
        """Note the connection that it goes over."""
        self.connection = connection
        if self.ended:
            message = "nobody waits for its answer"
            raise BoundError(message)

    def end(self) -> None:
        """Shut its socket down, so that its thread ends."""
        self.ended = True
        if self.connection is not None and self.connection.sock is not None:
            with suppress(OSError):
                self.connection.sock.shutdown(SHUT_RDWR)


_HERE: ContextVar[_Call] = ContextVar("the question of this thread")


class _Http(HTTPConnection):
    """A connection that the question knows which goes over it."""

    def connect(self) -> None:
        """Connect, unless nobody waits any longer."""
        _HERE.get().over(self)
        super().connect()

    def request(self, *given: Any, **more: Any) -> None:  # noqa: ANN401  (as urllib3 has them)
        """Send a question, unless nobody waits any longer."""
        _HERE.get().over(self)
        super().request(*given, **more)


class _Https(_Http, HTTPSConnection):
    """The same, encrypted."""


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


class BoundedHttp:
    """Connections to a server; several threads may share it.

    urllib3 is used as it is: it reads no proxy, no .netrc and no other setting of the environment.
    Redirects are not followed, and nothing is asked again.
    """

    def __init__(self, *, silence: float, at_once: int) -> None:
        """Nothing is asked yet; `silence` is in seconds, and an answer may take twice that."""
        self._longest = 2 * silence
        self._calls: set[_Call] = set()
        self._pool = urllib3.PoolManager(
            maxsize=at_once,
            timeout=urllib3.Timeout(connect=min(_CONNECT, silence), read=silence),
            retries=False,
        )
        self._pool.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}

    def ask(
        self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str], most: int
    ) -> Answer:
        """Return the answer to one question, of at most so many bytes.

        Raises:
            BoundError: it is longer, compressed, not whole after twice the seconds of silence that
                are allowed, or `stop` was called.
            HTTPError: the connection fails, or is silent for too long.
        """
        call = _Call()
        given = (call, method, url, body, {**headers, "Accept-Encoding": "identity"}, most)
        self._calls.add(call)
        try:
            Thread(target=self._run, args=given, daemon=True).start()
            if not call.woken.wait(self._longest):
                message = f"it sends, but no whole answer within {self._longest:g} s"
                raise BoundError(message)
            if not call.finished.wait(_GRACE):
                message = "the run was stopped"
                raise BoundError(message)
        finally:
            self._calls.discard(call)
            if not call.finished.is_set():
                call.end()
        if call.error is not None:
            raise call.error
        assert call.answer is not None, "it is finished"  # noqa: S101  (for types)
        return call.answer

    def wait(self, seconds: float) -> None:
        """Wait for so many seconds.

        Raises:
            BoundError: `stop` was called.
        """
        call = _Call()
        self._calls.add(call)
        try:
            if call.woken.wait(seconds):
                message = "the run was stopped"
                raise BoundError(message)
        finally:
            self._calls.discard(call)

    def stop(self) -> None:
        """End all that is under way: waits at once, and questions after another second.

        What is asked afterwards is asked as ever.
        """
        for call in [*self._calls]:
            call.woken.set()

    def close(self) -> None:
        """Close what is open; the next question opens it again."""
        self._pool.clear()

    def _run(self, call: _Call, *given: Any) -> None:  # noqa: ANN401  (as `_exchanged` has them)
        """Ask, on a thread of its own."""
        _HERE.set(call)
        try:
            call.answer = self._exchanged(*given)
        except Exception as error:  # noqa: BLE001  (whoever waits raises it)
            call.error = error
        finally:
            call.finished.set()
            call.woken.set()

    def _exchanged(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], most: int
    ) -> Answer:
        found = self._pool.request(
            method,
            url,
            body=body,
            headers=headers,
            redirect=False,
            preload_content=False,
            decode_content=False,
        )
        try:
            data = _body(found, most)
        except BaseException:
            found.close()
            raise
        found.release_conn()
        return Answer(found.status, dict(found.headers), data)


def _body(found: urllib3.BaseHTTPResponse, most: int) -> bytes:
    """Return the body of an answer, which is as it was sent and has at most so many bytes."""
    coding = found.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _IDENTITY:
        message = f"its body is coded as {coding!r}, and rmaudit takes none that is"
        raise BoundError(message)
    data = b""
    while len(data) <= most and (more := found.read(most + 1 - len(data))):
        data += more
    if len(data) > most:
        message = f"its body is longer than {most:,} bytes"
        raise BoundError(message)
    return data
