"""The same facts as from Python, from shell scripts, `.env` files and the like."""
