"""Data types of estimates, bounds and findings, and the functions that judge and summarize them."""
