"""Rebuilds the machine-readable part of `rules/` from the packages on the index."""
