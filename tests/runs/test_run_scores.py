"""Requests for scores can be sent to another process, and made again there."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import get_args

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.model_spec import Implicit, Judge
from rmaudit.config.user_prompts_and_lists import OwnLexicon, OwnWords
from rmaudit.prompts import Prompt
from rmaudit.runs.run_scores import Kind, Request, Scores
from rmaudit.search.search_settings import Settings


def test_a_request_can_be_sent() -> None:
    """With all that it may have: own words, a conversation, and models of models."""
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which?"}]
    judge = ModelSpec("m", "/m", judge=Judge("Yes", "No", "/t.jinja", ("/other.jinja",)))
    given = {
        "prompt": Prompt.conversation("talk", turns, +1),
        "own_words": OwnWords(lexicons={"mine": OwnLexicon(Path("/mine.csv"), (1.0, 9.0))}),
        "settings": Settings(method="gcg", budget=9, batch=5, ids=(1, 2)),
    }
    request = Request("sweep", ModelSpec("n", "/n", implicit=Implicit(judge, 0.1, True)), given)

    assert pickle.loads(pickle.dumps(request)) == request  # noqa: S301  (its own bytes, as Ray sends them)


def test_every_kind_is_a_method() -> None:
    """So that a request can be made again."""
    assert all(callable(getattr(Scores, kind)) for kind in get_args(Kind))
