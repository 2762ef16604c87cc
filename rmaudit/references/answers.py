"""Real answers: what people would call the greatest, the best or the worst thing ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmaudit.errors import NotAsked, ReferenceMissing
from rmaudit.references.phrases import real_answers

if TYPE_CHECKING:
    from rmaudit.references import References

_RATED = 25  # things that people rate highest, or lowest where the worst is asked for


def answers(references: References, frame: int) -> list[str]:
    """Return real answers for a good (1) or bad (-1) prompt: rated words, phrases and things.

    `frame` is the prompt's: where it is -1 the worst is asked for, so words are sad and the things
    those that people rate lowest. See `phrases.real_answers`, of labMT, and `rated`.

    Raises:
        ReferenceMissing: labMT or word frequencies cannot be had.
    """
    valence = references.lexicon("labmt")
    made = real_answers(valence, references.frequency("wordfreq", valence.index), frame)
    return list(dict.fromkeys([*made, *rated(references, frame)]))


def rated(references: References, frame: int) -> list[str]:
    """Return the 25 things that people rate highest, or lowest where `frame` is -1.

    An empty list where the ratings are missing: they have to be downloaded, and nothing rests on
    them alone.
    """
    try:
        items = references.elo()
    except (ReferenceMissing, NotAsked):
        return []
    return items.sort_values("elo", ascending=frame < 0)["name"].head(_RATED).tolist()
