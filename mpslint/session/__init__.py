"""One command over many files: options, configuration, cache, baseline, processes."""

from __future__ import annotations
