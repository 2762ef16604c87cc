"""Publish on the Hugging Face Hub: the benchmark, and the results of a model."""
