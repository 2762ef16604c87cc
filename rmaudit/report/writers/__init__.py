"""Writers: one file of a run's folder each, rendered from results.json alone."""
