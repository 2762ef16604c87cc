"""Runs of one model compared: the run before this one, two releases, a whole history."""
