"""What Python code does on the Target: its syntax tree, its values with their origins, and the facts that rules ask about."""
