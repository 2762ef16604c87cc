"""Functions that are known by name: what is refused, and when two are one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import default_path, load_registry
from rmaudit.config.scorer_functions import scorer, scorers
from rmaudit.errors import SpecError


def lengths(_: str, responses: Sequence[str]) -> list[float]:
    """Longer is better."""
    return [float(len(response)) for response in responses]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"name": "*"}, ["'*'", "letters"]),
        ({"name": ""}, ["''"]),
        ({"batch": 0}, ["batch=0", "from 1"]),
        ({"retries": -1}, ["retries=-1", "from 0"]),
        ({"concurrency": 1000}, ["concurrency=1000", "64"]),
        ({"version": ""}, ["version=''"]),
        ({"vocabulary": []}, ["toy", "empty"]),
        ({"vocabulary": ["a", 1]}, ["toy", "1 in it", "texts"]),
        ({"vocabulary": ["a", "b\ud800"]}, ["toy: its voc", "half a character", "'b\\ud800'"]),
        ({"vocabulary": ["a", "a"]}, ["toy", "1 texts", "twice"]),
    ],
)
def test_a_wrong_declaration_is_refused(arguments: dict[str, Any], names: list[str]) -> None:
    """What was found and what is allowed are named."""
    with pytest.raises(SpecError) as caught:
        scorer(**{"name": "toy", **arguments})(lengths)

    assert all(name in str(caught.value) for name in names), caught.value


def test_one_name_is_one_function() -> None:
    """Another function may not take it; the same one, declared again, replaces itself."""
    scorer("toy")(lengths)
    scorer("toy", batch=3)(lengths)

    assert scorers()["toy"].batch == 3
    with pytest.raises(SpecError, match="two scorers are called 'toy'"):
        scorer("toy")(lambda _, responses: [0.0] * len(responses))


def test_what_decides_its_scores_is_its_version_or_its_source() -> None:
    """One of the two; a function that has neither is refused."""
    scorer("old", version="1")(lengths)
    scorer("new")(lengths)
    scorer("odd")(eval("lambda prompt, responses: [0.0] * len(responses)"))  # noqa: S307

    assert scorers()["old"].identity == {"scorer": "old", "version": "1"}
    assert set(scorers()["new"].identity) == {"scorer", "source"}
    with pytest.raises(SpecError, match=r"odd: the source .* version="):
        _ = scorers()["odd"].identity


def test_it_is_named_like_any_model() -> None:
    """By its name, its source, and a glob; a name that is near is suggested."""
    scorer("house-rm")(lengths)
    registry = load_registry(default_path())

    assert [spec.name for spec in resolve(registry, "house-rm")] == ["house-rm"]
    assert resolve(registry, "scorer:house-rm") == resolve(registry, "house-*")
    with pytest.raises(SpecError, match="did you mean 'house-rm'"):
        resolve(registry, "house-mr")
    scorer("R-Smol-135M")(lengths)
    with pytest.raises(SpecError, match="two models are called 'R-Smol-135M'"):
        resolve(registry, "R-Smol-135M")
    assert resolve(registry, "scorer:R-Smol-135M")[0].source == "scorer:R-Smol-135M"
