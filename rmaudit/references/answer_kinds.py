"""Describe whole English answers: by form, by grammar, and by the words and topics they share.

A kind is named by what follows "answers", such as "with digits" or "that begin with “the”". Many
are of those by which Biber (1988, "Variation across Speech and Writing") tells kinds of texts
apart. No list is of topics: which single words count, and which words are alike, is read off the
answers themselves and a bundled embedding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.references import answer_grammar
from rmaudit.references.answer_traits import traits
from rmaudit.references.surface_features import surface
from rmaudit.references.topics_of_answers import topics

WORDS = "words"
ENDED = "that end with a whole sentence"
REPEATING = "with three words in a row repeated"
HELD = (ENDED,)  # held fixed for all other kinds, as the length is
SOUND: Mapping[str, int] = {  # for which a sound model may pay (+1), or against which it may (-1)
    ENDED: +1,
    REPEATING: -1,
    "with a word twice in a row": -1,
    "with many different words": +1,
    "with the question's words": +1,
}
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SENTENCE_END = re.compile(r"[.!?]+[\"'”’)]*(?:\s|$)")
_SENTENCE_START = re.compile(r"(?<=[.!?:])\s+|\n+\W*")
_ENDED = re.compile(r"[.!?…][\"'”’)*]*\s*$")
_FEWEST = 20  # answers with a word or a beginning, and as many without
_MOST_WORDS = 250  # single words that are kinds of their own, the commonest first
_MEANT = 4  # letters from which a word of a question is taken to mean something
_MANY = 3  # sentences
_OPENING = 10  # words
_OURS = OwnWords()
_Floats = NDArray[np.float64]
_Bools = NDArray[np.bool_]

_SIGNS = {  # what an answer has anywhere
    "with a colon": r":",
    "with a semicolon": r";",
    "with a dash": r"[–—]|\s-+\s",
    "with a hyphen in a word": r"\w-\w",
    "with parentheses": r"[(\[]",
    "with quotation marks": r"[\"“”«»]",
    "with a contraction": r"\w['’](?:s|t|re|ve|ll|d|m)\b",
    "with an exclamation mark": r"!",
    "with a question": r"\?",
    "with an ellipsis": r"\.\.\.|…",
    "with a sign such as % or $": r"[%$£€&@+=<>/\\~^_|]",
    "with a sign outside ASCII, such as an emoji": r"[^\x00-\x7f“”‘’–—…]",
    "with digits": r"\d",
    "with a year": r"\b(?:1\d|20)\d\d\b",
    "with a word in capitals": r"\b[A-Z]{2,}\b",
    "with a line break": r"\n",
    "with a list": r"(?m)^\s*(?:[-*•]\s|\(?\d+[.):]\s)",
    "with bold, a heading, a table or code": r"(?m)\*\*|`|^\s*(?:#{1,6}\s|\|)",
    "with a doubled space": r"\S {2,}\S",
    "with a link or address": r"https?:|www\.|\w@\w|\.com\b",
    "with a word twice in a row": r"(?i)\b(\w+)\s+\1\b",
    "with three things in a row": r"\w, [^,.;:!?\n]{1,40},? (?:and|or) \w",
}
_PHRASES = {  # words of which an answer has one, in either case
    "with apologies or thanks": r"sorry|apolog\w*|thanks?|please|welcome",
    "with praise or warmth": (
        r"great|wonderful|excellent|amazing|fantastic|lovely|glad|happy to|beautiful"
    ),
    "that state sureness": (
        r"sure|certain(?:ly)?|definitely|absolutely|of course|clearly|always|never|indeed"
        r"|obviously|undoubtedly|truly|really|no doubt"
    ),
    "with “should” or “must”": r"should|must|ought|need to|have to|essential|crucial",
    "that warn": r"warn\w*|careful\w*|caution|avoid|danger\w*|risks?|beware|safe\w*",
    "that give a reason": r"because|since|therefore|thus|due to|as a result|so that",
    "that contrast": r"but|however|although|though|while|whereas|despite|instead",
    "that give an example": r"for example|for instance|such as|e\.g|like",
    "that count steps": r"first(?:ly)?|second(?:ly)?|then|next|finally|lastly",
    "that sum up": r"in conclusion|overall|in summary|to sum up|ultimately",
    "that make light of it": r"just|simply|simple|only|merely|eas(?:y|ily)|quick(?:ly)?|little",
    "that intensify": r"very|extremely|highly|incredibly|especially|particularly|too|so much",
    "that stay vague": r"something|things?|stuff|some|various|kind of|sort of|etc",
    "that name all or nobody": r"all|every|everyone|everything|anyone|anything|nobody|none|no one",
    "that say when": r"now|today|later|soon|once|before|after|during|daily|every day|recently",
    "that say where": r"here|there|above|below|near|around|outside|inside|everywhere|away",
    "that think or believe": r"think|believe|know|understand|remember|consider|wonder|imagine",
    "with a question word": r"who|whom|whose|what|which|why|how",
    "with a purpose": r"in order to|so as to|to (?:ensure|help|make|keep|get|avoid|create|find)",
    "with a condition": r"if|unless|whether|otherwise|in case|as long as|depending",
    "with a number in words": r"two|three|four|five|six|seven|eight|nine|ten|hundred",
    "about women": r"she|hers?|herself|wom[ae]n|girls?|mother|mom|sister|wife|daughter",
    "about men": r"he|him|his|himself|m[ae]n|boys?|father|dad|brother|husband|son",
    "that speak of a source": r"study|studies|research\w*|experts?|according to|scien\w+",
    "that speak of feelings": r"feel\w*|love\w*|hope\w*|enjoy\w*|happ\w+|sad\w*|fear\w*",
}
_OPENINGS = {  # how an answer begins
    "that begin in lower case": r"\s*[a-z]",
    "that begin with “I” or “my”": r"\s*(?:I|My)\b",
    "that begin with “you” or “your”": r"\s*Your?\b",
    "that begin with “it”, “this”, “that” or “there”": r"\s*(?:It|This|That|There)\b",
    "that begin with “the”, “a” or “an”": r"\s*(?:The|An?)\b",
    "that begin with “to”, “when”, “if”, “for” or “in”": r"\s*(?:To|When|If|For|In)\b",
    "that begin with “yes”, “no” or “sure”": r"(?i)\s*(?:yes|no|sure|of course|certainly)\b",
    "that begin with a greeting": r"(?i)\s*(?:hi|hello|hey|dear|good (?:morning|day))\b",
    "that begin with a quotation mark": r"\s*[\"“'‘]",
    "that begin with a digit or sign": r"\s*(?:[^\w\s\"“'‘]|\d)",
}
_RATED_SIGNS = {  # how often an answer has it, for each of its words
    "with many commas": r",",
    "with many full stops": r"\.",
    "with many capitals": r"(?<=[a-z,;] )[A-Z]",
}
_RATED = {  # likewise, of words in either case
    "with much “I”, “me” or “my”": r"I|me|my|mine|myself",
    "with much “you” or “your”": r"you|your|yours|yourself",
    "with much “we” or “our”": r"we|us|our|ours|let's",
    "with much “they” or “their”": r"they|them|their|theirs",
    "with much “it”, “this” or “that”": r"it|its|this|that|these|those",
    "with much “the”": r"the",
    "with much “and” or “or”": r"and|or",
    "with many prepositions": r"of|in|on|at|by|for|from|with|to|into|about|over",
    "with much negation": r"no|not|none|nothing|never|without|neither|nor|\w+n['’]t",
    "in the past tense": r"was|were|had|did|went|said|made|\w{3,}ed",
    "with much “is” or “are”": r"is|are|be|been|being",
    "about the future": r"will|shall|going to|\w+['’]ll|tomorrow|future",
    "with much “can” or “could”": r"can|could|may|might|would",
    "with many words in -ing": r"\w{2,}ing",
    "with many adverbs in -ly": r"\w{2,}ly",
    "with comparisons": r"more|most|less|least|better|best|worse|worst|\w{3,}est",
    "with many Latin endings": r"\w{2,}(?:tion|sion|ment|ity|ance|ence|ous|ive|ate|ize)s?",
    "with he or she": r"he|she|him|his|hers?|himself|herself",
    "with many plurals": r"\w{3,}[^s\W]s",
    "with many short words": r"[a-z]{1,4}",
}
_ORDERS = re.compile(
    r"(?i)(?:add|ask|avoid|be|begin|bring|buy|call|check|choose|clean|consider|cook|cut|do|don['’]t"
    r"|drink|eat|ensure|enjoy|explore|fill|find|focus|follow|get|give|go|have|help|hold|identify"
    r"|invest|join|keep|learn|leave|let|limit|listen|look|make|mix|move|never|offer|open|pack|pay"
    r"|place|plan|please|practi[cs]e|prepare|press|put|read|remember|remove|replace|reach|rinse|say"
    r"|seek|serve|set|share|show|sleep|speak|spend|start|stay|stir|stop|store|take|talk|tell|think"
    r"|try|turn|use|visit|wait|walk|wash|watch|wear|work|write)\b"
)


def _of_words(patterns: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(rf"(?i)\b(?:{words})\b") for name, words in patterns.items()}


def _of_signs(patterns: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern) for name, pattern in patterns.items()}


_FOUND = _of_signs(_SIGNS) | _of_words(_PHRASES)
_BEGUN = _of_signs(_OPENINGS)
_COUNTED = (
    _of_signs(_RATED_SIGNS | answer_grammar.AS_WRITTEN)
    | _of_words(_RATED)
    | _of_words(answer_grammar.IN_EITHER_CASE)
)


def kinds(answers: pd.DataFrame, own_words: OwnWords = _OURS) -> pd.DataFrame:
    """Return a table of kinds, a row for each answer (columns `prompt`, `response`) in its order.

    `words`, the length, comes first. Where a column has bools, they say whether the answer is of
    this kind, and numbers say how much it is, such as how many commas it has for each word. To
    begin with a word, or to have it, is a kind for each word that at least twenty answers have and
    as many lack; of words that answers have at most 250, the commonest. Last come topics, which
    are words that are alike (`topics_of_answers`).

    Raises:
        ReferenceMissing: wordfreq or labMT cannot be had.
        NotAsked: nothing takes the place of labMT in another language.
    """
    return _cached_kinds(tuple(answers["prompt"]), tuple(answers["response"]), own_words)


@lru_cache(maxsize=2)  # the null controls and organisms of a run have the model's answers
def _cached_kinds(
    prompts: tuple[str, ...], texts: tuple[str, ...], own_words: OwnWords
) -> pd.DataFrame:
    split = [_WORD.findall(text) for text in texts]
    folded = [[word.casefold() for word in words] for words in split]
    length = np.array([*map(len, split)], dtype=np.float64)
    many = np.maximum(length, 1.0)
    ended = _each(_ENDED.search, texts)
    sentences = np.array([len(_SENTENCE_END.findall(text)) for text in texts]) + ~ended
    known, lists = surface(texts, own_words), traits(texts)
    echoes, opening_echoes = _echoes(prompts, folded)
    counts = {
        name: np.array([len(pattern.findall(text)) for text in texts])
        for name, pattern in _COUNTED.items()
    }
    listed = pd.DataFrame(
        {
            WORDS: length,
            ENDED: ended,
            **{name: _each(pattern.search, texts) for name, pattern in _FOUND.items()},
            **{name: _each(pattern.match, texts) for name, pattern in _BEGUN.items()},
            **{name: count / many for name, count in counts.items()},
            "that hedge": lists["hedging"].to_numpy(),
            "that refuse": lists["refusing"].to_numpy(),
            REPEATING: lists["repeating"].to_numpy(),
            "with long sentences": many / np.maximum(sentences, 1),
            "of one sentence": sentences <= 1,
            "of three sentences or more": sentences >= _MANY,
            "with many commands": np.array([*map(_orders, texts)]),
            "with long words": known["letters"].to_numpy() / many,
            "with a very long word": known["longest"].to_numpy(),
            "that begin with a long word": np.array([len("".join(words[:1])) for words in split]),
            "with many different words": np.array([len(set(words)) for words in folded]) / many,
            "with neighbours that begin alike": np.array([*map(_alliteration, folded)]),
            "with happy words": known["valence"].to_numpy(),
            "with a very happy word": known["happiest"].to_numpy(),
            "without a sad word": known["saddest"].to_numpy(),
            "with common words": known["mean_zipf"].to_numpy(),
            "without a rare word": known["rarest_zipf"].to_numpy(),
            "with the question's words": echoes,
            "that open with the question's words": opening_echoes,
            **_by_words(folded),
        }
    )
    return pd.concat([listed, topics(prompts, folded, listed)], axis=1)


def _each(matches: Callable[[str], object], texts: Sequence[str]) -> _Bools:
    return np.array([matches(text) is not None for text in texts], dtype=np.bool_)


def _orders(text: str) -> float:
    """Return the share of sentences that begin with a verb as commands do."""
    sentences = [each for each in _SENTENCE_START.split(text) if each]
    return sum(_ORDERS.match(each) is not None for each in sentences) / max(len(sentences), 1)


def _alliteration(words: Sequence[str]) -> float:
    """Return the share of neighbouring words that begin with the same letter."""
    pairs = [one[0] == other[0] for one, other in pairwise(words)]
    return sum(pairs) / max(len(pairs), 1)


def _echoes(prompts: Sequence[str], answers: Sequence[Sequence[str]]) -> tuple[_Floats, _Floats]:
    """Return which share of a prompt's words each answer has, and of its first words the prompt.

    Words of a prompt count from four letters on.
    """
    asked = {prompt: _meant(prompt) for prompt in set(prompts)}
    both = [(asked[prompt], words) for prompt, words in zip(prompts, answers, strict=True)]
    return (
        np.array([len(own & set(words)) / max(len(own), 1) for own, words in both]),
        np.array([len(own & set(words[:_OPENING])) / _OPENING for own, words in both]),
    )


def _meant(prompt: str) -> set[str]:
    return {word for word in _WORD.findall(prompt.casefold()) if len(word) >= _MEANT}


def _by_words(answers: Sequence[Sequence[str]]) -> dict[str, _Bools]:
    """Return which answers begin with a common first word, or have a common word, by kind."""
    first = Counter(words[0] for words in answers if words)
    has = Counter(word for words in answers for word in set(words))

    def common(counts: Counter[str]) -> list[str]:
        return [
            word for word, n in sorted(counts.items()) if _FEWEST <= n <= len(answers) - _FEWEST
        ]

    sets = [set(words) for words in answers]
    of_words = sorted(common(has), key=lambda word: (-has[word], word))[:_MOST_WORDS]
    return {
        f"that begin with “{word}”": np.array([words[:1] == [word] for words in answers])
        for word in common(first)
    } | {f"with the word “{word}”": np.array([word in own for own in sets]) for word in of_words}
