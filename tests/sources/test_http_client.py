"""What a server sends is bounded in bytes and in time; its key is masked however it is repeated."""

from __future__ import annotations

import gzip
import html
import json
import signal
import threading
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.model_factory import Opening, opened
from rmaudit.scores.sweep import sweep
from rmaudit.sources.http_client import HttpClient, key_of, masked_json, masking
from tests.servers import Fault, Running, Served, patient
from tests.sources.test_served_model import spec_of
from tests.toys import toy_checkpoint

Send = Callable[[bytes], None]
OK = b"HTTP/1.1 200 OK\r\n"
MEGABYTE = b" " * 2**20
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
LONGER, LATER = "its body is longer than 1,048,576 bytes", "no whole answer within 0.8 s"
LINE = "start the server, or correct `source` in models.yaml, and run the same command"


def endless(start: bytes, part: bytes, pause: float = 0.0) -> Callable[[Send], None]:
    """An answer that begins so, and then has the same part again and again."""

    def fault(send: Send) -> None:
        send(start)
        while True:
            send(part)
            threading.Event().wait(pause)

    return fault


def bomb(send: Send) -> None:
    """A few bytes that become many."""
    body = gzip.compress(MEGABYTE * 64)
    send(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def ctrl_c() -> None:
    """As a terminal does: whatever the main thread waits for is interrupted."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request is made twice at most."""
    patient(monkeypatch, silence=20)


def client(url: str, **more: Any) -> HttpClient:
    """A client of an entry with these keys."""
    return HttpClient(url, ModelSpec("house", f"vllm+{url}", **more))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (endless(OK + b"Content-Length: 4294967296\r\n\r\n", MEGABYTE), LONGER),
        (endless(OK + CHUNKED, b"100000\r\n" + MEGABYTE + b"\r\n"), LONGER),
        (bomb, "its body is coded as 'gzip'"),
        (endless(OK + b"Content-Length: 100000\r\n\r\n", b" ", 0.05), LATER),
        (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01), LATER),
    ],
    ids=["four gigabytes", "no last chunk", "bomb", "a byte at a time", "promises"],
)
def test_an_answer_over_a_bound_ends_with_a_line(
    fault: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not read on, and not asked for again."""
    patient(monkeypatch, silence=0.4 if said is LATER else 20)
    served = Served(fault=lambda _: fault)
    with Running(served) as server, pytest.raises(ModelError) as caught:
        client(server.url).get("/v1/models")

    assert str(caught.value).startswith(f"house: no answer from {server.url}/v1/models (")
    assert said in str(caught.value)
    assert LINE in str(caught.value)
    assert served.requests == 1
    assert served.sent < 64 * 2**20  # what sockets buffer


def test_an_answer_may_have_a_kilobyte_for_each_row() -> None:
    """Beside a megabyte for all."""
    served = Served(change=lambda _: ["x" * 2**20, "y" * 90_000])
    with Running(served) as server:
        asked = client(server.url)
        body: dict[str, Any] = {"query": []}
        with pytest.raises(ModelError, match="longer than 1,058,816 bytes"):
            asked.post("/get_reward", body, rows=10)
        assert len(asked.post("/get_reward", body, rows=100)) == 2


@pytest.mark.parametrize("asked", ["-5", "soon", "1e3", "9" * 5000, "Mon, 99 Foo 2026 00:00:00"])
def test_a_retry_after_that_is_none_is_left_out_of_account(asked: str) -> None:
    """Negative, junk, or more digits than a number has: it is asked again as without."""
    served = Served(fault=lambda number: f"later {asked}" if number == 0 else None)
    with Running(served) as server:
        assert client(server.url).get("/v1/models")

    assert served.requests == 2


@pytest.mark.parametrize(("asked", "named"), [("2099", "2,099 s"), ("9" * 30, "1,000,000,000 s")])
def test_a_server_that_asks_for_too_long_a_wait_ends_the_run(asked: str, named: str) -> None:
    """At once, and with what it asked for."""
    served = Served(fault=lambda _: f"later {asked}")
    with Running(served) as server, pytest.raises(ModelError) as caught:
        client(server.url).get("/v1/models")

    assert all(part in str(caught.value) for part in ("503", named, "600 s in all", LINE))
    assert served.requests == 1


def test_waits_that_a_server_asks_for_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is short enough, and together they are too long."""
    patient(monkeypatch, retries=3, longest=1)
    served = Served(fault=lambda _: "later 1")
    with Running(served) as server, pytest.raises(ModelError, match="waits for 1 s in all"):
        client(server.url).get("/v1/models")

    assert served.requests == 2


def test_who_waits_is_told_and_can_stop(capsys: pytest.CaptureFixture[str]) -> None:
    """The line says how long, and why; `stop` ends the wait."""
    served, failed = Served(fault=lambda _: "later 500"), list[ModelError]()
    with Running(served) as server:
        asked = client(server.url)

        def ask() -> None:
            try:
                asked.get("/v1/models")
            except ModelError as error:
                failed.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        while thread.is_alive():
            asked.stop()
            thread.join(0.05)

    assert capsys.readouterr().err == (
        f"house: {server.url}/v1/models failed (503): waiting 500 s, as the server asks\n"
    )
    assert "the run was stopped" in str(failed[0])
    assert served.requests == 1


@pytest.mark.slow
@pytest.mark.filterwarnings(  # Ctrl-C may fall between opening a file and its `with`
    "ignore:Exception ignored in. <_io:pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("how", ["silent", "waits"])
def test_ctrl_c_ends_a_run_that_waits_for_a_server(
    how: str, concurrency: int, tmp_path: Path
) -> None:
    """At once, whatever the server does, and not once it answers."""
    toy, released, patience = toy_checkpoint(tmp_path / "rm"), threading.Event(), list[bool]()

    def hold(_: Send) -> None:
        ctrl_c()
        patience.append(released.wait(30))

    def fault(number: int) -> Fault | None:
        if number < 8:  # the server is looked at first, and the first shards are scored
            return None
        if how == "silent":
            return hold
        ctrl_c()
        return "later 30"

    served = Served(fault=fault)
    with Running(served) as server:
        spec = spec_of(server.url, toy, concurrency=concurrency, batch=16)
        model = opened(spec, Opening(tmp_path))
        with pytest.raises(KeyboardInterrupt):
            sweep(model, "best", cache=tmp_path)
        asked = served.requests
        released.set()
        served.fault = lambda _: None
        assert sweep(model, "best", cache=tmp_path).frame["score"].notna().all()

    assert all(patience)
    assert asked <= 8 + 2 * concurrency


def test_ctrl_c_ends_a_score_that_waits_for_a_server() -> None:
    """Also one that no store asks for, of a server of texts."""
    released, patience = threading.Event(), list[bool]()

    def hold(_: Send) -> None:
        ctrl_c()
        patience.append(released.wait(30))

    served = Served(fault=lambda _: hold)
    with Running(served) as server:
        source = f"openrlhf+{server.url}/get_reward"
        model = opened(ModelSpec("house", source, version="1"))
        with pytest.raises(KeyboardInterrupt):
            model.score("Why?", ["so", "thus"])
        assert patience == []  # the server has not answered yet
        released.set()


# Keys

KEY = 'sk-/a+b&"<=?~7>'
FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": json.dumps,
    "json in json": lambda key: json.dumps(json.dumps(key)),
    "slashes": lambda key: json.dumps(key).replace("/", "\\/"),
    "unicode": lambda key: "".join(f"\\u{ord(each):04X}" for each in key),
    "python": lambda key: "".join(f"\\x{ord(each):02x}" for each in key),
    "address": lambda key: quote(key, safe=""),
    "query": lambda key: quote_plus(key).lower(),
    "address in address": lambda key: quote(quote(key, safe=""), safe=""),
    "html": html.escape,
    "html numbers": lambda key: "".join(f"&#{ord(each)};" for each in key),
}


@pytest.mark.parametrize("key", [KEY, "12345678"])
@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_masked_as_it_is_written(form: str, key: str) -> None:
    """With what stands around it left alone."""
    written = FORMS[form](key)

    assert masking(key)(f"no key {written}.").replace('"', "").replace("\\", "") == "no key ***."


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("user", ["", "a", "ab", "abc"])
def test_a_key_is_masked_in_base64(encode: Callable[[bytes], bytes], user: str) -> None:
    """As in basic authentication, after a name of any length; too little is left to read."""
    coded = encode(f"{user}:{KEY}:".encode()).decode()

    left = masking(KEY)(f"Basic {coded}").removeprefix("Basic ")
    assert "***" in left
    assert len(left) - 3 <= len(b64encode(f"{user}:".encode())) + 4


@pytest.mark.slow
def test_a_text_that_only_seems_to_begin_a_key_is_read_once() -> None:
    """A megabyte of what begins an escape: in time that grows with the text, not its square."""
    for part in ("\\", "%25", "&amp;", "&#0", "sk-"):
        text = part * (2**20 // len(part))
        assert masking(KEY)(text) == text


def test_only_texts_of_an_answer_are_masked() -> None:
    """A reward may have the digits of a key."""
    answer = {"12345678": [12345678.5, "a12345678", {"rewards": [None, True, "1234567"]}]}

    masked = masked_json(answer, masking("12345678"))

    assert masked == {"***": [12345678.5, "a***", {"rewards": [None, True, "1234567"]}]}
    assert masking("")("no key") == "no key"


@pytest.mark.parametrize(
    ("value", "said"),
    [("", "is not set"), ("EMPTY", "5 characters, too few"), ("geheim-ß-123", "plain ASCII")],
)
def test_what_is_no_key_is_refused(value: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable's name, which may be a key that stands in the wrong place."""
    monkeypatch.setenv("SK_7F3A9C", value)
    spec = ModelSpec("house", "vllm+http://host:1", api_key="SK_7F3A9C")

    with pytest.raises(ModelError, match=rf"^house: .* `api_key` .*{said}") as caught:
        key_of(spec)

    assert "SK_7F" not in str(caught.value)
    assert not value or value not in str(caught.value)


def test_a_key_that_a_redirect_repeats_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address stands in the error, and errors stand in logs and reports."""
    monkeypatch.setenv("RM_KEY", "s3cret-key")
    found = b"HTTP/1.1 302 Found\r\nLocation: /login?token=s3cret-key\r\nContent-Length: 0\r\n\r\n"

    with (
        Running(Served(fault=lambda _: lambda send: send(found))) as server,
        pytest.raises(ModelError) as caught,
    ):
        client(server.url, api_key="RM_KEY").get("/v1/models")

    assert "answered 302 and points to /login?token=***; give the address" in str(caught.value)
