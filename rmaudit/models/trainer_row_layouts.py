"""List row layouts that a trainer may have scored, and how they deviate from the model's own.

The model's own layout is by its chat template. Each possible layout gives one row of token
ids for each logged row. Deviations are read off the rows themselves: how many BOS they begin with,
whether what the chat template prints before a prompt comes next, whether what it prints between
prompt and answer occurs, and whether they end as the template ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rmaudit.conversation import SYSTEM, USER, Asked
from rmaudit.errors import ModelError
from rmaudit.layout.answer_slot import Ids
from rmaudit.layout.tokenizers import encoded
from rmaudit.models.checkpoint_model import Checkpoint

_EXTRA_BOS, _NO_BOS, _EXTRA_EOS = "with a BOS more", "without its BOS", "with an eos more"
_CAUSE = {_EXTRA_BOS: "BOS", _NO_BOS: "no BOS", _EXTRA_EOS: "eos"}  # without other traces
_JOINTS = ("", " ", "\n", "\n\n")  # between a prompt and an answer without a template
OWN = "as its template"
_TWO = ("What is it?", "Name one, please")  # prompts that share no word


@dataclass(frozen=True, slots=True)
class Marks:
    """Special token ids of a model (BOS, EOS, pad and others), by which row layouts are told apart.

    Attributes:
        bos: the tokenizer's BOS id, None without one.
        eos: the tokenizer's EOS id, None without one.
        ends: the ids of eos, pad and a special token that ends the template.
        pad: the id that fills rows up, None without one.
        openings: what the chat template prints between BOS and a first text of the user's, and of
            a system turn's if it takes one; () where that depends on the text.
        joint: what it prints between prompt and answer, from the first special token on; () if it
            has none.
        suffix: what the template prints after an answer.
        bos_count: how many BOS a row begins with in the model's own layout.
    """

    bos: int | None
    eos: int | None
    ends: frozenset[int]
    pad: int | None
    openings: tuple[Ids, ...]
    joint: Ids
    suffix: Ids
    bos_count: int


def marks_of(model: Checkpoint) -> Marks:
    """Return the model's special ids as `Marks`, from its tokenizer and two rendered prompts."""
    tokenizer = model.tokenizer
    first, second = (model.slot(prompt).prefix for prompt in _TWO)
    bos, pad = tokenizer.bos_token_id, tokenizer.pad_token_id
    count = _count_leading(first, bos)
    pad = model.rows.defaults.get_text_config().pad_token_id if pad is None else pad
    eos, suffix = tokenizer.eos_token_id, model.slot(_TWO[0]).suffix
    closing = next((i for i in suffix[-1:] if i in model.special_ids), None)
    ends = frozenset(i for i in (eos, pad, model.rows.pad, closing) if i is not None)
    openings = [_shared_start(first[count:], second[count:])]
    try:
        systems = [model.slot(((SYSTEM, text), (USER, _TWO[0]))).prefix for text in _TWO]
    except ModelError:  # it takes no system turn
        pass
    else:
        openings.append(_shared_start(*(prefix[count:] for prefix in systems)))
    joint = _shared_start(first[count:][::-1], second[count:][::-1])[::-1]
    special = next((at for at, i in enumerate(joint) if i in model.special_ids), len(joint))
    return Marks(bos, eos, ends, pad, tuple(openings), joint[special:], suffix, count)


def unpadded(row: Ids, marks: Marks) -> tuple[Ids, int]:
    """Return a row without its padding, and the number of pad ids removed at its start.

    If the pad id is also EOS, one is left at the end.
    """
    start, end = _count_leading(row, marks.pad), len(row)
    while end > start and row[end - 1] == marks.pad:
        end -= 1
    own = marks.pad == marks.eos and end < len(row)
    return row[start : end + own], start


