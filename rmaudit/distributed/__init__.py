"""Past one machine: what a run needs, and who makes it."""
