"""How a pooled hidden state becomes a reward: one file per head family."""
