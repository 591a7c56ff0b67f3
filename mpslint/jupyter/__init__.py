"""mpslint inside a notebook: the IPython extension."""
