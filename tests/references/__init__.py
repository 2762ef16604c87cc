"""Outside data: where they are found, and what is in them."""
