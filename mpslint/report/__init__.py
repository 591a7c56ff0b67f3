"""What was found, as people and machines want to read it."""

from __future__ import annotations
