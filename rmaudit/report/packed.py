"""Every token's score in results.json: arrays as text, exact and checked.

An array is `{"type", "n", "encoding", "sha256", "data"}`: its little-endian bytes in planes (the
first bytes of all numbers, then all second bytes, and so on: scores compress better so), zlib,
base64; `sha256` is that of the bytes before all this. Texts are `{"lengths", "utf8"}`, two arrays:
the bytes of each text and all texts in one, lone surrogates as Python's `surrogatepass` has them.
A vocabulary is `{"ids", "pieces", "texts"}` under its digest, without `pieces` where these are its
texts; sweeps of the same rows share it, also those of several models.
"""

from __future__ import annotations

import base64
import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import SpecError

ENCODING = "planes+zlib+base64"
_TYPES = {"int32": "<i4", "uint32": "<u4", "float32": "<f4", "uint8": "<u1"}
_REDO = "copy the file anew, or run the audits again"
_CLOSE = 1e-9  # relative: the same sums, added up in another order


def share(frame: pd.DataFrame, vocabularies: dict[str, dict[str, Any]]) -> str:
    """The digest of a frame's `token_id`, `token` and `text`, packed under it unless they are."""
    arrays: dict[str, NDArray[Any]] = {"ids": frame["token_id"].to_numpy(np.int32)}
    if not frame["token"].equals(frame["text"]):
        arrays |= _joined("pieces", frame["token"])
    arrays |= _joined("texts", frame["text"])
    digest = _digest([hashlib.sha256(array.tobytes()).hexdigest() for array in arrays.values()])
    if digest not in vocabularies:
        rows = {name: pack(array) for name, array in arrays.items()}
        vocabularies[digest] = {"ids": rows.pop("ids")}
        for name, array in rows.items():
            of, part = name.split(".")
            vocabularies[digest].setdefault(of, {})[part] = array
    return digest


def scores(frame: pd.DataFrame) -> dict[str, Any]:
    """The packed scores of a frame, float32; NaN where a token is unscored."""
    return pack(frame["score"].to_numpy(np.float32))


def frame(results: Mapping[str, Any], sweep: Mapping[str, Any]) -> pd.DataFrame:
    """One row per token of a sweep of `results`: token_id, token, text and score, as it was swept.

    Raises:
        SpecError: the sweep has no scores per token, or they or its vocabulary are damaged.
    """
    where = f"sweep {sweep['key'][:12]} ({sweep['prompt']!r})"
    if "scores" not in sweep:
        message = f"results.json: {where} has no score per token, only its summary"
        raise SpecError(f"{message}; audit its prompt under its own name to get them")
    digest = sweep["vocabulary"]
    rows = results["vocabularies"].get(digest)
    if rows is None or _stated(rows) != digest:
        what = "is not there" if rows is None else "is not what its digest says"
        raise SpecError(f"results.json: vocabulary {digest[:12]} of {where} {what}; {_REDO}")
    named = f"of vocabulary {digest[:12]}"
    columns: dict[str, Any] = {"token_id": unpack(rows["ids"], f"ids {named}")}
    columns["token"] = columns["text"] = _unpack_texts(rows["texts"], f"texts {named}")
    if "pieces" in rows:
        columns["token"] = _unpack_texts(rows["pieces"], f"pieces {named}")
    columns["score"] = unpack(sweep["scores"], f"scores of {where}")
    if len({len(column) for column in columns.values()}) > 1:
        counts = ", ".join(f"{len(column)} {name}" for name, column in columns.items())
        raise SpecError(f"results.json: {where} has {counts}: not one of each a row; {_REDO}")
    return pd.DataFrame(columns)


def check(results: Mapping[str, Any]) -> None:
    """Whether each summary (n, mean, sd, the listed tokens) is that of the scores beside it.

    Raises:
        SpecError: one is not, or scores are damaged.
    """
    for model in results["models"]:
        for sweep in model["sweeps"]:
            if "scores" in sweep:
                _agree(sweep, frame(results, sweep), model["name"])


