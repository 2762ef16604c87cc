"""The summary: the verdict first, what does not pass next, never too large, and no tokens."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from rmaudit.outputs.markdown import LARGEST, escape, render
from rmaudit.verdicts.estimates_and_bounds import Verdict, above
from rmaudit.verdicts.findings import Control, Figure, Finding
from tests.findings import but
from tests.report.conftest import typed, with_findings


def of(results: dict[str, Any], *findings: Finding) -> str:
    """The summary of these findings alone."""
    return render(with_findings(typed(results), *findings))


@pytest.fixture
def passing(results: dict[str, Any]) -> Finding:
    """A measured finding that passes."""
    return typed(results).findings[0]


def test_the_whole(results: dict[str, Any]) -> None:
    """Every section, in the order in which a reader needs them."""
    assert render(typed(results)) == WHOLE


def test_figures_are_a_folded_list(results: dict[str, Any], passing: Finding) -> None:
    """A line each, with what was measured or why nothing was; no part of any table or count."""
    looks, lost = Figure.of(passing.claim, passing.estimate), Figure.of(passing.claim, reason="<b>")

    told = render(replace(typed(results), figures=(looks, lost)))

    (listed,) = re.findall(r"<details><summary>Figures, .*?</details>", told, re.DOTALL)
    lines = [line for line in listed.splitlines() if line.startswith("- ")]
    assert [line.partition(": ")[2] for line in lines] == [
        escape(str(passing.estimate)),
        "not measured: &#60;b&#62;",
    ]
    assert told.replace(f"\n{listed}\n", "") == render(typed(results))


def test_what_failures_may_do_is_said_once_for_each_audit(results: dict[str, Any]) -> None:
    """Of those that block or are accepted; nothing where the audit says nothing."""
    failing = but(typed(results).findings[2], harm="It may mislead <people>.")

    told = of(results, failing, but(failing, prompt="best"))

    assert told.count("- framing (Framing): It may mislead &#60;people&#62;.\n") == 1
    assert "may do to people" not in of(results, but(failing, blocks=False, harm=""))


WHOLE = """\
## rmaudit: NOT ESTABLISHED

**Do not release yet: one required check has no data (framing), one check broke (framing), one gate is open (framing).** 1 gate blocks (1 open); framing was not measured: No data here.

Audited: Toy

1 gate: 1 open

- ○ **Do the other audits pass?** Not known: no gate passes; 1 is open.

### Blocks (1 audit)

| result | effect | model | audit | prompt | value | 95 % interval | bound | why |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| open | blocks | Toy | framing | worst | +0.62 rho | +0.50 to +0.75 | above 0.2 rho | harm is neither shown nor ruled out; a true value of 0.021 rho or worse would have been shown in 80 of 100 cases |
| not run | blocks | Toy | framing | greatest |  |  | above 0.2 rho | It broke &#60;b&#62;badly&#60;/b&#62;. |

### Accepted in models.yaml (1 audit)

| result | effect | model | audit | prompt | value | 95 % interval | bound | why |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| fail | accepted | Toy | framing | greatest | +0.62 rho | +0.50 to +0.75 | above 0.2 rho | It is small, and known to be so. |

### Not measured (1 audit)

- Of Toy: No data here. (framing)

<details><summary>Passed, or measured for information (1 audit)</summary>

| result | effect | model | audit | prompt | value | 95 % interval | bound | why |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| pass |  | Toy | framing | greatest | +0.62 rho | +0.50 to +0.75 | above 0.2 rho |  |

</details>

<sub>A pass says that a flaw of this size was not found on these words; it never says that a model is free of bias, or debiased: no fixed audit can tell (arXiv 2605.27996).</sub>

<sub>rmaudit 0.1.0, 2026-11-21T10&#58;50&#58;00Z, `results.json` has everything, `index.html` is the report. Again: pytest audits --model '&#60;i&#62;'</sub>
"""  # noqa: E501


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["word " * 60, "|" * 300, "\U000f0000" * 300], ids=["words", "bars", "wide"]
)
def test_it_is_never_too_large(results: dict[str, Any], passing: Finding, text: str) -> None:
    """Thousands of findings with long texts are cut, and how many lines are missing is said."""
    failed = but(
        passing,
        verdict=Verdict.FAIL,
        blocks=True,
        prompt=text,
        bound=above(0.2, unit=text),
        reason=text,
    )
    many = [but(failed, audit=f"audit{i}") for i in range(2000)]
    results["models"] = [results["models"][0] | {"name": text}] * 40
    results["run"] |= {"command": text, "rmaudit": text}

    written = of(results, *many)

    size = len(written.encode())
    assert 0.7 * LARGEST < size <= LARGEST
    rows = written.count("| fail | blocks |")
    assert f"\n… {2000 - rows} more lines: see `results.json`.\n" in written
    assert written.startswith(
        "## rmaudit: FAILS\n\n**Do not release.** 2000 gates block (2000 fail)"
    )
    assert written.endswith("</sub>\n")


def test_a_cut_closes_what_was_folded(results: dict[str, Any], passing: Finding) -> None:
    """The end of the summary is not hidden with the rows."""
    written = of(results, *(but(passing, audit=f"audit{i}") for i in range(2000)))

    assert written.count("<details>") == written.count("</details>") == 1
    assert written.index("</details>") < written.index("more lines")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("positive_skew", "positive_skew"),
        ("_it_", "&#95;it&#95;"),
        ("a_b ___", "a_b &#95;&#95;&#95;"),
        ("a: b", "a: b"),
        ("http://x", "http&#58;//x"),
        ("www.x.org", "www&#46;x.org"),
        ("0.5 (3 of 4), -1", "0.5 (3 of 4), -1"),
        ("a|b\\", "a&#124;b&#92;"),
        ("two\nlines", "two lines"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    """Only what Markdown would read as markup is changed."""
    assert escape(text) == escaped


def test_a_pass_of_random_scores_too_stands_apart(
    results: dict[str, Any], passing: Finding
) -> None:
    """It says that it may mean indifference, and a long address in a reason is cut."""
    random = {"random": Control(Verdict.PASS, False, 0.5, 0.4, 0.6)}
    failing = but(passing, audit="framing_inversion", verdict=Verdict.FAIL, blocks=True)
    url = f"https://data.example.org/{'x' * 99}"

    written = of(
        results,
        failing,
        but(passing, controls=random),
        but(passing, audit="elo", estimate=None, reason=f"{url} is gone"),
    )

    (section,) = re.findall(
        r"### Passes that may mean indifference [(]1 audit[)].*?\n\n.*?\n\n", written, re.DOTALL
    )
    assert "it may mean indifference: random scores pass it too" in section
    assert "https&#58;//data.example.org/… is gone" in written
    assert "xxx" not in written
