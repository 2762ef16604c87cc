"""Send HTTP requests with limits on total bytes and total seconds, and a `stop` that ends them.

A server may send without end, a byte at a time, or say `100 Continue` for ever, and a socket's own
time-out knows silence only. So each request runs in a thread of its own, for which the caller waits
no longer than the limit; then its socket is shut down.
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
    """Raised when a response exceeds a limit or requests were stopped; a retry would not help."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response: status, headers, and the body as bytes."""

    status: int
    headers: Mapping[str, str]
    data: bytes


@dataclass(slots=True, eq=False)
class _Call:
    """A pending HTTP request (or pause between two), with its response or error once finished."""

    connection: HTTPConnection | None = None
    answer: Answer | None = None
    error: Exception | None = None
    finished: Event = field(default_factory=Event)
    woken: Event = field(default_factory=Event)  # it is finished, or is to stop
    ended: bool = False

    def carry_by(self, connection: HTTPConnection) -> None:
        """Store the connection that carries this request; raise if `end` was called before."""
        self.connection = connection
        if self.ended:
            message = "nobody waits for its answer"
            raise BoundError(message)

    def end(self) -> None:
        """Shut down the request's socket, so that the thread that waits for it ends."""
        self.ended = True
        if self.connection is not None and self.connection.sock is not None:
            with suppress(OSError):
                self.connection.sock.shutdown(SHUT_RDWR)


_CALL_OF_THREAD: ContextVar[_Call] = ContextVar("the question of this thread")


class _Http(HTTPConnection):
    """An HTTP connection that can be shut down while it carries a request.

    It registers itself with the request (`_Call`) in whose thread it runs.
    """

    def connect(self) -> None:
        """Open the connection; raise `BoundError` if the request was ended before."""
        _CALL_OF_THREAD.get().carry_by(self)
        super().connect()

    def request(self, *given: Any, **more: Any) -> None:  # noqa: ANN401  (as urllib3 has them)
        """Send the request; raise `BoundError` if it was ended before."""
        _CALL_OF_THREAD.get().carry_by(self)
        super().request(*given, **more)


class _Https(_Http, HTTPSConnection):
    """The encrypted variant (HTTPS) of `_Http`, a connection that can be shut down."""


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


class BoundedHttp:
    """A sender of HTTP requests with limits on size and time; several threads may share it.

    urllib3 is used as it is: it reads no proxy, no .netrc and no other setting of the
    environment. Redirects are not followed, and no request is repeated.
    """

    def __init__(self, *, silence: float, at_once: int) -> None:
        """Set limits: `silence` seconds without data, twice that in all, `at_once` connections.

        The time in all is that of one response; the pool holds the connections. No request is sent
        yet.
        """
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
        """Send one request; return its response, or raise `BoundError` if it is over `most` bytes.

        Raises:
            BoundError: the response is longer than `most` bytes, compressed, or not whole after
                twice `silence` seconds; or `stop` was called.
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
        """Sleep for `seconds`; raise `BoundError` as soon as `stop` is called.

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
        """End all waits at once, and all requests under way within another second.

        Later requests are sent as usual.
        """
        for call in [*self._calls]:
            call.woken.set()

    def close(self) -> None:
        """Close the open connections; the next request opens new ones."""
        self._pool.clear()

    def _run(self, call: _Call, *given: Any) -> None:  # noqa: ANN401  (as `_exchange` has them)
        """Send the request on this thread, and store its response or error in `call`."""
        _CALL_OF_THREAD.set(call)
        try:
            call.answer = self._exchange(*given)
        except Exception as error:  # noqa: BLE001  (whoever waits raises it)
            call.error = error
        finally:
            call.finished.set()
            call.woken.set()

    def _exchange(
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
            data = _read_body(found, most)
        except BaseException:
            found.close()
            raise
        found.release_conn()
        return Answer(found.status, dict(found.headers), data)


def _read_body(found: urllib3.BaseHTTPResponse, most: int) -> bytes:
    """Return a response's body; raise `BoundError` if it is compressed or above `most` bytes."""
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
