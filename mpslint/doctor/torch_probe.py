"""What torch says about MPS, asked in a child process, so that a slow or crashing import costs nothing here.

The child runs outside of the current folder and without it on its path: that folder may be a stranger's, and hold a `json.py`. Python's
own `-I` would also leave out PYTHONPATH and the user's packages, where torch may well be installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace

from mpslint.core.data import from_data
from mpslint.core.finding import UsageError

_PROBE = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import json
import torch
found = {"built": torch.backends.mps.is_built(), "available": torch.backends.mps.is_available()}
if found["available"]:
    try:
        found["usable"] = bool((torch.ones(2, device="mps") + 1).sum().item() == 4)
        if hasattr(torch.mps, "recommended_max_memory"):
            found["recommended"] = torch.mps.recommended_max_memory()
    except (RuntimeError, TypeError) as error:
        found["usable"], found["error"] = False, str(error)
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class TorchProbe:
    """The answers of torch: built with MPS, available, and able to add two numbers on it; None where it was not asked.

    `recommended` is Metal's working set in bytes; `error` says why an answer is missing.
    """

    built: bool | None = None
    available: bool | None = None
    usable: bool | None = None
    recommended: int | None = None
    error: str = ""


def probe_torch(timeout: float, python: str = sys.executable) -> TorchProbe:
    """Ask the torch of this environment, for at most `timeout` seconds."""
    try:
        done = subprocess.run([python, "-c", _PROBE], cwd=sys.prefix, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return TorchProbe(error=f"no answer from torch within {timeout:g} seconds")
    except OSError as error:
        return TorchProbe(error=f"Python could not be started: {error.strerror or error}")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        return TorchProbe(error=f"import torch failed: {last[:300]}")
    return _answers(done.stdout)


def _answers(printed: str) -> TorchProbe:
    try:
        found = from_data(TorchProbe, json.loads(printed.strip().splitlines()[-1]))
    except (UsageError, ValueError, LookupError):
        return TorchProbe(error="torch printed something else than its answers")
    return replace(found, error=found.error[:300])
