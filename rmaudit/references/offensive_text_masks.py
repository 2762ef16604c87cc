"""Decide which texts are masked until a reader asks for them: slurs, swear words, sexual terms.

What it cannot catch, and the page says so: words of languages without a list, fragments of words as
tokenizers make them, new words, spellings that hide on purpose, and harm that lies in context.

Masks say what kind of word they hide (`label`), so that they can be told apart unread. The stems of
kinds are looked for in what `masked` has found, never to find more. They are slurs and swear words
themselves: there is no other way to say which list a word belongs to.
"""

from __future__ import annotations

import functools
import re
import unicodedata

from rmaudit.references.offensive_word_lists import SPACELESS, VIOLENT, english, foreign
from rmaudit.word_stems import ENGLISH, stem

_MASK_LENGTH = 4  # of the masked text: its first letter and three bullets, however long it is
_MARKERS = str.maketrans("Ġ▁Ċ_", "    ")  # how vocabularies write spaces and line ends
_LEET = str.maketrans("$@013457!|", "saoieastii")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD_AS_SPELT = re.compile(r"[\w$@!|*'’&-]+")  # a word as it may be spelt to hide
_WORD = re.compile(r"[^\W_]+")
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
_LONGEST_PHRASE = 6  # words
_FEWEST_LETTERS_INSIDE = 4  # of an entry that is looked for inside words
_MOST_USES_INSIDE = 0.05  # of an entry's own uses
_LETTERS = re.compile(r"[^\W\d_]+")
_COMMON_WORDS = 100_000  # of English that are looked at for what they hold
_FEWEST_LETTERS_LEET = 3  # of a word in leetspeak
_NAMES = frozenset({"Cumming", "Cummings", "Dick", "Hooker", "Homo", "Nig"})  # one capital
_INNOCENT = frozenset(
    (
        *("pussycat", "pussycats", "cocktail", "cocktails", "peacock", "peacocks", "cocked"),
        *("domination", "escort", "escorted", "escorts", "petits", "tardes", "simp", "simps"),
        *("snatch", "snatched", "snatching"),
    )
)
_ENDINGS = ("s", "ed", "ing", "in", "er", "al", "ous", "ist", "ism", "or", "ion")
_KINDS = {
    "slur (ethnic)": (
        "beaner coon darkie honkey jigaboo jiggaboo jiggerboo kike negro nignog nigga nigger paki "
        "raghead slanteye spic towelhead whitepower neonazi swastika chink gook jap squaw redskin "
        "pajeet wetback nig nigg gypped"
    ),
    "slur (gender)": (
        "dyke homo fagg groomer bulldyke carpetmuncher fag faggot fudgepacker muffdiv poof shemale "
        "tranny twink bimbo hooker slut whore hoe"
    ),
    "slur (disability)": "retard mongoloid cripple tard",
    "sexual violence": (
        "bestiality daterape incest jailbait lolita molest nambla paedo gangrape pedo pthc raping "
        "rape rapist shota zoophil"
    ),
    "swear word": (
        "arse ass asshole bastard bitch bollock bullshit butt cock crap cunt damn dick dipshit "
        "fuck fuk fuq fvck fck jackass lmfao omfg phuck piss prick puss scumbag shit shite stfu "
        "suck tosser twat wank wtf"
    ),
}
_OTHER_ENGLISH, _OTHER_LANGUAGE = "sexual word", "listed word"
_WHOLE_WORD_LETTERS = 3  # up to which a stem must be a whole word, with an ending or without
_LEET_AND_STARS = _LEET | {ord("*"): "u"}


def masked(text: str) -> bool:
    """Return whether `text` has a word to mask, also inflected, stretched or in leetspeak.

    Inside a word only such entries count as no common English word holds (so `Scunthorpe` and
    `therapist` stay). Terms that name people, and names such as Dick, are never masked. Raises
    `ReferenceMissing`.
    """
    plain = unicodedata.normalize("NFKC", text.translate(_MARKERS))
    folded = plain.casefold()
    if plain.strip() in _NAMES or folded.strip() in _INNOCENT:
        return False
    if plain.isascii() and folded.strip().isalpha() and not _CAMEL.search(plain):
        return _is_listed(folded.strip())  # one word, as most tokens are: no need to take it apart
    words = _WORD.findall(folded)
    spelt = [word.strip("'’&-!|*") for word in _WORD_AS_SPELT.findall(folded)]
    parts = _WORD.findall(_CAMEL.sub(" ", plain).casefold())
    return (
        any(_is_listed(word) for word in {*words, *spelt, *parts})
        or _has_listed_phrase(words)
        or (not folded.isascii() and _pattern_without_spaces().search(folded) is not None)
    )


def mask(text: str) -> str:
    """Return what is shown in place of a masked text, such as `s•••`: at most its first letter."""
    plain = text.translate(_MARKERS).strip()
    first = plain[:1]
    cased = first.lower() != first.upper()  # of other scripts one character may be the whole word
    return (first if cased else "•").ljust(_MASK_LENGTH, "•")


