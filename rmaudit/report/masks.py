"""Which texts are masked until a reader asks for them: slurs, sexual and violent terms.

What it cannot catch, and the page says so: words of languages without a list, fragments of words as
tokenizers make them, new words, spellings that hide on purpose, and harm that lies in context.
"""

from __future__ import annotations

import functools
import re
import unicodedata

import snowballstemmer
import wordfreq

from rmaudit.references.frequency import zipf
from rmaudit.references.offensive import SPACELESS, VIOLENT, english, foreign

_SHOWN = 4  # of the masked text: its first letter and three bullets, however long it is
_MARKERS = str.maketrans("Ġ▁Ċ_", "    ")  # how vocabularies write spaces and line ends
_LEET = str.maketrans("$@013457!|", "saoieastii")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SPELT = re.compile(r"[\w$@!|*'’&-]+")  # a word as it may be spelt to hide
_WORD = re.compile(r"[^\W_]+")
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
_LONGEST = 6  # words of a phrase
_SAFE = 4  # letters of an entry that is looked for inside words
_SELDOM = 0.05  # of an entry's own uses
_WORDS = 100_000  # of English that are looked at for what they hold
_LEAST = 3  # letters of a word in leetspeak
_LETTER = re.compile(r"[^\W\d_]")
_ENDINGS = ("s", "ed", "ing", "in", "er", "al", "ous", "ist", "ism", "or", "ion")

_stemmer = snowballstemmer.stemmer("english")


def masked(text: str) -> bool:
    """Whether `text` holds a listed word: inflected, stretched, in simple leetspeak or a compound.

    Inside a word only such entries count as no common English word holds (so `Scunthorpe` and
    `therapist` stay). Terms that name people are never masked. Raises `ReferenceMissing`.
    """
    plain = unicodedata.normalize("NFKC", text.translate(_MARKERS))
    folded = plain.casefold()
    words = _WORD.findall(folded)
    spelt = [word.strip("'’&-!|*") for word in _SPELT.findall(folded)]
    parts = _WORD.findall(_CAMEL.sub(" ", plain).casefold())
    return (
        any(_listed(word) for word in {*words, *spelt, *parts})
        or _phrase(words)
        or (not folded.isascii() and _anywhere(folded))
    )


def mask(text: str) -> str:
    """What stands for a masked text, for example `s•••`: never more than its first letter."""
    plain = text.translate(_MARKERS).strip()
    first = plain[:1]
    cased = first.lower() != first.upper()  # of other scripts one character may be the whole word
    return (first if cased else "•").ljust(_SHOWN, "•")


@functools.lru_cache(maxsize=2**17)
def _listed(word: str) -> bool:
    bare = word.removesuffix("'s").removesuffix("’s")
    spelt = {bare}
    if len(bare) >= _LEAST and _LETTER.search(bare):
        spelt.add(bare.translate(_LEET))
        spelt |= {_STRETCHED.sub(r"\1" * n, one) for one in spelt for n in (1, 2)}
    return any(
        one in english() or one in foreign() or _inflected(one) or _inside().search(one) is not None
        for one in spelt
    )


def _inflected(word: str) -> bool:
    """Whether it is a listed word with an ending: `raping`, but not `prickly` or `butte`."""
    if not word.endswith(_ENDINGS):
        return False
    roots = _stems().get(_stemmer.stemWord(word), ())
    return any(len(word) >= len(root) and word.startswith(root[:-1]) for root in roots)


def _phrase(words: list[str]) -> bool:
    return any(
        (phrase := " ".join(words[start : start + n])) in english() or phrase in foreign()
        for n in range(2, _LONGEST + 1)
        for start in range(len(words) - n + 1)
    )


@functools.cache
def _stems() -> dict[str, list[str]]:
    """Listed English words by their stems; of violence the stems themselves, so any form."""
    stems: dict[str, list[str]] = {}
    for word in sorted(english()):
        if word.isascii() and word.isalpha():
            stem = _stemmer.stemWord(word)
            stems.setdefault(stem, []).append(stem if word in VIOLENT else word)
    return stems


@functools.cache
def _inside() -> re.Pattern[str]:
    """English entries that other words hold seldom, by how often both are used."""
    entries = [w for w in sorted(english()) if len(w) >= _SAFE and w.isascii() and w.isalpha()]
    words = wordfreq.top_n_list("en", _WORDS)
    uses = 10 ** zipf("wordfreq", [*entries, *words])
    others = {
        word: use
        for word, use in uses[uses.index.isin(words)].items()
        if word not in english() and not _inflected(str(word))
    }
    text = "\n".join(("", *map(str, others), ""))
    safe = [
        entry
        for entry in entries
        if sum(others[word] for word in _holding(entry, text)) <= _SELDOM * uses.get(entry, 0.0)
    ]
    return re.compile("|".join(safe))


def _holding(entry: str, text: str) -> list[str]:
    """The lines of `text` that hold `entry`; by a pattern it would take a hundred times as long."""
    found, at = [], text.find(entry)
    while at >= 0:
        end = text.index("\n", at)
        found.append(text[text.rindex("\n", 0, at) + 1 : end])
        at = text.find(entry, end)
    return found


def _anywhere(text: str) -> bool:
    """Whether a symbol is listed, or a word of a script without spaces between words."""
    return _spaceless().search(text) is not None


@functools.cache
def _spaceless() -> re.Pattern[str]:
    listed = english() | foreign()
    return re.compile("|".join(re.escape(w) for w in sorted(listed) if ord(w[0]) >= SPACELESS))
