"""What lies in a folder, asked once a run: configuration, pins and the root of a project are looked for in the same folders."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")
_REMEMBERED: list[functools._lru_cache_wrapper[Any]] = []


def remembered(maxsize: int) -> Callable[[Callable[..., Result]], functools._lru_cache_wrapper[Result]]:
    """Return `functools.lru_cache` for a function of what lies on the disk; `forget_disk` empties all of these."""

    def decorate(function: Callable[..., Result]) -> functools._lru_cache_wrapper[Result]:
        cached = functools.lru_cache(maxsize)(function)
        _REMEMBERED.append(cached)
        return cached

    return decorate


def forget_disk() -> None:
    """Ask the disk again from now on, in a process that outlives changes of configurations and pins."""
    for cached in _REMEMBERED:
        cached.cache_clear()


def folder_of(path: str) -> str:
    """Return what of a path comes before the name: a folder with a separator at its end, or nothing."""
    return path[: path.rfind(os.sep) + 1] if os.altsep is None else path[: len(path) - len(os.path.basename(path))]


def absolute(folder: str) -> str:
    """Return the absolute path of a folder."""
    return _absolute(folder, "" if os.path.isabs(folder) else os.getcwd())


@functools.lru_cache(maxsize=8192)
def _absolute(folder: str, _working: str) -> str:
    return os.path.abspath(folder)


@remembered(maxsize=8192)
def names_in(folder: str) -> frozenset[str]:
    """Return the names in a folder; none of one that cannot be read."""
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()
