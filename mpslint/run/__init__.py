"""Watching a real training run."""
