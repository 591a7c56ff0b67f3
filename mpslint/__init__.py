"""mpslint says what a PyTorch training run will do on an Apple-silicon Mac, before it runs."""

from __future__ import annotations

__version__ = "0.1.0"
