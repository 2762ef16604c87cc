"""The lines of progress where there is no terminal; the bar is tested in plugin/test_progress."""

from __future__ import annotations

import pytest

from rmaudit.scores.progress_bar import BETWEEN_LINES, TO_FIRST_LINE, Bar


def test_progress_in_a_log_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """Soon the first, then seldom; what an earlier run did says nothing of speed."""
    seconds = iter(
        [0.0, 0.0, 1.0, TO_FIRST_LINE + 1, TO_FIRST_LINE + 2, BETWEEN_LINES + TO_FIRST_LINE + 1]
    )
    with Bar("toy · best", 1000, " tokens", clock=lambda: next(seconds)) as bar:
        bar.found(380)
        for done in (31, 31, 31, 90):
            bar.advance(done)

    said = capsys.readouterr().err.splitlines()
    assert said == [
        "toy · best: 442 of 1,000 tokens, 10 a second, 00:54 left",
        "toy · best: 563 of 1,000 tokens, 5.1 a second, 01:25 left",
    ]


def test_who_waits_for_another_process_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Where nobody looks at a bar, too: on stderr."""
    Bar("toy · best", 1000, " tokens").wait()

    said = capsys.readouterr().err
    assert said == "toy · best: another process is scoring the same; waiting for it\n"


def test_no_time_is_told_from_too_little(capsys: pytest.CaptureFixture[str]) -> None:
    """Three of ten thousand, of which the first waits for the weights, say nothing of the rest."""
    seconds = iter([0.0, 0.0, TO_FIRST_LINE + 1])
    with Bar("toy", 10_000, " tokens", clock=lambda: next(seconds)) as bar:
        bar.advance(3)

    assert capsys.readouterr().err == "toy: 3 of 10,000 tokens, 0.5 a second\n"
