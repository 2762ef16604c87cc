"""The sequences that a reward model scores highest and lowest: searches, and what they may find."""
