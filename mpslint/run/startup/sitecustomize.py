"""Loaded by Python in every process of `mpslint run`, because this folder is first in PYTHONPATH: installs the probe, then makes way.

An environment may have a `sitecustomize` of its own further down the path; it is imported as if this one didn't exist.
"""

from __future__ import annotations

import importlib.util
import os
import sys


def _install_probe() -> None:
    path = os.environ.get("MPSLINT_RUN_PROBE", "")
    spec = importlib.util.spec_from_file_location("_mpslint_probe", path) if path else None
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["_mpslint_probe"] = module
        spec.loader.exec_module(module)
        module.install(os.environ["MPSLINT_RUN_EVENTS"])


def _import_the_next() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    rest = [place for place in sys.path if os.path.abspath(place or os.curdir) != here]
    if importlib.machinery.PathFinder.find_spec("sitecustomize", rest) is None:
        return
    kept, sys.path[:] = list(sys.path), rest
    own = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    finally:
        sys.path[:] = kept
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


try:
    _install_probe()
except Exception as error:  # the run goes on unwatched: whatever fails here is mpslint's, never the user's
    sys.stderr.write(f"mpslint: this process isn't watched: {error}\n")
_import_the_next()
