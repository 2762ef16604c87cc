"""Estimates, bounds, findings and verdicts: their types, and how findings are judged."""
