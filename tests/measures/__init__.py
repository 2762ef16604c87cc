"""The measures: known numbers, properties, planted effects, refusals."""
