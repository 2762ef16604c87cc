"""The page: what it says, in which order, and the explorer of tokens."""
