"""What a reward model is, and how one is made from its registry entry."""
