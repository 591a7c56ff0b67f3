"""How long a training step takes on which Mac: the step's work, the chips, and the model that turns one into seconds on the other."""
