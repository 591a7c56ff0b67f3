"""The words that every part speaks, and how knowledge files are read."""
