"""The user's configuration: `[tool.mpslint]` of pyproject.toml, or mpslint.toml; the nearest file wins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from mpslint.core.finding import ReadError, Severity, UsageError
from mpslint.core.folders import absolute, names_in, remembered
from mpslint.core.knowledge import own_files, parse_toml
from mpslint.core.outside import is_file, leads_out, read_text, tree_around
from mpslint.core.record import record
from mpslint.settings.roles import closest

SHARED_FILE = "pyproject.toml"
FILES = ("mpslint.toml", ".mpslint.toml", SHARED_FILE)
TARGET_KEYS = ("memory", "chip")


@record(frozen=True)
class Configuration:
    """What a configuration file says; the defaults where it says nothing."""

    path: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    severity: Severity = Severity.NOTE
    unsafe: bool = False
    this_mac_only: bool = False
    target: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Path, ...] = ()
    """Folders of the user's own rule files."""
    stubs: tuple[Path, ...] = ()
    """Folders of the user's own stubs."""
    written: frozenset[str] = frozenset()
    """The keys that the file says; the others have their defaults."""
    overridden: frozenset[str] = frozenset()
    """The keys that single settings of the command line say."""

    @property
    def folder(self) -> Path:
        """The folder that its patterns count from."""
        return self.path.parent if self.path is not None else Path.cwd()

    def own_folders(self) -> Iterator[tuple[str, Path]]:
        """Yield the folders of the user's own, each with the key that names it."""
        yield from ((key, folder) for key in OWN for folder in getattr(self, key))


KEYS: Mapping[str, type] = {
    "select": list,
    "ignore": list,
    "exclude": list,
    "per-file-ignores": dict,
    "severity": str,
    "unsafe": bool,
    "this-mac-only": bool,
    "target": dict,
    "rules": list,
    "stubs": list,
}
OWN = {"rules": ".yaml", "stubs": ".py"}
"""The keys that name folders of the user's own, with the ending of what lies in them."""
_IN_TOML = {list: "a list of strings", dict: "a table", str: "a string", bool: "true or false"}


def find_configuration(folder: str | Path) -> Configuration:
    """Return the configuration nearest to a folder. Raises UsageError naming the file and the key that is wrong."""
    return _nearest(_resolved(absolute(os.fspath(folder))))


@remembered(maxsize=8192)
def _resolved(folder: str) -> str:
    """Return a folder without symbolic links: most folders are none, and what lies above one is known by then."""
    above, name = os.path.split(folder)
    if not name:
        return folder
    path = os.path.join(_resolved(above), name)
    return os.path.realpath(path) if os.path.islink(path) else path


@remembered(maxsize=8192)
def _nearest(folder: str) -> Configuration:
    names = names_in(folder)
    for name in FILES:
        if name in names and (path := os.path.join(folder, name)) and (is_file(path, is_known=True) or _is_meant(path, name)):
            tree = tree_around(folder)
            if name == SHARED_FILE and leads_out(path, tree):
                continue  # it need not be meant for mpslint, so it is no reason to stop
            data = _table(Path(path), tree)
            if data is not None:
                found = read_configuration(Path(path), data)
                _refuse_outside(found, tree)
                return found
    above = os.path.dirname(folder)
    return Configuration() if above == folder else _nearest(above)


def _is_meant(path: str, name: str) -> bool:
    """Return whether what is no file has a name that is mpslint's alone: a pipe, a link that leads nowhere."""
    return name != SHARED_FILE and not os.path.isdir(path) and os.path.lexists(path)


def _refuse_outside(configuration: Configuration, tree: str) -> None:
    """Raise UsageError for rules and stubs that lie, or lead by a link, out of the repository: a stranger may have written them."""
    for key, folder in configuration.own_folders():
        try:
            outside = next((path for path in (folder, *own_files(folder, OWN[key])) if leads_out(path, tree)), None)
        except (OSError, ValueError) as error:  # a name of 5,000 letters, or with a NUL
            raise UsageError(f"{configuration.path}: {key}: no folder has the name {folder.name!r:.60} ({error})") from None
        if outside is not None:
            raise UsageError(f"{configuration.path}: {key}: {outside} is out of {tree}; name it yourself: --config '{key}=[...]'")


