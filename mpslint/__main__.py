"""`python -m mpslint` is the same as `mpslint`, and imports nothing from the current folder once it runs."""

from __future__ import annotations

import contextlib
import os
import sys

if __name__ == "__main__":
    with contextlib.suppress(FileNotFoundError):  # the current folder was deleted, so Python can import nothing from it
        if sys.path[0] in ("", os.getcwd()):
            del sys.path[0]  # the current folder, which `-m` puts first: it may be a stranger's, and hold a `json.py`
    from mpslint.cli import main

    main()
