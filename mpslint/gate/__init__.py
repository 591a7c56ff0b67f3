"""Which files and rules can matter at all, found without parsing."""

from __future__ import annotations
