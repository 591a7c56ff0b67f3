"""Functions of modules and classes that others stand in for while foreign code runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def replaces(owner: Any, name: str) -> Callable[[Function], Function]:
    """Have the decorated function stand in for one of a module or a class: it gets that one, and then what that one is called with."""
    original = getattr(owner, name)

    def put(function: Function) -> Function:
        @functools.wraps(original)
        def instead(*args: Any, **kwargs: Any) -> Any:
            return function(original, *args, **kwargs)

        setattr(owner, name, instead)
        return instead

    return put
