"""Changes to libraries that foreign code imports, made right after the import,
or at once when it was imported before."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

Change = Callable[[ModuleType], None]


class _Loader(importlib.abc.Loader):
    """A module's own loader, and what is to be done after it."""

    def __init__(self, own: Any, change: Change) -> None:
        self.own, self.change = own, change

    def create_module(self, spec: Any) -> Any:
        return self.own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.own.exec_module(module)
        self.change(module)


class AfterImport(importlib.abc.MetaPathFinder):
    """Finds modules as ever, and has some of them changed once they are loaded.

    A module of the code's own may have the name of a library (`datasets.py`): one that lies in the `copy` that runs is left as it is. A
    part of a package that is called like a library's (`transformers.trainer`) is taken for a copy of that library.
    """

    def __init__(self, changes: dict[str, Change], copy: Path) -> None:
        self.changes, self.copy = changes, copy

    def install(self) -> None:
        """Change what is loaded already, and wait for the rest."""
        for name in list(self.changes):
            if name in sys.modules:
                self.changes.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Return the module's spec with our loader around its own; None for all other modules."""
        if name not in self.changes:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                if "." in name or not Path(spec.origin or "").is_relative_to(self.copy):
                    spec.loader = _Loader(spec.loader, self.changes.pop(name))
                return spec
        return None
