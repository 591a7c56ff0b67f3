"""What was found, as people and machines want to read it."""
