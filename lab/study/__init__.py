"""A study of which gates predict the harm that training on a reward does."""
