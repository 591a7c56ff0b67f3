"""What tensors, modules, arrays and loaders are on the Target, what functions make of them, and what goes wrong where they meet."""
