"""Where the knowledge lies (`rules/`), and how one file of it is read.

A checkout reads the YAML files. A wheel also holds them compiled (`_catalogue.py`, written when it was built), which starts faster.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mpslint.finding import RuleError

_PACKAGE = Path(__file__).parent


@functools.lru_cache(maxsize=1)
def rules_folder() -> Path:
    """Return the folder of the rules: the checkout's own when mpslint runs from one, else the copy in the wheel."""
    checkout = _PACKAGE.parent / "rules"
    if (checkout / "platform").is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return checkout
    return _PACKAGE / "rules"


@functools.lru_cache(maxsize=1)
def _catalogue() -> Mapping[str, Any]:
    """Return the compiled knowledge by path below `rules/`; nothing in a checkout."""
    if rules_folder() != _PACKAGE / "rules":
        return {}
    try:
        data: Mapping[str, Any] = importlib.import_module("mpslint._catalogue").DATA
    except ModuleNotFoundError:
        return {}
    return data


@functools.lru_cache(maxsize=1)
def shipped_words() -> Mapping[str, Any]:
    """Return the words of the shipped rules as `gate.compiled_words` derives them when a wheel is built; nothing in a checkout."""
    if rules_folder() != _PACKAGE / "rules":
        return {}
    try:
        data: Mapping[str, Any] = importlib.import_module("mpslint._words").DATA
    except ModuleNotFoundError:
        return {}
    return data


def compiled(folder: Path) -> dict[str, Any]:
    """Return what every YAML file below a folder holds, by its path there."""
    return {path.relative_to(folder).as_posix(): parse_yaml_file(path) for path in sorted(folder.rglob("*.yaml"))}


def read_yaml(path: Path) -> Any:
    """Return what a knowledge file holds. Raises RuleError naming the file and the line when it is not YAML."""
    catalogue = _catalogue()
    if catalogue and path.is_relative_to(rules_folder()):
        name = path.relative_to(rules_folder()).as_posix()
        if name in catalogue:
            return catalogue[name]
    return parse_yaml_file(path)


def compiled_id(path: Path) -> str | None:
    """Return the id of a rule that the wheel holds compiled, without reading more of it; None for any other file."""
    data = _catalogue().get(path.name) if path.parent == rules_folder() else None
    return data["id"] if data is not None else None


def parse_yaml_file(path: Path) -> Any:
    """Return what a YAML file holds. Raises RuleError naming the file and the line when it is not YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise RuleError(f"{path}{line}: not valid YAML: {getattr(error, 'problem', None) or error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}: cannot be read: {error}") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return what a TOML text holds. Raises ValueError, which says where, when it is not TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    data: dict[str, Any] = tomllib.loads(text)
    return data


def knowledge_files(folder: str) -> Iterator[Path]:
    """Yield the YAML files of one folder below `rules/`, by name (`""` is `rules/` itself)."""
    catalogue = _catalogue()
    if not catalogue:
        yield from sorted((rules_folder() / folder).glob("*.yaml"))
        return
    for name in catalogue:
        parent, _, _ = name.rpartition("/")
        if parent == folder:
            yield rules_folder() / name


@functools.lru_cache(maxsize=1)
def knowledge_digest() -> str:
    """Return a digest of every knowledge file: what was found under one may not hold under another.

    An installed mpslint changes with its version; of a checkout the code counts too.
    """
    import hashlib

    files = sorted(_PACKAGE.glob("_catalogue.py"))
    if rules_folder() != _PACKAGE / "rules" or not files:
        files = sorted([*rules_folder().rglob("*.yaml"), *_PACKAGE.rglob("*.py")])
    digest = hashlib.blake2b(digest_size=16)
    for path in files:
        stat = path.stat()
        digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


@functools.lru_cache(maxsize=64)
def platform_data(name: str) -> Any:
    """Return what `rules/platform/NAME.yaml` holds. Raises RuleError when there is no such file or it is not YAML."""
    return read_yaml(rules_folder() / "platform" / f"{name}.yaml")
