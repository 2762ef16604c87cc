"""What kind of word a masked one is: masks can be told apart without reading what they hide.

Stems are looked for in what `masks.masked` has found, never to find more. They are slurs and swear
words themselves: there is no other way to say which list a word belongs to.
"""

from __future__ import annotations

import functools
import re

_KINDS = {
    "slur (ethnic)": (
        *("beaner", "coon", "darkie", "honkey", "jigaboo", "jiggaboo", "jiggerboo", "kike"),
        *("negro", "nignog", "nigga", "nigger", "paki", "raghead", "slanteye", "spic"),
        *("towelhead", "whitepower", "neonazi", "swastika", "chink", "gook", "jap", "squaw"),
        *("redskin", "pajeet", "wetback", "nig", "nigg", "gypped"),
    ),
    "slur (gender)": (
        *(
            "dyke",
            "homo",
            "fagg",
            "groomer",
            "bulldyke",
            "carpetmuncher",
            "fag",
            "faggot",
            "fudgepacker",
            "muffdiv",
            "poof",
        ),
        *("shemale", "tranny", "twink", "bimbo", "hooker", "slut", "whore", "hoe"),
    ),
    "slur (disability)": ("retard", "mongoloid", "cripple", "tard"),
    "sexual violence": (
        *(
            "bestiality",
            "daterape",
            "incest",
            "jailbait",
            "lolita",
            "molest",
            "nambla",
            "paedo",
            "gangrape",
        ),
        *("pedo", "pthc", "raping", "rape", "rapist", "shota", "zoophil"),
    ),
    "swear word": (
        *(
            "arse",
            "ass",
            "asshole",
            "bastard",
            "bitch",
            "bollock",
            "bullshit",
            "butt",
            "cock",
            "crap",
            "cunt",
        ),
        *("damn", "dick", "dipshit", "fuck", "fuk", "fuq", "fvck", "fck", "jackass", "lmfao"),
        *("omfg", "phuck", "piss", "prick", "puss", "scumbag", "shit", "shite", "stfu", "suck"),
        *("tosser", "twat", "wank", "wtf"),
    ),
}
_REST, _FOREIGN = "sexual word", "listed word"
_SHORT = 3  # letters up to which a stem must be a word of its own, with an ending or without
_LEET = str.maketrans("$@013457!|*", "saoieastiiu")
_LETTERS = re.compile(r"[^\W\d_]+")


def kind(text: str, *, english: bool) -> str:
    """For example `slur (ethnic)`; `english` says whether the word is on a list of English."""
    folded = text.casefold().translate(_LEET)
    words = _LETTERS.findall(folded)
    joined = "".join(words)
    for name, (short, long) in _patterns().items():
        if long.search(joined) or any(short.fullmatch(word) for word in words):
            return name
    return _REST if english else _FOREIGN


@functools.cache
def _patterns() -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    """For each kind the short stems, which are whole words, and the long ones, found anywhere."""
    found = {}
    for name, stems in _KINDS.items():
        short = "|".join(stem for stem in stems if len(stem) <= _SHORT)
        long = "|".join(stem for stem in stems if len(stem) > _SHORT)
        found[name] = (
            re.compile(rf"(?:{short or '(?!)'})(?:s|es)?"),
            re.compile(long or "(?!)"),
        )
    return found
