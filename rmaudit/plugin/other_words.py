"""A run that asks other prompts than the audits' own, or sees other words than rmaudit's.

Its findings say so, and are compared with nothing that is known under the audits' own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from rmaudit.config.own_words import OwnWords, asking, in_use, put_to_use
from rmaudit.errors import SpecError
from rmaudit.prompts import Prompt, listed
from rmaudit.verdicts.declare import Declaration

if TYPE_CHECKING:
    from rmaudit.plugin.collection import Audited


def begin(given: str | None, registered: Callable[[], OwnWords]) -> None:
    """Put words of one's own to use, before any audit that names a prompt of them is imported.

    `given` is what `--rm-prompts` gives, `registered` reads those of models.yaml.

    Raises:
        pytest.UsageError: what `--rm-prompts` gives is wrong.
    """
    words = OwnWords()
    with suppress(SpecError):
        words = registered()
    try:
        put_to_use(asking(given, words) if given else words)
    except SpecError as error:
        raise pytest.UsageError(f"--rm-prompts: {error}") from None


def runs_of(declaration: Declaration) -> list[tuple[Prompt, ...]]:
    """The prompts of each measurement in this run."""
    asked = in_use().asked
    return declaration.instead(asked) if asked else declaration.runs


def refusal(declaration: Declaration | None, prompts: tuple[Prompt, ...]) -> str:
    """Why the audit is not asked these prompts; "" where it is."""
    if declaration is None or not in_use().asked or prompts in declaration.runs:
        return ""
    return declaration.refusal(in_use().asked)


def comparable(declaration: Declaration, prompts: tuple[Prompt, ...]) -> bool:
    """Whether what is known of other models under the audit's prompts says something here."""
    return not in_use().others and prompts in declaration.runs


def asked_instead(audit: Audited | None) -> list[str]:
    """What a reader must know of the prompts, with their texts; nothing where they are its own."""
    words = in_use()
    if audit is None or not words.asked or audit.prompts in audit.declaration.runs:
        return []
    texts = "; ".join(
        f"{prompt.name} (frame {prompt.frame}): {prompt.text}" for prompt in audit.prompts
    )
    own = listed(prompt.name for prompt in audit.declaration.prompts)
    return [f"Asked other prompts than its own ({own}), of {words.source or 'rmaudit'}: {texts}"]
