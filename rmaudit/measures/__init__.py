"""Measures: frames and arrays in, an `Estimate` out. No torch, no files, no pytest."""
