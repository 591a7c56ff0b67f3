"""Watching a real training run."""

from __future__ import annotations
