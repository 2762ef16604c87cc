"""Use rmaudit inside other programs: a callback for trainers of reward models."""
