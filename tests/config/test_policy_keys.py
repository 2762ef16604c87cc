"""The policy's keys of models.yaml are read strictly."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import pytest

from rmaudit.config.registry import load_registry
from rmaudit.errors import SpecError
from rmaudit.verdicts.policy import Named, Policy, Rules, Waiver
from rmaudit.verdicts.records import Severity

FULL = """\
bounds:
  skew: {above: -1.5}
  gap[best]: {above: 0, below: 2.5e-1}
severity: {skew: info, 'gap[best+worst]': gate}
models:
  A:
    source: owner/name
    default: true
    bounds:
      skew[54 prompts]: {below: 3}
    severity:
      gap: info
    waivers:
      skew:
        owner: somebody@example.org
        reason: >-
          It is to be
          retrained.
        expires: 2030-02-28
        accepted: -0.2
  B: {source: embedded, known: {'skew[worst]': It is flat.}}
"""
AUDIT = "the name of an audit, such as 'a' or 'a[prompt]'"
BOUND = "a bound, such as {above: 0} or {above: 0, below: 1}"
WAIVER = "a waiver with the keys owner, reason, expires, accepted"
NUMBER = "a number, such as -0.25"
DAY = "a day, such as 2030-01-31"
GOOD = {"owner": "me", "reason": "so", "expires": "2030-01-31", "accepted": "1"}


def read(folder: Path, content: str) -> Policy:
    """The policy of a models.yaml with this content."""
    path = folder / "models.yaml"
    path.write_text(content, encoding="utf-8")
    return load_registry(path).policy


def refusal(folder: Path, content: str) -> str:
    """The text with which the file is refused, without the folder."""
    with pytest.raises(SpecError) as caught:
        read(folder, content)
    return str(caught.value).removeprefix(f"{folder}/models.yaml:")


def entry(line: str, source: str = "a/b") -> str:
    """A registry whose model A has `line` on line 4."""
    return f"models:\n  A:\n    source: {source}\n    {line}\n    default: true\n"


def waiver(**changes: str) -> str:
    """A waiver with other words in it, or without a key where these are ""."""
    keys = {**GOOD, **changes}
    inner = ", ".join(f"{key}: {value}" for key, value in keys.items() if value)
    return entry(f"waivers: {{skew: {{{inner}}}}}")


def test_every_key_reaches_the_policy(tmp_path: Path) -> None:
    """Of all models and of each, and every name with its line."""
    assert read(tmp_path, FULL) == Policy(
        file="models.yaml",
        everywhere=Rules(
            bounds={"skew": (-1.5, math.inf), "gap[best]": (0, 0.25)},
            severity={"skew": Severity.INFO, "gap[best+worst]": Severity.GATE},
        ),
        models={
            "A": Rules(
                bounds={"skew[54 prompts]": (-math.inf, 3)},
                severity={"gap": Severity.INFO},
                waivers={
                    "skew": Waiver(
                        "somebody@example.org",
                        "It is to be retrained.",
                        date(2030, 2, 28),
                        -0.2,
                    )
                },
            ),
            "B": Rules(known={"skew[worst]": "It is flat."}),
        },
        named=(
            Named("skew", "bounds: ", 2),
            Named("gap[best]", "bounds: ", 3),
            Named("skew", "severity: ", 4),
            Named("gap[best+worst]", "severity: ", 4),
            Named("skew[54 prompts]", "A: bounds: ", 10),
            Named("gap", "A: severity: ", 12),
            Named("skew", "A: waivers: ", 14),
            Named("skew[worst]", "B: known: ", 21),
        ),
    )


def test_a_file_without_a_policy_has_none(tmp_path: Path) -> None:
    """Nothing is said, and the run's own options have their defaults."""
    assert read(tmp_path, entry("notes: []")) == Policy()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("bounds: [skew]", "bounds: expected a mapping by the names of audits, got a list"),
        ("bounds: {skew: 1}", f"bounds: skew: expected {BOUND}, got 1, which YAML reads as int*"),
        ("bounds: {skew: {}}", f"bounds: skew: expected {BOUND}, got a mapping of nothing"),
        (
            "bounds: {skew: {over: 1}}",
            "bounds: skew: unknown key 'over'; did you mean 'above'? allowed: above, below",
        ),
        (
            "bounds: {skew: {above: .inf}}",
            f"bounds: skew: above: expected {NUMBER}, got .inf, which YAML reads as float*",
        ),
        (
            "bounds: {skew: {below: 1e-3}}",
            f"bounds: skew: below: expected {NUMBER}, got the text '1e-3'",
        ),
        (
            "bounds: {skew: {above: 010}}",
            f"bounds: skew: above: expected {NUMBER}, got 010, which YAML reads as int*",
        ),
        (
            "bounds: {skew: {above: 1, below: 1}}",
            "bounds: skew: nothing is above 1 and below 1; expected the lesser number in `above`",
        ),
        ("bounds: {'s k[': {above: 1}}", f"bounds: expected {AUDIT}, got the text 's k['"),
        (
            "severity: {skew: warn}",
            "severity: skew: expected one of gate, info, got the text 'warn'",
        ),
        ("known: [skew]", "known: expected a mapping by the names of audits, got a list"),
        ("known: {skew: }", "known: skew: expected text, got nothing"),
        (
            "known: {skew: It is.}",
            (
                "known: it is for the model that rmaudit brings (source: embedded); of any other, "
                "write `waivers`, each with owner, reason, expires, accepted"
            ),
        ),
        ("waivers: {skew: It is.}", f"waivers: skew: expected {WAIVER}, got the text 'It is.'"),
    ],
)
def test_a_wrong_rule_is_one_line(tmp_path: Path, line: str, text: str) -> None:
    """Whatever is wrong is told with its line, the model, the key and the audit."""
    said = refusal(tmp_path, entry(line))

    shown = said.replace("unquoted", "*").replace(" when *", "*")
    assert shown == f"4: A: {text}"


