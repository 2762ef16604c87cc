"""Run the command by `python -m rmaudit.cli`."""

from rmaudit.cli import app

app()
