"""List words that reports mask: slurs, swear words and sexual terms, in 24 languages.

- `glin-profanity` (MIT) carries lists in 24 languages, most of them LDNOOBW's; its code is not
  imported.
- AFINN-111's words of -4 and -5, without a few that are plain English.
- Ours: slurs and plain words of sexual violence that the lists above miss, and beginnings of slurs
  that are tokens by themselves. Plain words of other violence, such as `kill`, are on no list:
  what a model hates must be readable.

No list is complete, and none knows context: `rmaudit.references.offensive_text_masks` says what
follows.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
from pathlib import Path

from rmaudit.errors import ReferenceMissing
from rmaudit.references.identity_terms import identity
from rmaudit.references.lexicons import offensive_by_afinn
from rmaudit.references.word_frequency import zipf

_PACKAGE = "glin-profanity"
_FOLDER = "glin_profanity/data/dictionaries"
SPACELESS = 0x0E00  # from here on scripts are written without spaces, or nearly so (Thai, CJK)
_FRAGMENT_LETTERS = 2  # letters: a token of any language
_COMMON_IN_ENGLISH = 2.0  # Zipf

_PLAIN_WORDS = {"catastrophic", "fraud", "frauds", "fraudster", "fraudsters", "fraudulence"}
_PLAIN_WORDS |= {"fraudulent", "hell", "shrew"}
VIOLENT = frozenset({"molest", "molester", "rape", "rapist"})
_SLURS_MISSED = frozenset(
    (
        *("chink", "chinks", "gook", "gooks", "jap", "japs", "squaw", "redskin", "redskins"),
        *("sandnigger", "pajeet", "dyke", "dykes", "fag", "fags", "homo", "homos", "mongoloid"),
        *("cripple", "cripples", "tard", "tards", "groomer", "groomers", "gangrape", "fagg", "nig"),
        *("nigg", "tranny", "trannies", "wetback", "wetbacks", "gypped"),
    )
)
_PLAIN_VIOLENCE = (  # plain words of violence, by their beginnings
    *("assassin", "behead", "bloodbath", "bloodshed", "decapitat", "disembowel", "dismember"),
    *("genocide", "holocaust", "homicide", "how to kill", "how to murder", "kill", "lynch"),
    *("massacre", "murder", "mutilat", "slaughter", "stab", "strangl", "suicide", "terroris"),
    "tortur",
)
SEXUAL = frozenset(
    {"buttock", "ejaculate", "erection", "fetish", "fetishism", "genitalia", "horny"}
)

# What other languages' lists have too, and should not.
_FRAGMENTS = {"amed", "ische"}  # of ordinary words: tokens that say nothing by themselves
_EVERYDAY_WORDS = frozenset(
    (
        *("aborto", "anam", "aranha", "asesinato", "ashita", "bira", "cerveja", "cocaína"),
        *("destek", "drogas", "hayvan", "hile", "huur", "hård", "infierno", "kanı", "mutta"),
        *("orina", "oyna", "pesce", "peygamber", "pistola", "pompa", "sayfa", "takip", "veled"),
        *("venire", "جنس", "حمام", "شعر", "مرات"),
        *("グロー", "フック", "幼児", "成人", "激情", "誘惑"),
    )
)
_NAMES_OF_PEOPLES = frozenset(
    (
        *("biseksuel", "escinsel", "eşcinsel", "homem gay", "lésbica", "müslüman", "transeksuel"),
        *("transeksüel", "yahudi", "ゲイの男性", "ユダヤ人", "レズビアン", "人種"),
    )
)


@functools.cache
def english() -> frozenset[str]:
    """Return English words and phrases to mask, lower case, without terms that name people.

    Raises:
        ReferenceMissing: the package or a lexicon cannot be had.
    """
    words = {*_words_listed_in("english"), *(offensive_by_afinn() - _PLAIN_WORDS)}
    words |= VIOLENT | SEXUAL | _SLURS_MISSED
    words = {word for word in words if len(word) > _FRAGMENT_LETTERS or not word.isascii()}
    plain = {word for word in words if word.startswith(_PLAIN_VIOLENCE)} - {"suicide girls"}
    return frozenset(words - plain) - _terms_for_people()


@functools.cache
def foreign() -> frozenset[str]:
    """Return words and phrases to mask in 23 other languages, without common English words.

    Raises:
        ReferenceMissing: the package cannot be had.
    """
    languages = {path.stem for path in _dictionaries().glob("*.json")}
    languages -= {"english", "globalWhitelist"}
    listed = {word for language in languages for word in _words_listed_in(language)}
    known = zipf("wordfreq", listed)
    ordinary = set(known.index[known >= _COMMON_IN_ENGLISH])  # `got`, `it`: on the Turkish list
    return (
        frozenset(filter(_is_whole_word, listed))
        - ordinary
        - _terms_for_people()
        - _FRAGMENTS
        - _EVERYDAY_WORDS
    )


def _is_whole_word(word: str) -> bool:
    """Return whether a listed word is long enough not to be a fragment of other words."""
    if ord(word[0]) >= SPACELESS:
        return len(word) > 1  # one character alone is an ordinary word
    return word[0].isalpha() and len(word) > (3 if word.isascii() else 2)


def _terms_for_people() -> frozenset[str]:
    """Return terms that name people and are no slurs, in English and in other languages."""
    return _NAMES_OF_PEOPLES | frozenset(term.casefold() for term in identity()[0]["text"])


def _words_listed_in(language: str) -> list[str]:
    content = json.loads((_dictionaries() / f"{language}.json").read_text(encoding="utf-8"))
    return [word.casefold() for word in content["words"]]


def _dictionaries() -> Path:
    try:
        package = importlib.metadata.distribution(_PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        message = f"offensive: the package {_PACKAGE!r} is not installed"
        raise ReferenceMissing(message, command=f"pip install {_PACKAGE}") from error
    return Path(str(package.locate_file(_FOLDER)))
