"""An API key is masked however a server repeats it, and a key that cannot be masked is refused."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.sources.http_client import key_of, masked_json, masking

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
