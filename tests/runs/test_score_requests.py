"""What is asked of a model, as plain data for another process."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.model_spec import Implicit, Judge
from rmaudit.config.user_prompts_and_lists import OwnLexicon, OwnWords
from rmaudit.prompts import FAMILY, Prompt
from rmaudit.runs.score_requests import Request, from_plain, plain
from rmaudit.search.search_settings import Settings


def test_a_request_is_plain_data_and_back() -> None:
    """Nothing but texts, numbers, None, tuples and mappings, of any kind of request."""
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which?"}]
    spec = ModelSpec("m", "/m", notes=("one", "two"), logit=3)
    german = OwnWords(
        language="de",
        lexicons={"mine": OwnLexicon(Path("/mine.csv"), (1.0, 9.0))},
        instead={"labmt": "mine"},
    )
    judge = Judge("Yes", "No", "/t.jinja", ("/other.jinja",))
    dpo = Implicit(replace(spec, judge=judge), 0.1, closing=True)
    settings = Settings(method="gcg", budget=9, batch=5, ids=(1, 2))
    for request in (
        Request(spec, FAMILY["best_ever_one"], "sweep", sample=5, seed=2, words=("love",)),
        Request(spec, FAMILY["best_ever_one"], "sweep", words=("lexicon:mine",), own_words=german),
        Request(spec, Prompt.conversation("talk", turns, +1), "texts", texts=("a", "b")),
        Request(spec, FAMILY["best_ever_one"], "search", settings=settings),
        Request(spec, Prompt("pairs", "own", 0), "pairs", pairs=(("q", "", "a"),)),
        Request(replace(spec, judge=judge), FAMILY["best_ever_one"], "sweep"),
        Request(replace(spec, implicit=dpo), FAMILY["best_ever_one"], "sweep"),
    ):
        assert from_plain(plain(request)) == request
        json.dumps(plain(request))  # which knows nothing else
