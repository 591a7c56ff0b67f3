"""`mpslint clean`: remove the cache."""

from __future__ import annotations

from pathlib import Path

import click

from mpslint.configuration import find_configuration


@click.command(short_help="Remove the cache of this project.")
def command() -> None:
    """Remove the cache of findings of this project (.mpslint_cache)."""
    from mpslint.cache import cache_folder, clean

    root = find_configuration(Path.cwd()).folder
    folder = cache_folder(root)
    click.echo(f"Removed {folder}." if clean(root) else f"There is no cache at {folder}.")
