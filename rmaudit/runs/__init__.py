"""A run of audits: its options and its context."""
