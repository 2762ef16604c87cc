"""Every token's score in arrays as text, exact and checked.

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

from rmaudit.errors import ResultsError

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
        ResultsError: the sweep has no scores per token, or they or its vocabulary are damaged.
    """
    found = rows(results, _vocabulary(sweep))
    return found.assign(score=scores_of(sweep, len(found)))


def scores_of(sweep: Mapping[str, Any], n: int) -> NDArray[np.float32]:
    """The score of each of the `n` rows of the sweep's vocabulary, shape (n,), NaN if unscored.

    Raises:
        ResultsError: they are damaged.
    """
    scores = unpack(sweep["scores"], f"scores of {_where(sweep)}")
    if len(scores) != n:
        message = f"{_where(sweep)} has {len(scores)} scores of {n} tokens, allowed: one each"
        raise ResultsError(f"{message}; {_REDO}")
    return scores


def rows(results: Mapping[str, Any], digest: str) -> pd.DataFrame:
    """The rows of a vocabulary: token_id, token and text.

    Raises:
        ResultsError: it is not there, or damaged.
    """
    packed = results["vocabularies"].get(digest)
    if packed is None or _stated(packed) != digest:
        what = "is not there" if packed is None else "is not what its digest says"
        raise ResultsError(f"vocabulary {digest[:12]} {what}; {_REDO}")
    named = f"of vocabulary {digest[:12]}"
    columns: dict[str, Any] = {"token_id": unpack(packed["ids"], f"ids {named}")}
    columns["token"] = columns["text"] = _unpack_texts(packed["texts"], f"texts {named}")
    if "pieces" in packed:
        columns["token"] = _unpack_texts(packed["pieces"], f"pieces {named}")
    if len({len(column) for column in columns.values()}) > 1:
        counts = ", ".join(f"{len(column)} {name}" for name, column in columns.items())
        raise ResultsError(f"vocabulary {digest[:12]} has {counts}, allowed: one each; {_REDO}")
    return pd.DataFrame(columns)


def check(results: Mapping[str, Any]) -> None:
    """Whether each summary (n, mean, sd, the listed tokens) is that of the scores beside it.

    Raises:
        ResultsError: one is not, or scores are damaged.
    """
    known: dict[str, pd.DataFrame] = {}
    for model in results["models"]:
        for sweep in model["sweeps"]:
            if "scores" in sweep:
                digest = sweep["vocabulary"]
                if digest not in known:
                    known[digest] = rows(results, digest)
                _agree(sweep, known[digest], model["name"])


def _agree(sweep: Mapping[str, Any], rows: pd.DataFrame, model: str) -> None:
    scores, ids = scores_of(sweep, len(rows)), rows["token_id"].to_numpy()
    scored = ~np.isnan(scores)
    values = scores[scored].astype(float)
    found = {"n": len(values), "mean": float(values.mean()), "sd": float(values.std())}
    far = _CLOSE * float(np.abs(values).max())
    wrong = [n for n, v in found.items() if not math.isclose(sweep[n], v, abs_tol=far)]
    by_id = dict(zip(ids[scored].tolist(), values.tolist(), strict=True))
    wrong += [
        end
        for end in ("top", "bottom")
        if any(by_id.get(token["token_id"]) != token["score"] for token in sweep[end])
    ]
    if wrong:
        raise ResultsError(
            f"{model}, {_where(sweep)}: {', '.join(wrong)} and the scores do not agree; {_REDO}"
        )


def _vocabulary(sweep: Mapping[str, Any]) -> str:
    if "scores" in sweep:
        return str(sweep["vocabulary"])
    message = f"{_where(sweep)} has no score per token, only its summary"
    raise ResultsError(f"{message}; audit its prompt under its own name to get them")


def _where(sweep: Mapping[str, Any]) -> str:
    return f"sweep {sweep['key'][:12]} ({sweep['prompt']!r})"


def pack(values: NDArray[Any]) -> dict[str, Any]:
    """An array, shape (n,), of one of the types int32, uint32, float32 and uint8."""
    kind = values.dtype.name
    raw = np.ascontiguousarray(values, dtype=_TYPES[kind])
    return {
        "type": kind,
        "n": len(raw),
        "encoding": ENCODING,
        "sha256": hashlib.sha256(raw.tobytes()).hexdigest(),
        "data": press(raw),
    }


def press(values: NDArray[Any]) -> str:
    """Numbers of any type, shape (n,), little-endian, as text in the encoding `ENCODING`."""
    planes = values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes()
    return base64.b64encode(zlib.compress(planes, 9)).decode("ascii")


def unpack(packed: Mapping[str, Any], what: str) -> NDArray[Any]:
    """The array that was packed; `what` names it in errors.

    Raises:
        ResultsError: it is of another type or encoding, cut short, or edited.
    """
    if packed["encoding"] != ENCODING or packed["type"] not in _TYPES:
        message = f"{what} are {packed['type']!r} in {packed['encoding']!r}"
        allowed = f"{', '.join(_TYPES)} in {ENCODING!r}"
        raise ResultsError(f"{message}; allowed: {allowed}; read them with the rmaudit of that run")
    dtype = np.dtype(_TYPES[packed["type"]])
    size = packed["n"] * dtype.itemsize
    try:
        pressed = base64.b64decode(packed["data"], validate=True)
        planes = zlib.decompressobj().decompress(pressed, size + 1)
    except (ValueError, zlib.error) as error:
        raise ResultsError(f"{what} are damaged ({error}); {_REDO}") from error
    if len(planes) != size:
        found = f"more than {size}" if len(planes) > size else str(len(planes))
        raise ResultsError(f"{what} are {found} bytes, not {size}; {_REDO}")
    raw = np.frombuffer(planes, np.uint8).reshape(dtype.itemsize, packed["n"]).T.tobytes()
    if hashlib.sha256(raw).hexdigest() != packed["sha256"]:
        raise ResultsError(f"{what} do not have the sha256 beside them; {_REDO}")
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
        raise ResultsError(f"{what} do not have the lengths beside them; {_REDO}")
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
