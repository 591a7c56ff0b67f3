"""What jupyterlab-lsp needs to start the language server by itself: the entry point `jupyter_lsp_spec_v1`."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any


def spec(_manager: object) -> dict[str, dict[str, Any]]:
    """Return how to start the server; nothing where mpslint[lsp] is not installed, so that JupyterLab offers no server that cannot run."""
    if importlib.util.find_spec("pygls") is None:
        return {}
    return {
        "mpslint": {
            "argv": [sys.executable, "-m", "mpslint", "server"],
            "languages": ["python"],
            "mime_types": ["text/python", "text/x-ipython", "text/x-python"],
            "version": 2,
            "display_name": "mpslint",
        }
    }
