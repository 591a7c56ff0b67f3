"""Metrics of the `evaluate` library: emulated runs have no values to score, and the library, its metrics or what these need may be missing.

A metric that isn't there scores nothing: each of its scores is 0.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from mpslint.verify.child.torch_patches import Shortened

NAME = "evaluate"


class Scores(dict[str, float]):
    """Scores by name, 0 whichever is asked for."""

    def __missing__(self, name: str) -> float:
        return 0.0


class Metric:
    """A metric that scores nothing."""

    def __init__(self, *names: str) -> None:
        self.name = "_".join(names)

    def compute(self, *args: Any, **kwargs: Any) -> Scores:
        """Return a score of 0."""
        return Scores({self.name: 0.0})

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Take a prediction."""

    add_batch = add


class Metrics(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the library where nothing else does: an empty one, whose metrics score nothing."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Return the spec of the library; None for all other modules."""
        return importlib.machinery.ModuleSpec(name, self) if name == NAME else None

    def exec_module(self, module: ModuleType) -> None:
        """Fill the library."""


def score_nothing(module: ModuleType, shortened: Shortened) -> None:
    """Have the library load metrics that score nothing where it can't load its own."""
    own = getattr(module, "load", None)

    def load(path: Any, *args: Any, **kwargs: Any) -> Any:
        if own is not None:
            try:
                return own(path, *args, **kwargs)
            except (OSError, ImportError):
                pass
        shortened.note(f"the metric {str(path)!r} isn't on this machine: its scores are 0")
        return Metric(str(path))

    def combine(metrics: Sequence[Any], *args: Any, **kwargs: Any) -> Metric:
        return Metric(*map(str, metrics))

    library: Any = module
    library.load = load
    if own is None:
        library.combine = combine
