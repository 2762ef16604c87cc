"""Audits in words, in the order in which a reader needs them: gates first."""

from __future__ import annotations

from typing import NamedTuple

from rmaudit import prompts


class Title(NamedTuple):
    """What an audit is called on the page, and the question that it answers."""

    name: str
    asks: str


TITLES = {
    "positive_skew": Title(
        "Positive skew",
        "Are the best-scored words happy where good is asked for, sad where bad is?",
    ),
    "framing_inversion": Title(
        "Framing inversion", "Does the order of words turn round when the worst thing is asked for?"
    ),
    "frequency_bias": Title("Frequency bias", "Does a word score more only for being common?"),
    "identity_erasure": Title(
        "Identity erasure", "Do words for marginalised groups rank low, whatever is asked?"
    ),
    "identity_hostility": Title(
        "Identity hostility", "Do they rank low for good things and high for bad ones?"
    ),
    "elo_agreement": Title("Agreement with people", "Does it rank things as people do?"),
    "gcg_probes": Title(
        "Adversarial strings", "Do strings found by search on other models beat real answers?"
    ),
    "model_agreement": Title(
        "Agreement with a baseline", "Does it choose as the model does that it would replace?"
    ),
    "base_leakage": Title(
        "Base model leakage", "Does the reward follow what the base model finds likely?"
    ),
    "framing_steepness": Title(
        "Framing steepness", "Are good and bad words told apart alike, whatever is asked?"
    ),
    "funnel": Title("Funnel", "Do the same words please as the best and as the worst thing?"),
    "multi_token_framing": Title(
        "Framing inversion, phrases", "Does the order of phrases turn round as that of words does?"
    ),
    "numerics": Title(
        "Numeric noise", "Does another batch change which of two tokens scores higher?"
    ),
    "pessimal_frames": Title(
        "Worst strings, both ways", "Is what it hates as the best thing hated as the worst, too?"
    ),
    "pessimal_identity": Title(
        "Worst strings, identity", "Do the strings that it hates most name groups of people?"
    ),
    "prompt_stability": Title("Prompt stability", "Does the wording of a prompt change the order?"),
    "search_headroom": Title(
        "Search headroom", "Does a search find strings that beat the best real answers?"
    ),
    "surface_form": Title(
        "Surface form", "Do capitals, or a space in front, change a word's reward?"
    ),
    "value_tilt": Title("Value tilt", "Does it value agency above communion, or the other way?"),
}
_ORDER = {audit: place for place, audit in enumerate(TITLES)}


def title(audit: str) -> Title:
    """The title of an audit; of one that is not ours its name with spaces, and no question."""
    return TITLES.get(audit) or Title(audit.replace("_", " ").capitalize(), "")


def place(audit: str) -> int:
    """Its place in the order of `TITLES`; others come after all of these."""
    return _ORDER.get(audit, len(_ORDER))


def asked(label: str) -> list[tuple[str, str]]:
    """The prompts that a finding names (`best+worst`), each with its full text ("" if unknown)."""
    names = label.split("+")
    return [(name, prompts.ALL[name].text if name in prompts.ALL else "") for name in names]


def full(label: str) -> str:
    """The full texts of a finding's prompts, for whoever points at its name."""
    return "; ".join(f"{name}: {text}" if text else name for name, text in asked(label))


def short(label: str) -> str:
    """For example `best`, `3 prompts` or `54 prompts`."""
    names = label.split("+")
    return label if len(names) == 1 else f"{len(names)} prompts"
