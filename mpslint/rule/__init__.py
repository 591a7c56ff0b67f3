"""One rule file: what it says, how it is read, and how its conditions are asked of a file."""

from __future__ import annotations
