"""The audits themselves, on planted sweeps: each passes, fails, cannot tell and errors."""
