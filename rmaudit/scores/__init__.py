"""Vocabulary sweeps: every token id scored as the answer to one prompt, and stored."""
