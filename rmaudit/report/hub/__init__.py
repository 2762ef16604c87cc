"""Publish rmaudit's benchmark dataset and a model's results on the Hugging Face Hub."""