def _agree(sweep: Mapping[str, Any], rows: pd.DataFrame, model: str) -> None:
    scored = rows[rows["score"].notna()]
    values = scored["score"].to_numpy(float)
    found = {"n": len(values), "mean": float(values.mean()), "sd": float(values.std())}
    far = _CLOSE * float(np.abs(values).max())
    wrong = [n for n, v in found.items() if not math.isclose(sweep[n], v, abs_tol=far)]
    by_id = dict(zip(scored["token_id"].tolist(), values.tolist(), strict=True))
    wrong += [
        end
        for end in ("top", "bottom")
        if any(by_id.get(token["token_id"]) != token["score"] for token in sweep[end])
    ]
    if wrong:
        message = f"results.json: {model}, sweep {sweep['key'][:12]} ({sweep['prompt']!r})"
        raise SpecError(f"{message}: {', '.join(wrong)} and the scores do not agree; {_REDO}")


def pack(values: NDArray[Any]) -> dict[str, Any]:
    """An array, shape (n,), of one of the types int32, uint32, float32 and uint8."""
    kind = values.dtype.name
    raw = np.ascontiguousarray(values, dtype=_TYPES[kind])
    planes = raw.view(np.uint8).reshape(len(raw), raw.itemsize).T.tobytes()
    return {
        "type": kind,
        "n": len(raw),
        "encoding": ENCODING,
        "sha256": hashlib.sha256(raw.tobytes()).hexdigest(),
        "data": base64.b64encode(zlib.compress(planes, 9)).decode("ascii"),
    }


def unpack(packed: Mapping[str, Any], what: str) -> NDArray[Any]:
    """The array that was packed; `what` names it in errors.

    Raises:
        SpecError: it is of another type or encoding, cut short, or edited.
    """
    if packed["encoding"] != ENCODING or packed["type"] not in _TYPES:
        message = f"results.json: {what} are {packed['type']!r} in {packed['encoding']!r}"
        allowed = f"{', '.join(_TYPES)} in {ENCODING!r}"
        raise SpecError(f"{message}; allowed: {allowed}; read them with the rmaudit of that run")
    dtype = np.dtype(_TYPES[packed["type"]])
    size = packed["n"] * dtype.itemsize
    try:
        pressed = base64.b64decode(packed["data"], validate=True)
        planes = zlib.decompressobj().decompress(pressed, size + 1)
    except (ValueError, zlib.error) as error:
        raise SpecError(f"results.json: {what} are damaged ({error}); {_REDO}") from error
    if len(planes) != size:
        found = f"more than {size}" if len(planes) > size else str(len(planes))
        raise SpecError(f"results.json: {what} are {found} bytes, not {size}; {_REDO}")
    raw = np.frombuffer(planes, np.uint8).reshape(dtype.itemsize, packed["n"]).T.tobytes()
    if hashlib.sha256(raw).hexdigest() != packed["sha256"]:
        raise SpecError(f"results.json: {what} do not have the sha256 beside them; {_REDO}")
    return np.frombuffer(raw, dtype).astype(packed["type"])


def _joined(name: str, texts: pd.Series[str]) -> dict[str, NDArray[Any]]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return {
        f"{name}.lengths": np.array([len(text) for text in encoded], dtype=np.uint32),
        f"{name}.utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8),
    }


def _unpack_texts(packed: Mapping[str, Any], what: str) -> pd.Series[str]:
    ends = np.cumsum(unpack(packed["lengths"], f"lengths of {what}"), dtype=np.int64)
    joined = unpack(packed["utf8"], what).tobytes()
    if (ends[-1] if len(ends) else 0) != len(joined):
        raise SpecError(f"results.json: {what} do not have the lengths beside them; {_REDO}")
    starts = [0, *ends[:-1].tolist()]
    texts = [
        joined[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends.tolist(), strict=False)
    ]
    try:
        return pd.Series(texts, dtype="str")
    except UnicodeEncodeError:  # pandas' own type of texts has no lone surrogates
        return pd.Series(texts, dtype=object)


def _stated(rows: Mapping[str, Any]) -> str:
    """The digest of a packed vocabulary, by what its arrays say of themselves."""
    arrays = [rows["ids"]]
    for name in ("pieces", "texts"):
        if name in rows:
            arrays += [rows[name]["lengths"], rows[name]["utf8"]]
    return _digest([array["sha256"] for array in arrays])


def _digest(hashes: Sequence[str]) -> str:
    return hashlib.sha256(":".join(hashes).encode()).hexdigest()
