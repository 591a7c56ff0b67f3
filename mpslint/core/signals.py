"""The signals that end a program, and work that they must not end halfway."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def signals_later() -> Iterator[None]:
    """Have signals wait until the block is left."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
