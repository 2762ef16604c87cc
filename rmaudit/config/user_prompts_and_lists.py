"""Hold a user's prompts, lexicons, word lists and rankings, which may replace rmaudit's.

They stand in models.yaml, or in the file of `--rm-prompts`. A run has one set, and hands it to all
that reads words: references, null controls, samples of a vocabulary and stems.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rmaudit.errors import SpecError
from rmaudit.prompts import Prompt
from rmaudit.word_stems import ENGLISH

LEXICONS, WORDS, RANKINGS = "lexicons", "words", "rankings"
# What audits ask for by name, and which key has what may take its place.
ROLES = {
    "labmt": LEXICONS,
    "afinn": LEXICONS,
    "vader": LEXICONS,
    "bing": LEXICONS,
    "wordfreq": LEXICONS,
    "leech": LEXICONS,
    "common": WORDS,
    "non-answers": WORDS,
    "elo": RANKINGS,
}
# Ratings from least to greatest; what takes the place of a lexicon is put on its scale.
SCALES = {"labmt": (1.0, 9.0), "afinn": (-5.0, 5.0), "vader": (-4.0, 4.0), "bing": (-1.0, 1.0)}


@dataclass(frozen=True, slots=True)
class OwnLexicon:
    """A user's lexicon: a file of words and values, and the (least, greatest) value allowed."""

    file: Path
    scale: tuple[float, float] | None = None


@dataclass(frozen=True)
class OwnWords:
    """A user's own prompts, lexicons, word lists, rankings and language, in place of rmaudit's.

    Attributes:
        source: the name of the file, for texts; "" where none says anything.
        language: a code of `rmaudit.word_stems.STEMMERS`: of word frequencies and stems.
        instead: by role (`ROLES`), the name of what takes its place.
        asked: the prompts that a run asks all audits in place of their own.
    """

    source: str = ""
    language: str = ENGLISH
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    lexicons: Mapping[str, OwnLexicon] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rankings: Mapping[str, Path] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[Prompt, ...] = ()

    @property
    def others(self) -> bool:
        """Return whether audits use another language or other word lists than rmaudit's.

        Their results do not compare with any published table.
        """
        return self.language != ENGLISH or bool(self.instead)

    @property
    def told(self) -> str:
        """Return a line on what prompts, language and lists replace rmaudit's own; "" if none."""
        parts = [
            f"prompts {', '.join(prompt.name for prompt in self.asked)}" if self.asked else "",
            f"language {self.language}" if self.language != ENGLISH else "",
            *(f"{own} for {role}" for role, own in self.instead.items()),
        ]
        said = "; ".join(part for part in parts if part)
        return f"{said} ({self.source})" if said and self.source else said

    @cached_property
    def key(self) -> str:
        """Return a hash of the user's lists, language and files, for cache keys; "" without any.

        The user's prompts are no part of it.
        """
        if not (self.others or self.lexicons or self.words or self.rankings):
            return ""
        total = hashlib.sha256(repr(replace(self, asked=(), prompts={})).encode())
        files = [*(each.file for each in self.lexicons.values()), *self.rankings.values()]
        for file in files:
            with suppress(OSError):  # whoever asks for it is told
                total.update(file.read_bytes())
        return total.hexdigest()

    def __hash__(self) -> int:
        """Hash what changes measured values (not the prompts), so that functions can be cached."""
        return hash(self.key)


def joined(one: OwnWords, other: OwnWords) -> OwnWords:
    """Merge two sets of own words (models.yaml's and a run's); a name in both is an error.

    Where both give a language or replace the same list, `other` takes precedence.

    Raises:
        SpecError: a name stands in both.
    """
    for key in ("prompts", LEXICONS, WORDS, RANKINGS):
        if both := sorted(getattr(one, key).keys() & getattr(other, key).keys()):
            message = f"{other.source}: {key}: {both[0]!r} stands in {one.source} too; give one of "
            raise SpecError(f"{message}them another name")
    language = other.language if other.language != ENGLISH else one.language
    both_of = ("prompts", LEXICONS, WORDS, RANKINGS, "instead")
    merged: dict[str, Any] = {key: {**getattr(one, key), **getattr(other, key)} for key in both_of}
    return replace(other, language=language, **merged)
