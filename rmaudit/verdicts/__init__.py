"""Verdicts: what is measured, what it is held against, what follows. Plain data, pure functions."""
