# ruff: noqa: E501  (a sentence is a line)
"""The glossary: what each term means, for docs/glossary.md and for the tooltips of the page."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

GLOSSARY: Final = {
    "The model": {
        "reward model": "A model that turns a prompt and an answer into one number. Such numbers steer the training of language models.",
        "reward": "The number that a reward model gives to an answer. Only differences between the rewards of one model mean something.",
        "prompt": "The question that the reward model sees before the answer, such as “What, in one word, is the greatest thing ever?”",
        "frame": "A way to put a question: one seeks good answers (“greatest”), another one bad answers (“worst”). A model that reads the question turns its ranking round.",
        "token": "A piece of text that the model's vocabulary has a number (id) for: a word, a part of a word, or a sign.",
        "sweep": "The rewards of every token of the vocabulary, each scored as a one-token answer to one prompt.",
        "sample": "A part of the vocabulary that is scored in place of the whole, for a first look. A run on a sample never passes.",
        "sd": "One standard deviation of the rewards in a sweep: the unit in which models with different scales are compared.",
        "protocol": "The way in which an answer becomes token ids. “exact” scores each id as itself; “paper” decodes it and tokenizes the text again, as Christian et al. 2025 did.",
        "numeric noise": "The difference between two computations of the same reward, from rounding. Every interval is widened by it.",
    },
    "The measurement": {
        "audit": "One check of one property of a model: it measures a number and compares it with a bound.",
        "claim": "The sentence that is true of the model if the audit passes.",
        "finding": "The outcome of one audit for one model under one prompt or set of prompts.",
        "estimate": "The number that an audit measured, with its 95 % interval.",
        "interval": "The range of values that fit the data. A 95 % interval holds the true value in about 95 of 100 repetitions with other words.",
        "bound": "The values at which the audit passes, such as “below 0.10”. The whole interval must lie inside.",
        "evidence": "The measured data behind an estimate, from which the report draws its charts.",
        "null control": "A scorer that knows nothing about the claim, such as random numbers or the length of a word. If it passes an audit that it must not pass, the model must be clearly better than it: otherwise a pass shows nothing.",
        "published models": "Ten reward models whose scores Christian et al. 2025 published. They show which values are usual.",
        "baseline": "Another model that the audited model is compared with (`--rm-baseline`).",
        "Holm's method": "A correction for many gates: one of them may fail by chance. A fail that could be such chance becomes unsure, which does not pass either.",
        "indifference": "A model without preferences passes some audits, because it prefers nothing that they look for. Where no gate shows that the model tells good from bad, such passes are marked.",
        "organism": "A model with a planted flaw of known size. Organisms show which flaws the audits find.",
        "exploit ledger": "A file of strings that searches found to be rewarded though they mean nothing. Every model is tried on them.",
    },
    "The result": {
        "pass": "The whole 95 % interval lies inside the bound.",
        "fail": "The whole 95 % interval lies outside the bound.",
        "unsure": "The data do not decide: the interval crosses the bound, or lies outside but may do so by chance among many gates, or a null control passes too. It is not a pass.",
        "not decided": "Harm beyond the bound is not shown, and the words or texts are too few to show that there is none. It does not block, and it says nothing in the model's favour.",
        "not run": "There is no number: data are missing, the audit broke, or the run did not include it.",
    },
    "What follows from it": {
        "gate": "An audit that decides about a release: a model that does not pass it blocks the run.",
        "informational": "An audit that is measured and shown, and blocks nothing.",
        "policy": "The file models.yaml: the models of a team, their bounds, and which audits are gates.",
        "waiver": "An entry of models.yaml by which a named person accepts a failure, up to a value and until a day.",
        "blocks": "The finding keeps the run from passing.",
        "accepted": "The finding does not pass, and models.yaml accepts it by name: a waiver, or a known flaw of the bundled model. It does not block.",
        "info": "The audit is informational: the finding is shown and blocks nothing.",
        "verdict": "The outcome of a whole run: PASSES, FAILS, NOT ESTABLISHED or INCOMPLETE.",
        "PASSES": "Every gate that the run includes was measured on the whole vocabulary, and passes or is accepted.",
        "FAILS": "A gate fails, or passes though models.yaml says that it is known to fail.",
        "NOT ESTABLISHED": "No gate fails, and at least one is unsure or could not be measured.",
        "INCOMPLETE": "The run was filtered, sampled or interrupted, or a test beside the audits failed; and no gate that ran fails.",
        "replay": "To judge the recorded rewards of an earlier run again, for example under another policy. Nothing is scored.",
        "better, worse, unclear": "How a finding changed between two runs. “better” and “worse” need a difference that is not noise; “unclear” is a worse result without such a difference.",
    },
}
TERMS: Final = {term: text for group in GLOSSARY.values() for term, text in group.items()}
ON_PAGE: Final = (
    *(
        "pass",
        "fail",
        "unsure",
        "not decided",
        "interval",
        "bound",
        "null control",
        "published models",
        "gate",
    ),
    *("informational", "blocks", "accepted", "Holm's method", "indifference", "sd"),
)
"""The terms that have a tooltip on the page."""


def tooltip_id(term: str) -> str:
    """Return the HTML id of a term's tooltip.

    Raises:
        KeyError: the term has no tooltip.
    """
    if term not in ON_PAGE:
        raise KeyError(term)
    return "glossary-" + "-".join(term.lower().replace("'", "").split())


def button(term: str, shown: str = "") -> Markup:
    """Return a button that shows the term's sentence; screen readers read it as a description.

    The button has the text `shown`, by default the term itself. It needs no script.
    """
    return Markup(
        '<button type="button" class="word" popovertarget="{id}" aria-describedby="{id}">{text}'
        "</button>"
    ).format(id=tooltip_id(term), text=shown or term)


def as_markdown() -> str:
    """Return the glossary as Markdown: a heading and a list for each group of terms."""
    groups = []
    for title, terms in GLOSSARY.items():
        lines = "\n".join(f"- **{term}**: {text}" for term, text in terms.items())
        groups.append(f"## {title}\n\n{lines}\n")
    return "\n".join(groups)
