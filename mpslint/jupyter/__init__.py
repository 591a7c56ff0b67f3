"""mpslint inside a notebook: the IPython extension."""

from __future__ import annotations
