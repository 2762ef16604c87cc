"""Search for the token sequences that a reward model scores highest or lowest."""
