"""`mpslint clean`: remove the cache."""

from __future__ import annotations

from pathlib import Path

import click

from mpslint.cli._say import say
from mpslint.core.finding import ReadError
from mpslint.session.configuration import find_configuration


@click.command(short_help="Remove the cache of this project.")
def command() -> None:
    """Remove the cached findings of this project, and nothing that mpslint didn't write.

    The cache is below `$MPSLINT_CACHE_DIR`, or else below the user's cache folder (`~/.cache/mpslint`).
    """
    from mpslint.session.cache import cache_folder, clean

    try:
        folder = cache_folder(find_configuration(Path.cwd()).folder)
        left = clean(folder)
    except OSError as error:
        raise ReadError(f"the cache cannot be removed: {error.filename or ''} {error.strerror or error}") from None
    if left is None:
        say(f"There is no cache at {folder.path}.")
    elif left:
        say(f"Removed the cached findings from {folder.path}; other files there are kept: {', '.join(left[:5])}")
    else:
        say(f"Removed {folder.path}.")
