"""What an audit of searches may ask for: searches of the model, and the ledger of others' finds."""

from __future__ import annotations

from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rmaudit.plugin.fixtures import CAVEATS, KEYS, missing_as_told, swept, terminal
from rmaudit.plugin.options import RM_LEDGER, RM_SEARCH, RM_SEED, SEARCHED, SESSION, cache_folder
from rmaudit.prompts import Prompt

if TYPE_CHECKING:
    import pandas as pd

    from rmaudit.models.protocol import Scored
    from rmaudit.search.api import Found
    from rmaudit.search.for_audits import Searches
    from rmaudit.search.settings import Direction


@pytest.fixture
def searches(
    request: pytest.FixtureRequest, reward_model: Scored, prompts: tuple[Prompt, ...]
) -> Searches:
    """A function from a direction to what a search of the model found; cached too.

    Each search has the budget of `--rm-search`, and is held to the ids that score best alone where
    that is too small for the vocabulary; what it finds goes into the ledger. Skips the audit
    where that is 0, or with `--rm-recorded`.
    """
    from rmaudit.search import api, ledger
    from rmaudit.search.for_audits import Searches, caveat, drawn, shortlisted
    from rmaudit.search.settings import Settings

    config, cache = request.config, cache_folder(request.config)
    budget, seed = config.getoption(RM_SEARCH), config.getoption(RM_SEED)
    if not budget:
        pytest.skip(f"searches are off ({RM_SEARCH} 0); run them with {RM_SEARCH} {SEARCHED}")
    with missing_as_told(config):
        model = reward_model.with_weights("what a search would find is not recorded")
    _ledger(config)  # before anything is added to it

    def find(direction: Direction, prompt: Prompt) -> Found:
        plain = Settings(direction=direction, budget=budget, seed=seed)
        settings = shortlisted(model, swept(request, model, prompt).frame, plain)
        with terminal(config):
            found = api.search(model, prompt, settings, cache=cache)
        ledger.remember(cache, found, model)
        request.node.stash.setdefault(KEYS, []).append(found.key)
        request.node.stash.setdefault(CAVEATS, []).append(caveat(found))
        return found

    @once  # it is drawn for the model and for each null control
    def draw(n: int, prompt: Prompt) -> list[str]:
        return drawn(model, prompt, Settings(seed=seed), n)

    return Searches(prompts, find, draw)


@pytest.fixture
def ledger(request: pytest.FixtureRequest, reward_model: Scored, prompt: Prompt) -> pd.DataFrame:
    """The strings that searches found under the prompt, on any model but this: a row each.

    Columns as in `rmaudit.search.ledger`. They are those that are published, those of
    `--rm-ledger`, and what was found on this machine before this run, on earlier releases too.
    """
    from rmaudit.search.ledger import weights_of

    known = _ledger(request.config)
    others = known["weights"] != weights_of(reward_model)
    return known[(known["prompt"] == prompt.name) & others].reset_index(drop=True)


def _ledger(config: pytest.Config) -> pd.DataFrame:
    """The whole ledger as this session found it."""
    from rmaudit.search.ledger import ledger

    session, given = config.stash[SESSION], config.getoption(RM_LEDGER)
    if session.ledger is None:
        session.ledger = ledger(cache_folder(config), Path(given).expanduser() if given else None)
    return session.ledger