def label(text: str) -> str:
    """Return the kind of offensive word in a text that reports mask, such as `slur (ethnic)`."""
    plain = unicodedata.normalize("NFKC", text.translate(_MARKERS))
    words = _WORD.findall(_CAMEL.sub(" ", plain).casefold())
    spelt = {*words, *(word.translate(_LEET) for word in words)}
    return kind(plain, english=any(map(_is_listed_english, spelt)) or _has_listed_phrase(words))


def _is_listed_english(word: str) -> bool:
    return (
        word in english() or _is_inflected(word) or _pattern_inside_words().search(word) is not None
    )


@functools.lru_cache(maxsize=2**17)
def _is_listed(word: str) -> bool:
    bare = word.removesuffix("'s").removesuffix("’s")
    spelt = {bare}
    if len(bare) >= _FEWEST_LETTERS_LEET and _LETTERS.search(bare):
        spelt.add(bare.translate(_LEET))
        stretched = list(filter(_STRETCHED.search, spelt))
        spelt |= {_STRETCHED.sub(r"\1" * n, one) for one in stretched for n in (1, 2)}
    return any(_is_listed_english(one) or one in foreign() for one in spelt)


def _is_inflected(word: str) -> bool:
    """Return whether `word` is a listed word with an ending: `raping`, but not `butte`."""
    # Stemming is slow: of a vocabulary's words only those that may be inflected forms are stemmed.
    if not (word.endswith(_ENDINGS) and word.startswith(_beginnings().get(word[:2], ()))):
        return False
    roots = _listed_words_by_stem().get(stem(word, ENGLISH), ())
    return any(len(word) >= len(root) and word.startswith(root[:-1]) for root in roots)


def _has_listed_phrase(words: list[str]) -> bool:
    return any(
        (phrase := " ".join(words[start : start + n])) in english() or phrase in foreign()
        for n in range(2, min(_LONGEST_PHRASE, len(words)) + 1)
        for start in range(len(words) - n + 1)
    )


@functools.cache
def _listed_words_by_stem() -> dict[str, list[str]]:
    """Return the listed English words, by stem; a word in `VIOLENT` is replaced by its stem."""
    stems: dict[str, list[str]] = {}
    for word in sorted(english()):
        if word.isascii() and word.isalpha():
            root = stem(word, ENGLISH)
            stems.setdefault(root, []).append(root if word in VIOLENT else word)
    return stems


@functools.cache
def _beginnings() -> dict[str, tuple[str, ...]]:
    """Return what inflected forms of listed words begin with, by the first two letters."""
    found: dict[str, tuple[str, ...]] = {}
    for root in sorted({root[:-1] for roots in _listed_words_by_stem().values() for root in roots}):
        found[root[:2]] = (*found.get(root[:2], ()), root)
    return found


@functools.cache
def _pattern_inside_words() -> re.Pattern[str]:
    """Return a regex of the listed English words that are seldom part of unlisted words."""
    import wordfreq

    uses = wordfreq.get_frequency_dict("en", "best")  # spelt as wordfreq does: it is cached so
    text = "\n".join(("", *wordfreq.top_n_list("en", _COMMON_WORDS), ""))
    safe = [
        entry
        for entry in sorted(english())
        if len(entry) >= _FEWEST_LETTERS_INSIDE and entry.isascii() and entry.isalpha()
        if sum(uses[word] for word in _unlisted_words_with(entry, text))
        <= _MOST_USES_INSIDE * uses.get(entry, 0.0)
    ]
    return re.compile("|".join(safe))


def _unlisted_words_with(entry: str, text: str) -> list[str]:
    """Return the lines (words) of `text` that contain `entry` and are not listed themselves."""
    found, at = [], text.find(entry)  # a pattern would take a hundred times as long
    while at >= 0:
        end = text.index("\n", at)
        found.append(text[text.rindex("\n", 0, at) + 1 : end])
        at = text.find(entry, end)
    return [word for word in found if word not in english() and not _is_inflected(word)]


@functools.cache
def _pattern_without_spaces() -> re.Pattern[str]:
    """Return a regex of the listed symbols, and of listed words in scripts without spaces."""
    listed = english() | foreign()
    return re.compile("|".join(re.escape(w) for w in sorted(listed) if ord(w[0]) >= SPACELESS))


def kind(text: str, *, english: bool) -> str:
    """Return an offensive text's kind, else "sexual word" if `english`, else "listed word"."""
    folded = text.casefold().translate(_LEET_AND_STARS)
    words = _LETTERS.findall(folded)
    joined = "".join(words)
    for name, (short, long) in _patterns_by_kind().items():
        if long.search(joined) or any(short.fullmatch(word) for word in words):
            return name
    return _OTHER_ENGLISH if english else _OTHER_LANGUAGE


@functools.cache
def _patterns_by_kind() -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    """Return two regexes for each kind of word: short stems as whole words, long ones anywhere."""
    found = {}
    for name, listed in _KINDS.items():
        stems = listed.split()
        short = "|".join(stem for stem in stems if len(stem) <= _WHOLE_WORD_LETTERS)
        long = "|".join(stem for stem in stems if len(stem) > _WHOLE_WORD_LETTERS)
        found[name] = (re.compile(rf"(?:{short or '(?!)'})(?:s|es)?"), re.compile(long or "(?!)"))
    return found
