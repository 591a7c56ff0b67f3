"""What decides in this environment what happens on MPS: the versions of packages, of which none is imported, and what `accelerate config`
wrote, which later runs use without a word."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from mpslint.core.finding import MpslintError
from mpslint.core.knowledge import platform_data, read_yaml
from mpslint.core.outside import is_file, parse_json, read_text
from mpslint.core.versions import Version, parse_version


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
