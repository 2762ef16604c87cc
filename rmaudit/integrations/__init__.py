"""rmaudit inside other programs: a callback of trainers."""
