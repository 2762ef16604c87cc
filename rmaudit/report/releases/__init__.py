"""Releases of a model: compare two, bless one that later ones must not be worse than, list all."""
