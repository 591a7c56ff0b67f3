"""The configuration that `accelerate config` wrote, which later runs use without a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpslint.core.finding import MpslintError
from mpslint.core.knowledge import read_yaml
from mpslint.core.outside import is_file, parse_json, read_text


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
