"""What audits need as they run: the run's options, requests for scores, and the fixtures."""
