"""The study of which gates predict what training does."""
