"""The results of which outputs are made."""

from tests.report.conftest import results

__all__ = ["results"]
