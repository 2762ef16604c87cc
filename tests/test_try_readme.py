"""Compare what README shows of a run with what the run printed."""

from __future__ import annotations

from scripts.try_readme import block, not_printed

SAID = "downloading\nPASSES  2 gates: 2 pass\n✓ a, b, c, d\n○ e  not decided: 0.3\n"


def test_a_line_may_be_shortened_and_others_left_out() -> None:
    """In their order, with any spaces."""
    assert not_printed(["PASSES 2 gates: 2 pass", "✓ a, b, [...]"], SAID) == []
    assert not_printed(["✓ a, [...]", "○ e not decided: 0.3"], SAID) == []


def test_what_was_not_printed_is_named() -> None:
    """Another number, a part of a line, and lines in another order."""
    assert not_printed(["○ e  not decided: 0.4"], SAID) == ["○ e  not decided: 0.4"]
    assert not_printed(["✓ a, b"], SAID) == ["✓ a, b"]
    assert not_printed(["○ e[...]", "PASSES[...]"], SAID) == ["PASSES[...]"]


def test_the_first_block_of_a_language() -> None:
    """Without empty lines."""
    page = "a\n```text\nno\n```\n```console\nrun  # now\n\nstop\n```\n```console\nlater\n```\n"

    assert block(page, "console") == ["run  # now", "stop"]
