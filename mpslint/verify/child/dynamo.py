"""Keeps torch's compiler out of runs that compile nothing: torch imports it at the first optimizer step, which takes
longer than most runs."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

NAME = "torch._dynamo"
ALONE = frozenset({"torch._dynamo._trace_wrapped_higher_order_op"})
"""Modules of the compiler that need nothing else of it: transformers imports this one for its masks."""


class _LateFrames(ModuleType):
    """Stands for the module with the class of what is compiled, which nothing is as long as the compiler isn't there."""

    class OptimizedModule:
        """A module that was compiled."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_load().eval_frame, name)


class _Late(ModuleType):
    """Stands for torch's compiler until something asks more of it than to stay away."""

    def disable(self, function: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return a function as it is: nothing compiles it."""
        return function if function is not None else lambda given: given

    def assume_constant_result(self, function: Any) -> Any:
        """Return a function as it is, whatever the compiler may take its result for."""
        return function

    allow_in_graph = assume_constant_result
    eval_frame = _LateFrames(f"{NAME}.eval_frame")

    def graph_break(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_load(), name)


class _Submodules(importlib.abc.MetaPathFinder):
    """Loads the compiler itself before one of its modules is imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Leave every module to the finders after this one."""
        if name.startswith(f"{NAME}.") and name not in ALONE:
            _load()


def _load() -> ModuleType:
    """Return the compiler, imported now if it wasn't before."""
    if isinstance(sys.modules.get(NAME), _Late):
        del sys.modules[NAME]
        module: Any = torch
        module._dynamo = importlib.import_module(NAME)
    return sys.modules[NAME]


def leave_compiler_out() -> None:
    """Have torch's compiler imported only when it is used."""
    spec = importlib.util.find_spec(NAME) if NAME not in sys.modules else None
    if spec is None:
        return
    late = importlib.util.module_from_spec(spec)
    late.__class__ = _Late
    sys.modules[NAME] = late
    module: Any = torch
    module._dynamo = late
    sys.meta_path.insert(0, _Submodules())
