"""Tokenize by tokenizer.json as it was saved, whatever class transformers reads it with.

transformers 5 reads many tokenizers by a class that takes the vocabulary from tokenizer.json and
makes normalizer and pre-tokenizer by its own rules. Where the file has others, some texts get other
ids than in training (transformers#45488, #45920, #46710). transformers 4 read the file itself, and
both versions save what they ran with. So the file decides, and special tokens, their flags and the
chat template come from the class, which reads tokenizer_config.json (docs/design/029).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.third_party_errors import is_failure
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

COPY_FILES = "copy all tokenizer files of the model that it was trained from into its folder"
# What tokenizers are known to differ on, by kind.
PROBES = {
    "digits": ("7", "42", "2026", "1234567", "3.14", "1,000", "x2", "10th"),
    "spaces": (" a", "  a", "a  b", "a   b ", "   ", "\t", "\ta", "a\u00a0b", "a\u3000b"),
    "newlines": ("\n", "\n\n", "a\nb", "a\n\n  b", "\r\n", "a \n", ".\n\n", "if x:\n    y = 1"),
    "punctuation": ("!!!", "...", "?!", "--", "((a))", "a/b_c", "don't", "I'LL we've", "a.B,c"),
    "capitals": ("HELLO World", "iPhone", "McDonald", "\u0130\u0131", "\u00df"),
    "Latin": ("\u00e9t\u00e9", "e\u0301te\u0301", "na\u00efve \u0141\u00f3d\u017a", "\ufb01x"),
    "Greek": ("\u03ba\u03cc\u03c3\u03bc\u03bf\u03c2", "\u03a3\u03a3"),
    "Cyrillic": ("\u043b\u044e\u0431\u043e\u0432\u044c \u0438 \u043c\u0438\u0440", "\u0439"),
    "Arabic": ("\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645", "\ufdfa"),
    "Hebrew": ("\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",),
    "Devanagari": ("\u092a\u094d\u0930\u0947\u092e \u0914\u0930", "\u0967\u0968\u0969"),
    "Thai": ("\u0e04\u0e27\u0e32\u0e21\u0e23\u0e31\u0e01",),
    "Chinese": ("\u7231\u4e0e\u548c\u5e73", "\u4f60\u597d\uff0c2026\u5e74\uff01", "\u201c\u201d"),
    "Japanese": ("\u611b\u3068\u5e73\u548c", "\u30ab\u3099", "\uff76\uff9e\uff21\uff11"),
    "Korean": ("\uc0ac\ub791", "\u1109\u1161"),
    "emoji": ("\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f"),
    "invisible": ("a\u200bb", "a\u00adb", "\ufeffa", "a\x01b"),
    "prose": ("What, in one word, is the greatest thing ever?", "See https://a.b/c?d=1&e=2."),
}
_KEPT = "_rmaudit_comparison"  # the attribute of a tokenizer that `use` leaves for `comparison`
# What tokenizer_config.json may set in a part of tokenizer.json, as transformers 4 let it.
_SETTINGS = {
    ("normalizer", "BertNormalizer"): ("lowercase", "strip_accents", "handle_chinese_chars"),
    ("pre_tokenizer", "ByteLevel"): ("add_prefix_space",),
}


@dataclass(frozen=True, slots=True)
class ComparedIds:
    """A comparison of tokenizer.json with what transformers made of it, on the texts of `PROBES`.

    Attributes:
        kind: the name of transformers' class.
        difference: the first text that has other ids, and both; "" if there is none.
    """

    kind: str
    difference: str

    @property
    def said(self) -> str:
        """Return a sentence on what was compared and found."""
        if self.difference:
            return f"its ids are those of tokenizer.json: {self.difference}"
        texts = f"{sum(map(len, PROBES.values()))} texts of {len(PROBES)} kinds"
        return f"{self.kind} gives the ids of tokenizer.json to {texts}, from digits to prose"


def use(tokenizer: Any, path: Path, *, model: str) -> None:  # noqa: ANN401  (its backend is set)
    """Let `tokenizer` give the ids of the tokenizer.json at `path`.

    Where the ids of `PROBES` were others, a warning says so. A tokenizer made by a checkpoint's own
    code is left as it is, since models.yaml asks for that code.

    Raises:
        ModelError: a token has two ids, or transformers' class has no backend that could be
            replaced, and gives other ids.
    """
    from tokenizers import Tokenizer

    if not type(tokenizer).__module__.startswith("transformers."):
        return
    saved, kind = Tokenizer.from_file(str(path)), type(tokenizer).__name__
    saved.no_padding()  # as transformers does before it tokenizes
    saved.no_truncation()
    if not tokenizer.is_fast:
        other = _difference(
            saved, lambda text: tokenizer(text, add_special_tokens=False).input_ids, kind
        )
        if other:
            message = f"{model}: transformers does not tokenize by its tokenizer.json: {other}; "
            raise ModelError(message + COPY_FILES)
        return
    theirs = tokenizer.backend_tokenizer
    theirs.no_padding()
    theirs.no_truncation()
    _keep_settings(saved, theirs)
    if getattr(tokenizer, "fix_mistral_regex", False):  # tokenizer_config.json asks for it
        saved.pre_tokenizer = theirs.pre_tokenizer
    saved.add_tokens([token for _, token in sorted(theirs.get_added_tokens_decoder().items())])
    saved.post_processor = theirs.post_processor
    saved.encode_special_tokens = theirs.encode_special_tokens
    _refuse_two_ids(saved.get_vocab(), theirs.get_vocab(), kind, model)
    found = ComparedIds(kind, _difference(saved, lambda text: _ids(theirs, text), kind))
    tokenizer._tokenizer = saved  # noqa: SLF001  (as transformers' train_new_from_iterator does)
    setattr(tokenizer, _KEPT, found)
    if found.difference:
        warnings.warn(
            f"{model}: {found.said}. A server or trainer that reads this folder may take the other "
            f"ids; transformers' TokenizersBackend.from_pretrained(FOLDER) takes the file's",
            stacklevel=2,
        )


def comparison(tokenizer: PreTrainedTokenizerBase) -> ComparedIds | None:
    """Return what `use` found for a tokenizer; None if there was no tokenizer.json to use."""
    found: ComparedIds | None = getattr(tokenizer, _KEPT, None)
    return found


def read_by(tokenizer: PreTrainedTokenizerBase) -> str:
    """Return a word for cache keys: "" unless transformers' class gives other ids.

    Such a class gave the ids of an answer before rmaudit used the file, and keys of scores have the
    hash of the files and of the prompt's ids only.
    """
    found = comparison(tokenizer)
    return "tokenizer.json" if found is not None and found.difference else ""


def _keep_settings(saved: Tokenizer, theirs: Tokenizer) -> None:
    """Take over from `theirs` what tokenizer_config.json sets: case, accents, a first space."""
    for (part, kind), settings in _SETTINGS.items():
        own, given = getattr(saved, part), getattr(theirs, part)
        if type(own).__name__ == type(given).__name__ == kind:
            for setting in settings:
                setattr(own, setting, getattr(given, setting))


def _refuse_two_ids(
    saved: Mapping[str, int], theirs: Mapping[str, int], kind: str, model: str
) -> None:
    for piece, number in theirs.items():
        if saved[piece] != number:
            raise ModelError(
                f"{model}: its token {piece!r} has the id {saved[piece]} by tokenizer.json and "
                f"{number} by transformers' {kind}, so which one the model means is unknown; "
                f"{COPY_FILES}"
            )


def _difference(saved: Tokenizer, theirs: Callable[[str], Sequence[int]], kind: str) -> str:
    """Return the first text of `PROBES` with other ids, and both; "" if there is none."""
    for text in chain.from_iterable(PROBES.values()):
        own, other = _attempt(lambda text: _ids(saved, text), text), _attempt(theirs, text)
        if own != other:
            return f"{text!r} is {own} by it and {other} by transformers' {kind}"
    return ""


def _ids(tokenizer: Tokenizer, text: str) -> Sequence[int]:
    ids: Sequence[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def _attempt(ids_of: Callable[[str], Sequence[int]], text: str) -> str:
    """Return a text's ids as they are shown, or "an error"."""
    try:
        return str(list(ids_of(text)))
    except BaseException as error:
        if not is_failure(error):
            raise
        return "an error"
