"""`python -m mpslint` is the same as `mpslint`."""

from __future__ import annotations

from mpslint.cli import main

if __name__ == "__main__":
    main()
