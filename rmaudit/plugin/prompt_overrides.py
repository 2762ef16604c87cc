"""Handle runs that ask other prompts than the audits' own, or use the user's own word lists.

The findings of such a run say so, and are compared with nothing that is known under the audits' own
prompts.
"""

from __future__ import annotations

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.prompts import Prompt, listed
from rmaudit.verdicts.audit_declaration import Declaration


def runs_of(declaration: Declaration, own_words: OwnWords) -> list[tuple[Prompt, ...]]:
    """Return the prompts of each measurement of an audit: the run's own, or else the audit's."""
    asked = own_words.asked
    return declaration.instead(asked) if asked else declaration.runs


def refusal(declaration: Declaration, prompts: tuple[Prompt, ...], own_words: OwnWords) -> str:
    """Return why an audit cannot be run under these prompts; "" if it can."""
    if not own_words.asked or prompts in declaration.runs:
        return ""
    return declaration.refusal(own_words.asked)


def comparable(declaration: Declaration, prompts: tuple[Prompt, ...], own_words: OwnWords) -> bool:
    """Return whether published models' findings rest on the same prompts and words as this run."""
    return not own_words.others and prompts in declaration.runs


def asked_instead(
    declaration: Declaration, prompts: tuple[Prompt, ...], words: OwnWords
) -> list[str]:
    """Return a caveat (in a list) that quotes the run's prompts; [] for the audit's own prompts."""
    if not words.asked or prompts in declaration.runs:
        return []
    texts = "; ".join(f"{prompt.name} (frame {prompt.frame}): {prompt.text}" for prompt in prompts)
    own = listed(prompt.name for prompt in declaration.prompts)
    return [f"Asked other prompts than its own ({own}), of {words.source or 'rmaudit'}: {texts}"]
