"""A declaration is data on a function that stays the function it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmaudit.errors import SpecError
from rmaudit.prompts import FAMILY, PROMPTS, Prompt
from rmaudit.verdicts.audit_declaration import Declaration, audit, declared, is_audit
from rmaudit.verdicts.estimates_and_bounds import Severity, above

Function = Callable[[], object]
BOUND = above(0, unit="skewness")
FIGURE = {"bound": None, "claim": "", "base_rate": "", "question": "How does it look?"}


def declare(**change: Any) -> Callable[[Function], Function]:
    """`@audit` with everything filled in, but for `change`."""
    given: dict[str, Any] = {
        "claim": "It is so.",
        "source": "Somebody 2025",
        "prompts": ["worst", "best"],
        "bound": BOUND,
        "base_rate": "9 of 10 models",
    }
    return audit(**given | change)


def test_a_declaration_holds_what_was_said() -> None:
    """All that `@audit` is given is kept in order, the prompts looked up; nothing is wrapped."""
    said = {"words": ["love", "lexicon:labmt"], "limits": ["One.", "Two."], "severity": "info"}

    def test_test_skew() -> None: ...

    assert declare(**said)(test_test_skew) is test_test_skew
    assert declared(test_test_skew) == Declaration(
        name="test_skew",
        claim="It is so.",
        source="Somebody 2025",
        prompts=(PROMPTS["worst"], PROMPTS["best"]),
        bound=BOUND,
        base_rate="9 of 10 models",
        words=("love", "lexicon:labmt"),
        limits=("One.", "Two."),
        severity=Severity.INFO,
        title="Test skew",
        brief="It is so.",
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"limits": "One."}, r"^an audit's limits are a list of sentences, got limits='One\.'$"),
        ({"words": "love"}, "an audit's words are a list, got words='love'"),
        ({"stops": "random"}, "stops are a list of null controls, got stops='random'"),
        ({"severity": "warn"}, "unknown severity 'warn'; known: core, gate, info"),
        ({"costly": True}, "left out of most runs, so it does not gate: give severity='info'"),
        ({"prompts": []}, r"a list of at least one prompt, got prompts=\[\]; or take"),
        ({"prompts": "best"}, "a list of at least one prompt, got prompts='best'"),
        ({"claim": ""}, "with a bound needs a claim"),
        (FIGURE | {"claim": "It is."}, "has no claim: give a bound, or leave that out"),
        (FIGURE | {"stops": ["random"]}, "has no stops"),
        (FIGURE | {"severity": "info"}, "has no severity"),
        (FIGURE | {"question": ""}, "a figure needs a question"),
    ],
)
def test_a_slip_is_refused_where_it_is_made(change: dict[str, Any], said: str) -> None:
    """One string would be as many limits as it has letters; without a prompt it would never run."""
    with pytest.raises(SpecError, match=said):
        declare(**change)(lambda: None)


def test_what_people_read_travels_in_the_claim() -> None:
    """Without a title it is the function's name; without a question or a harm there is none."""

    @declare(title="Skew", question="Is it?", harm="It may hurt.", brief="So.")
    def test_named() -> None: ...

    @declare()
    def test_value_tilt() -> None: ...

    def claimed(function: object) -> tuple[str, ...]:
        found = declared(function)
        claim = found.claimed(model="M", model_source="", prompt="best", nodeid="")
        return claim.text, claim.title, claim.question, claim.harm

    assert claimed(test_named) == ("It is so.", "Skew", "Is it?", "It may hurt.")
    assert claimed(test_value_tilt) == ("It is so.", "Value tilt", "", "")


def test_a_joint_audit_runs_once_over_its_prompts() -> None:
    """Joint: one run of all prompts; otherwise a run for each, in their order."""
    together, apart = declared(declare(joint=True)(lambda: None)), declared(declare()(lambda: None))

    worst, best = PROMPTS["worst"], PROMPTS["best"]
    assert together.runs == [(worst, best)]
    assert apart.runs == [(worst,), (best,)]


def test_a_name_of_a_prompt_is_looked_up_where_the_declaration_is_read() -> None:
    """A run may have prompts of its own, and no other run knows them; an unknown one is refused."""
    function = declare(prompts=["best", "finest"])(lambda: None)
    finest = Prompt("finest", "What is the finest thing?", +1)

    own = declared(function, {"finest": finest})

    assert own.prompts == (PROMPTS["best"], finest)
    assert is_audit(function)
    with pytest.raises(SpecError) as caught:
        declared(function)
    assert str(caught.value).startswith("unknown prompt 'finest'; known: greatest, best, worst, ")


def test_a_plain_function_declares_nothing() -> None:
    """Only what `@audit` has marked is an audit, not what bears an attribute of the same name."""

    def function() -> None: ...

    function.__rmaudit__ = True

    assert declared(function) is declared(declare) is declared(None) is None


def test_pairs_have_prompts_of_their_own() -> None:
    """An audit of them runs once, and its file is named from its own folder."""

    def function(pairs: object) -> None: ...

    audit(claim="c", source="", bound=BOUND, base_rate="", pairs="own/mine.jsonl")(function)

    found = declared(function)
    assert found.runs == [()]
    assert found.pairs == str(Path(__file__).parent / "own" / "mine.jsonl")


def test_a_joint_audit_asks_the_first_of_each_frame_instead() -> None:
    """An audit of one good and one bad prompt keeps its order of frames, of others' prompts too."""
    found = declared(declare(joint=True)(lambda: None))
    best, greatest = PROMPTS["best"], PROMPTS["greatest"]
    worst, bad = PROMPTS["worst"], FAMILY["bad_ever_one"]

    assert found.instead((greatest, best, bad, worst)) == [(bad, greatest)]
    assert found.instead((best, greatest)) == [(best, greatest)]  # refused: see `refusal`
    assert "none of frame -1 is asked" in found.refusal((best, greatest))
