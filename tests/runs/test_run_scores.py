"""Requests for scores become plain data for another process, and requests again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pandas as pd

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.model_spec import Implicit, Judge
from rmaudit.config.user_prompts_and_lists import OwnLexicon, OwnWords
from rmaudit.distributed.ray_actors import from_plain, plain
from rmaudit.prompts import FAMILY, Prompt
from rmaudit.runs.run_scores import Kind, Request, Scores
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
    best = FAMILY["best_ever_one"]
    talk = Prompt.conversation("talk", turns, +1)
    for request in (
        Request("sweep", spec, {"prompt": best, "sample": 5, "seed": 2, "words": ("love",)}),
        Request("sweep", spec, {"prompt": best, "words": ("lexicon:mine",), "own_words": german}),
        Request("texts", spec, {"prompt": talk, "texts": ("a", "b")}),
        Request("search", spec, {"prompt": best, "settings": settings}),
        Request("sweep", replace(spec, judge=judge), {"prompt": best}),
        Request("base", replace(spec, implicit=dpo), {"prompt": best}),
    ):
        assert from_plain(plain(request)) == request
        json.dumps(plain(request))  # which knows nothing else


def test_whole_answers_are_plain_data_and_back() -> None:
    """Those columns that a reward depends on; what else a fixture has stays here."""
    answers = pd.DataFrame({"prompt": ["q"], "turns": [""], "response": ["a"]})
    request = Request("pairs", ModelSpec("m", "/m"), {"answers": answers.assign(line=1)})

    back = from_plain(plain(request))

    pd.testing.assert_frame_equal(back.given["answers"], answers)
    assert (back.kind, back.spec, back.prompt.name) == ("pairs", request.spec, "pairs")
    json.dumps(plain(request))


def test_every_kind_is_a_method() -> None:
    """So that a request can be made again."""
    assert all(callable(getattr(Scores, kind)) for kind in get_args(Kind))
