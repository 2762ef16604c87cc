"""The pages that are outputs of runs say what the recorded data of these runs say."""

from __future__ import annotations

from scripts.result_pages import pages


def test_every_page_is_written_from_its_data() -> None:
    """`python -m scripts.result_pages` writes again those that differ."""
    written = pages()

    differ = [path.name for path, text in written.items() if path.read_text("utf-8") != text]
    assert differ == []
