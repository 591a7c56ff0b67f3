"""mpslint says what a PyTorch training run will do on an Apple-silicon Mac, before it runs.

`mpslint.check(text, filename=...)` and `mpslint.fix(text, filename=...)` are the library; see `mpslint.api`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpslint.api import CheckResult, Edit, Finding, FixResult, check, fix
    from mpslint.core.finding import MpslintError, ReadError, UsageError

__version__ = "0.1.0"
__all__ = [
    "CheckResult",
    "Edit",
    "Finding",
    "FixResult",
    "MpslintError",
    "ReadError",
    "UsageError",
    "__version__",
    "check",
    "fix",
    "load_ipython_extension",
]


def __getattr__(name: str) -> Any:
    """Load the library only when it is used: the command line starts faster without."""
    if name in __all__:
        import importlib

        module = "mpslint.core.finding" if name.endswith("Error") else "mpslint.api"
        return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'mpslint' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the library too, though it is not loaded yet."""
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: Any) -> None:
    """Give IPython, which calls this for `%load_ext mpslint`, the magics `%mpslint` and `%%mpslint`."""
    from mpslint.jupyter.magic import register

    register(ipython)
