"""Notebooks for tests, in the shapes in which people's tools write them."""

from __future__ import annotations

import json
from typing import Any


def code_cell(source: Any, **more: Any) -> dict[str, Any]:
    """Return a code cell with a source that is a text or a list of texts."""
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source, **more}


def notebook(*cells: Any, **dump: Any) -> bytes:
    """Return the bytes of a notebook with these cells (texts become code cells, their lines a list)."""
    made = [code_cell(cell.splitlines(keepends=True)) if isinstance(cell, str) else cell for cell in cells]
    data = {"cells": made, "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(data, **{"indent": 1, **dump}) + "\n").encode()
