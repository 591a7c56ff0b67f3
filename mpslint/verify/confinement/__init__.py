"""Keeps a script of somebody else's to its own folder, with what the operating system offers for it."""
