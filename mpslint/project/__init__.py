"""Which files make one run: what a file imports of its own project, and the text of all of them joined."""
