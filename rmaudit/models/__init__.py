"""Reward models: their common interface, and how one is opened from its models.yaml entry."""
