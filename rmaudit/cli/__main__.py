"""Entry point of `python -m rmaudit.cli`."""

from rmaudit.cli import app

app()
