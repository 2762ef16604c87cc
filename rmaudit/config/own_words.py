"""Words of one's own: prompts, lexicons, lists, rankings, and what takes the place of rmaudit's.

They stand in models.yaml, or in the file of `--rm-prompts`. One set is in use in a process: audits,
the null controls beside them and the stems of words must all be of one language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from rmaudit import language, prompts
from rmaudit.errors import SpecError
from rmaudit.language import ENGLISH
from rmaudit.prompts import Prompt, prompt_named

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
    "and": WORDS,
    "elo": RANKINGS,
}
# Ratings from least to greatest; what takes the place of a lexicon is put on its scale.
SCALES = {"labmt": (1.0, 9.0), "afinn": (-5.0, 5.0), "vader": (-4.0, 4.0), "bing": (-1.0, 1.0)}


@dataclass(frozen=True, slots=True)
class OwnLexicon:
    """A file of words and values, and the least and the greatest value that its scale has."""

    file: Path
    scale: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class OwnWords:
    """What a file says of words, and what a run asks.

    Attributes:
        source: the name of the file, for texts; "" where none says anything.
        language: a code of `rmaudit.language.STEMMERS`: of word frequencies and stems.
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
    def empty(self) -> bool:
        """Whether the file says nothing of words."""
        return replace(self, source="") == OwnWords()

    @property
    def others(self) -> bool:
        """Whether audits see other words than rmaudit's, so that no table of theirs compares."""
        return self.language != ENGLISH or bool(self.instead)

    @property
    def told(self) -> str:
        """What audits are asked and see in place of rmaudit's, in a line; "" where that is all."""
        parts = [
            f"prompts {', '.join(prompt.name for prompt in self.asked)}" if self.asked else "",
            f"language {self.language}" if self.language != ENGLISH else "",
            *(f"{own} for {role}" for role, own in self.instead.items()),
        ]
        said = "; ".join(part for part in parts if part)
        return f"{said} ({self.source})" if said and self.source else said

    @property
    def key(self) -> str:
        """Of what measures see of it, its files included: for what is remembered."""
        if not (self.others or self.lexicons or self.words or self.rankings):
            return ""
        total = hashlib.sha256(repr(replace(self, asked=(), prompts={})).encode())
        files = [*(each.file for each in self.lexicons.values()), *self.rankings.values()]
        for file in files:
            with suppress(OSError):  # whoever asks for it is told
                total.update(file.read_bytes())
        return total.hexdigest()


_in_use = [(OwnWords(), "")]


def in_use() -> OwnWords:
    """What is in use in this process; nothing of one's own unless somebody put it to use."""
    return _in_use[0][0]


def key_in_use() -> str:
    """Its key, as its files were when it was put to use; "" where measures see nothing of it."""
    return _in_use[0][1]


def put_to_use(words: OwnWords) -> None:
    """From now on, prompts of these names are known, and references are these."""
    _in_use[0] = (words, words.key)
    prompts.OWN.clear()
    prompts.OWN.update(words.prompts)
    language.speak(words.language)


@contextmanager
def using(words: OwnWords) -> Iterator[None]:
    """Put them to use for a while."""
    before = in_use()
    put_to_use(words)
    try:
        yield
    finally:
        put_to_use(before)


def joined(one: OwnWords, other: OwnWords) -> OwnWords:
    """Both, such as of models.yaml and of a run's own file; what `other` says goes before.

    Raises:
        SpecError: a name stands in both.
    """
    for key in ("prompts", LEXICONS, WORDS, RANKINGS):
        if both := sorted(getattr(one, key).keys() & getattr(other, key).keys()):
            message = f"{other.source}: {key}: {both[0]!r} stands in {one.source} too; give one of "
            raise SpecError(f"{message}them another name")
    return OwnWords(
        source=other.source,
        language=other.language if other.language != ENGLISH else one.language,
        prompts={**one.prompts, **other.prompts},
        lexicons={**one.lexicons, **other.lexicons},
        words={**one.words, **other.words},
        rankings={**one.rankings, **other.rankings},
        instead={**one.instead, **other.instead},
        asked=other.asked,
    )


def asking(given: str, known: OwnWords) -> OwnWords:
    """`known`, with what `--rm-prompts` gives: a YAML file, or names of prompts with commas.

    Raises:
        SpecError: the file cannot be read, is not right or has no prompts; or a name is unknown.
    """
    path = Path(given).expanduser()
    if path.suffix in {".yaml", ".yml", ".json"} or path.is_file():
        from rmaudit.config import own_yaml

        return joined(known, own_yaml.load(path))
    with using(known):
        asked = tuple(prompt_named(name.strip()) for name in given.split(","))
    return replace(known, asked=tuple(dict.fromkeys(asked)))
