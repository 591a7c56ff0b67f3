"""Fixes: from a rule's recipe to edits, and from edits to a changed file."""
