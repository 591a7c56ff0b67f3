"""The tests of mpslint; a module's tests have its name."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
