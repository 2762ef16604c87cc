"""The API key of a reward server: read from the environment, and masked wherever a server shows it.

Answers and errors of a server stand in reports and logs, and a server may repeat what it was sent:
as it is, escaped for JSON, HTML or an address, or in base64, as in basic authentication.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from rmaudit.config.model_spec import ModelSpec
from rmaudit.errors import ModelError

SHORTEST = 8  # characters of a key: a shorter one stands in any text, and cannot be masked
_MASK = "***"


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
