"""Pack every token's score into text (compressed, base64, with checksums), and unpack it.

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
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import ResultsError
from rmaudit.report.results_document import (
    Packed,
    PackedTexts,
    PackedVocabulary,
    SweepSummary,
)

_TYPES = {"int32": "<i4", "uint32": "<u4", "float32": "<f4", "uint8": "<u1"}
REDO = "copy the file anew, or run the audits again"
_LARGEST = 2**31  # bytes of an array


def add_vocabulary(frame: pd.DataFrame, vocabularies: dict[str, PackedVocabulary]) -> str:
    """Add a frame's packed vocabulary to `vocabularies` unless it is there; return its digest."""
    own = not frame["token"].equals(frame["text"])
    arrays = [frame["token_id"].to_numpy(np.int32)]
    arrays += [array for name in ("token", "text")[not own :] for array in _joined(frame[name])]
    digest = _digest([hashlib.sha256(array.tobytes()).hexdigest() for array in arrays])
    if digest not in vocabularies:
        ids, *rest = map(pack, arrays)
        *pieces, texts = (PackedTexts(*rest[i : i + 2]) for i in range(0, len(rest), 2))
        vocabularies[digest] = PackedVocabulary(ids, texts, pieces[0] if own else None)
    return digest


def frame(vocabularies: Mapping[str, PackedVocabulary], sweep: SweepSummary) -> pd.DataFrame:
    """Unpack a sweep to a DataFrame with the columns token_id, token, text and score.

    Raises:
        ResultsError: the sweep has no scores per token, or they or its vocabulary are damaged.
    """
    if sweep.vocabulary is None:
        message = f"{where(sweep)} has no score per token, only its summary"
        raise ResultsError(f"{message}; audit its prompt under its own name to get them")
    found = rows(vocabularies, sweep.vocabulary)
    return found.assign(score=scores_of(sweep, len(found)))


def scores_of(sweep: SweepSummary, n: int) -> NDArray[np.float32]:
    """Return the score of each of the `n` rows of a vocabulary, shape (n,), NaN if unscored.

    Raises:
        ResultsError: there are none, or they are damaged.
    """
    if sweep.scores is None:
        raise ResultsError(f"{where(sweep)} has no scores, allowed: one each; {REDO}")
    scores = unpack(sweep.scores, f"scores of {where(sweep)}")
    if len(scores) != n or scores.dtype != np.float32:
        found = f"{len(scores)} scores ({scores.dtype}) of {n} tokens"
        raise ResultsError(f"{where(sweep)} has {found}, allowed: one each, float32; {REDO}")
    return scores


def rows(vocabularies: Mapping[str, PackedVocabulary], digest: str) -> pd.DataFrame:
    """Unpack a vocabulary to a DataFrame with the columns token_id, token and text.

    Raises:
        ResultsError: it is not there, or damaged.
    """
    packed = vocabularies.get(digest)
    if packed is None or _digest_of(packed) != digest:
        what = "is not there" if packed is None else "is not what its digest says"
        raise ResultsError(f"vocabulary {digest[:12]} {what}; {REDO}")
    named = f"of vocabulary {digest[:12]}"
    columns: dict[str, Any] = {"token_id": unpack(packed.ids, f"ids {named}")}
    columns["token"] = columns["text"] = _unpack_texts(packed.texts, f"texts {named}")
    if packed.pieces is not None:
        columns["token"] = _unpack_texts(packed.pieces, f"pieces {named}")
    if len({len(column) for column in columns.values()}) > 1:
        counts = ", ".join(f"{len(column)} {name}" for name, column in columns.items())
        raise ResultsError(f"vocabulary {digest[:12]} has {counts}, allowed: one each; {REDO}")
    return pd.DataFrame(columns)


def spelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Escape lone surrogates (half characters) in a frame's texts: pandas cannot compare them."""
    if frame["text"].dtype != object:
        return frame
    texts = [text.encode("utf-8", "backslashreplace").decode() for text in frame["text"]]
    return frame.assign(text=pd.Series(texts, index=frame.index, dtype="str"))


def where(sweep: SweepSummary) -> str:
    """Name a sweep for an error message, such as `sweep 0123456789ab ('best')`."""
    return f"sweep {sweep.key[:12]} ({sweep.prompt!r})"


def pack(values: NDArray[Any]) -> Packed:
    """Pack an array, shape (n,), of type int32, uint32, float32 or uint8."""
    kind: Any = values.dtype.name  # one of the four
    raw = np.ascontiguousarray(values, dtype=_TYPES[kind])
    return Packed(
        kind, len(raw), "planes+zlib+base64", hashlib.sha256(raw.tobytes()).hexdigest(), press(raw)
    )


def press(values: NDArray[Any]) -> str:
    """Encode an array (n,) of little-endian numbers as text (grouped bytes, zlib, base64)."""
    planes = values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes()
    return base64.b64encode(zlib.compress(planes, 9)).decode("ascii")


def unpack(packed: Packed, what: str) -> NDArray[Any]:
    """Return the array that was packed; `what` names it in errors.

    Raises:
        ResultsError: it is cut short, or edited.
    """
    dtype = np.dtype(_TYPES[packed.type])
    size = packed.n * dtype.itemsize
    if size > _LARGEST:
        raise ResultsError(f"{what} are {packed.n} numbers, allowed: {_LARGEST} bytes; {REDO}")
    try:
        pressed = base64.b64decode(packed.data, validate=True)
        planes = zlib.decompressobj().decompress(pressed, size + 1)
    except (ValueError, zlib.error) as error:
        raise ResultsError(f"{what} are damaged ({error}); {REDO}") from error
    if len(planes) != size:
        found = f"more than {size}" if len(planes) > size else str(len(planes))
        raise ResultsError(f"{what} are {found} bytes, not {size}; {REDO}")
    raw = np.frombuffer(planes, np.uint8).reshape(dtype.itemsize, packed.n).T.tobytes()
    if hashlib.sha256(raw).hexdigest() != packed.sha256:
        raise ResultsError(f"{what} do not have the sha256 beside them; {REDO}")
    return np.frombuffer(raw, dtype).astype(packed.type)


def _joined(texts: pd.Series[str]) -> list[NDArray[Any]]:
    """Encode texts as two arrays: the length of each in bytes, and the joined bytes of all."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts.tolist()]
    lengths = np.array([len(text) for text in encoded], dtype=np.uint32)
    return [lengths, np.frombuffer(b"".join(encoded), dtype=np.uint8)]


def _unpack_texts(packed: PackedTexts, what: str) -> pd.Series[str]:
    ends = np.cumsum(unpack(packed.lengths, f"lengths of {what}"), dtype=np.int64)
    joined = unpack(packed.utf8, what).tobytes()
    if (ends[-1] if len(ends) else 0) != len(joined):
        raise ResultsError(f"{what} do not have the lengths beside them; {REDO}")
    starts = [0, *ends[:-1].tolist()]
    texts = [
        joined[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends.tolist(), strict=False)
    ]
    try:
        return pd.Series(texts, dtype="str")
    except UnicodeEncodeError:  # pandas' own type of texts has no lone surrogates
        return pd.Series(texts, dtype=object)


def _digest_of(rows: PackedVocabulary) -> str:
    """Return the digest of a packed vocabulary, from the checksums stored with its arrays."""
    texts = [part for part in (rows.pieces, rows.texts) if part is not None]
    arrays = [rows.ids, *(array for part in texts for array in (part.lengths, part.utf8))]
    return _digest([array.sha256 for array in arrays])


def _digest(hashes: Sequence[str]) -> str:
    return hashlib.sha256(":".join(hashes).encode()).hexdigest()
