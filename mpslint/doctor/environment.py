"""What decides in this environment what happens on MPS: the versions of packages, of which none is imported, what `accelerate config`
wrote, which later runs use without a word, and what torch says, asked in a child process, so that a slow or crashing import costs
nothing here.

The child runs outside of the current folder and without it on its path: that folder may be a stranger's, and hold a `json.py`. Python's
own `-I` would also leave out PYTHONPATH and the user's packages, where torch may well be installed.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from mpslint.core.data import from_data
from mpslint.core.finding import MpslintError, UsageError
from mpslint.core.knowledge import platform_data, read_yaml
from mpslint.core.outside import is_file, parse_json, read_text
from mpslint.core.versions import Version, parse_version

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


def installed_packages() -> Mapping[str, str]:
    """Return the version of each package that mpslint knows and this environment has, in the order of the knowledge."""
    found = {}
    for name in known_packages():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def known_packages() -> tuple[str, ...]:
    """Return the packages that mpslint knows."""
    return tuple(row["name"] for row in platform_data("packages")["packages"])


def versions_of(packages: Mapping[str, str], macos: Version | None) -> Mapping[str, Version]:
    """Return versions to compare: those of the packages, of Python and, on a Mac, of macOS."""
    texts = {**packages, "python": platform.python_version()}
    versions = {name: version for name, text in texts.items() if (version := parse_version(text)) is not None}
    return {**versions, "macos": macos} if macos else versions


@dataclass(frozen=True, slots=True)
class AccelerateConfig:
    """The file and what it holds; `error` says why it could not be read."""

    path: Path
    settings: Mapping[str, Any]
    error: str = ""


def find_accelerate_config(environ: Mapping[str, str], home: Path) -> AccelerateConfig | None:
    """Return the default configuration of accelerate, or None when there is no such file."""
    cache = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    folder = Path(environ.get("HF_HOME") or cache / "huggingface").expanduser() / "accelerate"
    for name in ("default_config.yaml", "default_config.json"):
        path = folder / name
        if is_file(path):  # as accelerate asks: a folder that nobody may look into holds none
            return _read(path)
    return None


def _read(path: Path) -> AccelerateConfig:
    try:
        settings = parse_json(read_text(path)) if path.suffix == ".json" else read_yaml(path)
    except (MpslintError, ValueError) as error:
        return AccelerateConfig(path, {}, f"cannot be read: {error}")
    return AccelerateConfig(path, settings) if isinstance(settings, dict) else AccelerateConfig(path, {}, "holds no keys")


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
