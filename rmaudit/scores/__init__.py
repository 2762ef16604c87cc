"""Score tokens, texts and whole answers with a reward model, and cache the scores."""
