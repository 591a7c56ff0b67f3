"""The Mac and its environment: chip, memory, macOS, and the versions that a project pins."""
