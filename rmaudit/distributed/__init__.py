"""Scoring on more than one machine: which scores a run needs, and where they are computed."""
