"""`mpslint server`: check what is open in an editor, over the Language Server Protocol. The only part that imports pygls."""
