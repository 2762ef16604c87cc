"""Checkpoints: where a model's files come from, what they hold, and the head that they carry."""
