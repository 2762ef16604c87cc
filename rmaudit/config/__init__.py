"""Configuration: models.yaml, read once and strictly, and where files are kept."""