def load_configuration(path: Path) -> Configuration:
    """Return the configuration of one file. Raises UsageError when it cannot be read."""
    if not os.path.isfile(path):
        raise UsageError(f"{path}: no such configuration file")
    return read_configuration(path.resolve(), _table(path, None) or {})


def _table(path: Path, tree: str | None) -> dict[str, Any] | None:
    """Return mpslint's table of a file, which no link may take out of `tree`; None for a pyproject.toml that has none."""
    try:
        data = parse_toml(read_text(path, tree=tree), decimal=str)  # torch = 2.10 is not 2.1
    except ValueError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from None
    except ReadError as error:
        raise UsageError(f"{error}; --config names another file, --isolated uses none") from None
    if path.name == SHARED_FILE:
        tool = data.get("tool", {})
        table = tool.get("mpslint") if isinstance(tool, dict) else None
        if table is not None and not isinstance(table, dict):
            raise UsageError(f"{path}: tool.mpslint must be a table")
        return table
    return data


def read_configuration(path: Path, data: Mapping[str, Any]) -> Configuration:
    """Return the configuration that a table holds. Raises UsageError with the closest name for a key that does not exist."""
    for key, value in data.items():
        if key not in KEYS:
            known = f"; known keys: {', '.join(KEYS)}"
            raise UsageError(f"{path}: unknown key {key!r}{closest(key, KEYS) or known}")
        if not isinstance(value, KEYS[key]):
            raise UsageError(f"{path}: {key} must be {_IN_TOML[KEYS[key]]}")
    said = {key.replace("-", "_"): _said(path, key, value) for key, value in data.items()}
    return Configuration(path, **said, written=frozenset(data))


def _said(path: Path, key: str, value: Any) -> Any:
    """Return what a key of the right type says. Raises UsageError for a value that it can't have."""
    if key == "per-file-ignores":
        return {glob: _words(path, f'{key}."{glob}"', rules) for glob, rules in value.items()}
    if key == "target":
        return {str(name): str(version) for name, version in value.items()}
    if key == "severity" and value not in [s.value for s in Severity]:
        raise UsageError(f"{path}: severity must be error, warning or note, not {value!r}")
    if key in OWN:
        return tuple(path.parent / folder for folder in _words(path, key, value))
    return Severity(value) if key == "severity" else _words(path, key, value) if KEYS[key] is list else value


def overridden(configuration: Configuration, settings: tuple[str, ...]) -> Configuration:
    """Return a configuration with single settings (`severity=error`, `target.torch=2.9`) in place of its own.

    A table gains or changes a key; a list is replaced. Raises UsageError for a setting that does not exist.
    """
    key = (id(configuration), settings)
    if key not in _OVERRIDDEN:
        _OVERRIDDEN[key] = configuration, _with_settings(configuration, settings)
    return _OVERRIDDEN[key][1]


_OVERRIDDEN: dict[tuple[int, tuple[str, ...]], tuple[Configuration, Configuration]] = {}
"""By the id of a configuration, which is the same object for a whole project; and this, so that it stays."""


def _with_settings(configuration: Configuration, settings: tuple[str, ...]) -> Configuration:
    data: dict[str, Any] = {}
    for setting in settings:
        name, _, text = (part.strip() for part in setting.partition("="))
        table, dot, key = name.partition(".")
        if dot and KEYS.get(table) is dict:
            value = _value(f"--config {setting}", list if table == "per-file-ignores" else str, text)
            data.setdefault(table, {})[key.strip("\"'")] = value
        else:
            data[name] = _value(f"--config {setting}", KEYS.get(name, str), text)
    given = read_configuration(Path("--config"), data)
    changes = {key.replace("-", "_"): getattr(given, key.replace("-", "_")) for key in data}
    for name in ("target", "per_file_ignores"):
        if name in changes:
            changes[name] = {**getattr(configuration, name), **changes[name]}
    return replace(configuration, **changes, overridden=frozenset(data))


def _value(where: str, kind: type, text: str) -> Any:
    """Return a setting's value: TOML, or the bare words that a shell leaves of it. Raises UsageError for another kind of value."""
    if kind is str and text[:1] not in ("'", '"'):
        return text  # 2.10 is a version, not a number
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        if kind is list and text[:1] != "[":
            return [word.strip() for word in text.split(",") if word.strip()]
        raise UsageError(f"{where}: not a value of TOML") from None


def _words(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise UsageError(f"{path}: {key} must be a list of strings")
    return tuple(value)
