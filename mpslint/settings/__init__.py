"""Settings: what a run is told to do, in one language, whatever framework and spelling the file uses."""

from __future__ import annotations
