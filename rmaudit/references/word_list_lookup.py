"""Look up word lists by name: rmaudit's own, or those of the user that replace them.

A name is a role (`config.user_prompts_and_lists.ROLES`), or that of a list of one's own. Masks and
the data that models were trained on ask for the very lists, in `lexicons` and its like.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rmaudit.config.user_prompts_and_lists import LEXICONS, RANKINGS, ROLES, SCALES, WORDS, OwnWords
from rmaudit.errors import NotAsked, SpecError, nearest
from rmaudit.word_stems import ENGLISH, STEMMERS

if TYPE_CHECKING:  # the plugin checks names in every pytest run, audits or not
    import pandas as pd

    from rmaudit.references.user_reference_files import Lexicon


_NOUNS = {LEXICONS: "lexicon", WORDS: "list of words", RANKINGS: "ranking"}


def own_name(name: str, own_words: OwnWords) -> str | None:
    """Return the user's list in place of `name` (`name` itself if it is the user's), or None."""
    known = {**own_words.lexicons, **own_words.words, **own_words.rankings}
    return own_words.instead.get(name) or (name if name in known else None)


def lexicon(name: str, own_words: OwnWords) -> pd.Series[float]:
    """Return valence by word from the lexicon `name`, or rescaled from the user's that replaces it.

    Raises:
        SpecError: there is no such lexicon, or a file of one's own is not right. FILE:LINE.
        ReferenceMissing: the file cannot be had.
        NotAsked: it is English, and the words in use are of another language.
    """
    from rmaudit.references import lexicons

    if own := _own_or_ours(name, LEXICONS, own_words, lexicons.LEXICONS):
        return _values_on_scale_of(own, name, own_words)
    return lexicons.lexicon(name)


def zipf(name: str, words: Iterable[str], own_words: OwnWords) -> pd.Series[float]:
    """Return Zipf frequencies of those of `words` that the list `name` (or the user's for it) has.

    A lexicon of one's own may take its place, with the words' Zipf frequencies as values.
    Raises as `lexicon` does.
    """
    from rmaudit.references import word_frequency

    if own := own_list(name, LEXICONS, own_words):
        known = _values_on_scale_of(own, name, own_words)
        return known[known.index.isin(list(words))].rename(name)
    if name != "wordfreq":
        _refuse_english_role(name, own_words)
    return word_frequency.zipf(name, words, own_words.language)


def common(own_words: OwnWords) -> pd.Index[str]:
    """Return common words in lower case: the user's list, or those of the run's language."""
    import pandas as pd

    from rmaudit.references import word_frequency

    if own := own_list("common", WORDS, own_words):
        return pd.Index(sorted({word.casefold() for word in own_words.words[own]}), dtype="str")
    return word_frequency.common(own_words.language)


def word_list(name: str, own_words: OwnWords, default: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the user's words for the list `name`, or `default`; raise if no list is so called.

    Raises:
        SpecError: there is no such list.
        NotAsked: nothing takes the place of an English role.
    """
    own = _own_or_ours(name, WORDS, own_words, [role for role in ROLES if ROLES[role] == WORDS])
    return own_words.words[own] if own else tuple(default)


def ranking(name: str, own_words: OwnWords) -> pd.DataFrame:
    """Return the ratings "elo" or a user's: columns `name` and `elo`, the rating.

    Raises as `lexicon` does.
    """
    from rmaudit.references import human_ratings, user_reference_files

    if own := _own_or_ours(name, RANKINGS, own_words, ["elo"]):
        return user_reference_files.ranking(own_words.rankings[own], own_words.key).copy()
    return human_ratings.elo_items()


def caveat_on_list(name: str, own_words: OwnWords) -> str:
    """Return a caveat for readers on the list used for `name`; "" for rmaudit's list in English."""
    own = own_name(name, own_words)
    if own is None:
        if name in {"wordfreq", "common"} and own_words.language != ENGLISH:
            return f"word frequencies are of the language {own_words.language}"
        return ""
    what = f"{own} ({own_words.source})"
    if own in own_words.lexicons:
        known = _own_lexicon(own, own_words)
        out = f", {known.left_out:,} entries that are no single word left out"
        what += f", {len(known.valence):,} words{out if known.left_out else ''}"
    return what if own == name else f"in the place of {name} stands {what}"


def caveat_on_stems(language: str) -> str:
    """Return a caveat for readers on how words are stemmed in a language; "" for English."""
    if language == ENGLISH:
        return ""
    stemmer = STEMMERS[language]
    if stemmer:
        return f"stems are {stemmer.capitalize()} (Snowball)"
    return f"there is no stemmer for the language {language}: each form of a word counts by itself"


def own_list(name: str, kind: str, own_words: OwnWords) -> str | None:
    """Return the user's list of this kind, such as `LEXICONS`, in place of `name`, or None."""
    own = own_name(name, own_words)
    return own if own is not None and own in getattr(own_words, kind) else None


def _own_or_ours(name: str, kind: str, own_words: OwnWords, ours: Iterable[str]) -> str | None:
    """Return the user's list of this kind in place of `name`; None for rmaudit's, one of `ours`.

    Raises:
        SpecError: there is no such list.
        NotAsked: rmaudit's is English, and the words in use are of another language.
    """
    own = own_list(name, kind, own_words)
    if own is None and name not in ours:
        known = [*getattr(own_words, kind), *ours]
        message = f"unknown {_NOUNS[kind]} {name!r};{nearest(name, known)} known: "
        raise SpecError(message + ", ".join(known))
    if own is None:
        _refuse_english_role(name, own_words)
    return own


def _values_on_scale_of(own: str, name: str, own_words: OwnWords) -> pd.Series[float]:
    values, scale = _own_lexicon(own, own_words).valence.copy(), own_words.lexicons[own].scale
    if name in SCALES and scale is not None and scale != SCALES[name]:
        (low, high), (least, greatest) = SCALES[name], scale
        values = low + (values - least) * (high - low) / (greatest - least)
    return values.rename(own)


def _own_lexicon(own: str, own_words: OwnWords) -> Lexicon:
    from rmaudit.references.user_reference_files import lexicon as read

    given = own_words.lexicons[own]
    return read(given.file, given.scale, own_words.key)


def refuse_other_language(what: str, own_words: OwnWords, hint: str = "") -> None:
    """Raise NotAsked if the run's words are not English: `what` exists in English only.

    Raises:
        NotAsked: the words in use are of another language.
    """
    if own_words.language != ENGLISH:
        be = "are" if what.endswith("s") else "is"
        message = (
            f"{what} {be} English, and the words in use are of the language {own_words.language}"
        )
        raise NotAsked(f"{message} ({own_words.source}){hint}")


def _refuse_english_role(name: str, own_words: OwnWords) -> None:
    how = f"; give one of your own below `{ROLES[name]}:`, and say `instead: {{{name}: NAME}}`"
    refuse_other_language(name, own_words, how)