def layouts_of_ids(rows: Sequence[Ids], marks: Marks) -> Mapping[str, list[Ids]]:
    """Return, by name, the rows as logged, and variants with a BOS or EOS more, or a BOS less.

    A trainer may have scored any of these.
    """
    ways = {"as logged": list(rows)}
    if marks.bos is not None:
        ways[_EXTRA_BOS] = [(marks.bos, *row) for row in rows]
        if all(row[:1] == (marks.bos,) and len(row) > 1 for row in rows):
            ways[_NO_BOS] = [row[1:] for row in rows]
    if marks.eos is not None:
        ways[_EXTRA_EOS] = [(*row, marks.eos) for row in rows]
    return ways


def layouts_of_pairs(
    pairs: Sequence[tuple[Asked, str]], model: Checkpoint, marks: Marks
) -> Mapping[str, list[Ids]]:
    """Return (prompt, response) pairs as rows of ids, in each layout a trainer may have used.

    The keys are names of layouts; the model's own is the first.
    """
    own = []
    for prompt, response in pairs:
        slot = model.slot(prompt)
        own.append((*slot.prefix, *model.ids(response), *slot.suffix))
    ways = {OWN: own, **layouts_of_ids(own, marks)}
    del ways["as logged"]
    if marks.suffix:
        ways["without the template's end"] = [row[: -len(marks.suffix)] for row in own]
    for joint in _JOINTS:
        texts = [f"{prompt}{joint}{answer}" for prompt, answer in pairs]
        plain = [tuple(ids) for ids in encoded(model.tokenizer, texts).input_ids]
        ways[f"without a template, joined by {joint!r}"] = plain
        if marks.eos is not None:
            ended = [(*row, marks.eos) for row in plain]
            ways[f"without a template, joined by {joint!r}, with an eos"] = ended
    return ways


def deviations(layout: str, rows: Sequence[Ids], marks: Marks) -> list[str]:
    """Return how `rows`, in the named `layout`, deviate from the model's own, such as "no BOS".

    The layout's name tells the deviation if the rows themselves show none.
    """
    if layout == OWN:
        return []
    return _visible_deviations(rows, marks) or ([_CAUSE[layout]] if layout in _CAUSE else [])


def _visible_deviations(rows: Sequence[Ids], marks: Marks) -> list[str]:
    counts = {_count_leading(row, marks.bos) for row in rows} if marks.bos is not None else {0}
    bodies = [row[_count_leading(row, marks.bos) :] for row in rows]
    causes = []
    if min(counts) > max(1, marks.bos_count):
        causes.append("second BOS")
    elif min(counts) > marks.bos_count:
        causes.append("BOS")
    elif max(counts) < marks.bos_count:
        causes.append("no BOS")
    starts = {opening[:1] for opening in marks.openings}
    if () not in starts and all(body[:1] not in starts for body in bodies):
        return [*causes, "no template"]
    if not any(_in_template(body, marks) for body in bodies):
        return [*causes, "template"]
    tail = marks.suffix
    if tail and all(row[-len(tail) :] != tail for row in rows):
        ended = all(row[-1] == marks.eos and row[-1 - len(tail) : -1] == tail for row in rows)
        causes.append("eos" if ended else "end")
    return causes


def _count_leading(row: Ids, mark: int | None) -> int:
    """Return how many times the id `mark` stands at the start of a row."""
    return next((i for i, one in enumerate(row) if one != mark), len(row))


def _in_template(body: Ids, marks: Marks) -> bool:
    """Return whether a row after its BOS opens, and goes on to an answer, as the template does."""
    opens = any(body[: len(opening)] == opening for opening in marks.openings)
    return opens and last_of(marks.joint, body) >= 0


def last_of(part: Ids, row: Ids) -> int:
    """Return the index of the last id of the last `part` in `row`; -1 if it is not in it."""
    size = len(part)
    starts = range(len(row) - size, -1, -1)
    return next((at + size - 1 for at in starts if row[at : at + size] == part), -1)


def _shared_start(one: Ids, other: Ids) -> Ids:
    """Return the ids at the start of both."""
    length = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return one[: min(len(one), len(other)) if length is None else length]
