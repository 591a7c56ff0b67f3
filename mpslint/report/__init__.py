"""How results are shown: one file for each kind of result."""

from __future__ import annotations
