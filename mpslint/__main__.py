"""`python -m mpslint` is the same as `mpslint`, and imports nothing from the current folder once it runs."""

from __future__ import annotations

import contextlib
import os
import sys

from mpslint import __version__


def main() -> None:
    """Run the command line. The version alone is said without it: loading it takes longer than starting Python."""
    if sys.argv[1:] in (["--version"], ["-V"]) and sys.stdout is not None and sys.stderr is not None:
        with contextlib.suppress(OSError):  # which the command line reports
            os.write(1, f"mpslint {__version__}{os.linesep}".encode())
            return
    try:
        from mpslint.cli import main as run

        run()
    except KeyboardInterrupt:  # before the command line, which says the same, is loaded
        with contextlib.suppress(OSError, AttributeError):
            sys.stderr.write("mpslint: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    with contextlib.suppress(FileNotFoundError):  # the current folder was deleted, so Python can import nothing from it
        if sys.path[0] in ("", os.getcwd()):
            del sys.path[0]  # the current folder, which `-m` puts first: it may be a stranger's, and hold a `json.py`
    main()