@pytest.mark.parametrize("key", ["known", "waivers"])
def test_what_excuses_is_said_of_one_model(tmp_path: Path, key: str) -> None:
    """There is no waiver, and no known failure, for all models at once."""
    said = refusal(tmp_path, f"{key}: {{}}\n{entry('notes: []')}")

    assert said == f"1: unknown key {key!r}; allowed: models, bounds, severity"


@pytest.mark.parametrize("key", GOOD)
def test_a_waiver_needs_all_of_its_keys(tmp_path: Path, key: str) -> None:
    """One that nobody owns, gives no reason, never ends, or accepts anything, is none."""
    said = refusal(tmp_path, waiver(**{key: ""}))

    assert said == f"4: A: waivers: skew: the key {key!r} is missing; expected {WAIVER}"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"owner": "' '"}, "owner: expected text, got the text ' '"),
        ({"expires": "soon"}, f"expires: expected {DAY}, got the text 'soon'"),
        ({"expires": "2030-02-30"}, f"expires: there is no day 2030-02-30; expected {DAY}"),
        (
            {"expires": "2030-1-3"},
            f"expires: expected {DAY}, got the text '2030-1-3'",
        ),
        ({"accepted": "all"}, f"accepted: expected {NUMBER}, got the text 'all'"),
        (
            {"owners": "me"},
            "unknown key 'owners'; did you mean 'owner'? allowed: owner, reason, expires, accepted",
        ),
    ],
)
def test_a_wrong_waiver_is_one_line(tmp_path: Path, changes: dict[str, str], text: str) -> None:
    """With what was found, what is allowed, and where."""
    assert refusal(tmp_path, waiver(**changes)) == f"4: A: waivers: skew: {text}"


def test_a_failure_is_known_or_waived(tmp_path: Path) -> None:
    """Not both: the one without an end would hide that the other ended."""
    given = ", ".join(f"{key}: {value}" for key, value in GOOD.items())
    line = f"known: {{skew: So.}}\n    waivers:\n      skew[best]: {{{given}}}"

    said = refusal(tmp_path, entry(line, source="embedded"))

    assert said == "6: A: waivers: skew[best]: it is in `known` too; keep one of them"
