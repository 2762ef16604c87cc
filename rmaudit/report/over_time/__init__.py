"""Compare runs of one model: with the last run, two releases, or a whole history."""
