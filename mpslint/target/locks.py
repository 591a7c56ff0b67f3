"""Versions in lock files: every package is named with the one release that was resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mpslint.core.knowledge import parse_toml, parse_yaml
from mpslint.core.outside import parse_json
from mpslint.target.packages import canonical, is_known
from mpslint.target.requirement import PYTHON, Requirement, holds_on_a_mac
from mpslint.target.specifier import from_poetry

_TABLE = re.compile(r"^\[\[packages?\]\][ \t]*$", re.MULTILINE)
_NAME = re.compile(r'^name\s*=\s*"([^"]+)"', re.MULTILINE)
_PYTHON = re.compile(r'^(?:requires-python|python-versions|requires_python)\s*=\s*"([^"]+)"', re.MULTILINE)
_CONDA_FILE = re.compile(r"/(osx-arm64|noarch|linux-64|osx-64)/([A-Za-z][\w.-]*?)-(\d[^-/\s]*)-[^-/\s]+\.(?:conda|tar\.bz2)")
_WHEEL_FILE = re.compile(r"/([A-Za-z][\w.]*?)-(\d[^-/\s]*)(?:-[\w.]+-[\w.]+-([\w.]+)\.whl|\.tar\.gz)")


def toml_lock(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what uv.lock, poetry.lock, pdm.lock and pylock.toml resolved to.

    A lock file may hold megabytes; only the tables of known packages are parsed.
    """
    starts = [match.start() for match in _TABLE.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        name = _NAME.search(text, start, end)
        if name is None or not is_known(name.group(1)):
            continue
        table = parse_toml(_alone(text[start:end]))
        row = (table.get("package") or table["packages"])[0]
        if "version" in row and _is_for_a_mac(row, python):
            yield Requirement(canonical(row["name"]), f"=={row['version']}", source, is_locked=True)
    at_the_end = text.find("\n[metadata]", starts[-1] if starts else 0)
    said = _PYTHON.search(text[: starts[0]] if starts else text) or (_PYTHON.search(text, at_the_end) if at_the_end >= 0 else None)
    if said is not None:
        yield Requirement(PYTHON, from_poetry(said.group(1)), source)


def _alone(table: str) -> str:
    """Return a table of an array with its subtables, without the tables of the file that come after the last one."""
    return re.split(r"^\[(?!\[?packages?\b)", table, maxsplit=1, flags=re.MULTILINE)[0]


def _is_for_a_mac(row: dict[str, Any], python: str) -> bool:
    marker = row.get("marker") or row.get("markers") or ""
    if isinstance(marker, dict):  # Poetry 2 writes one for each group
        marker = " or ".join(f"({one})" for one in marker.values() if isinstance(one, str))
    forks = row.get("resolution-markers") or ()
    return holds_on_a_mac(str(marker), python) and (not forks or any(holds_on_a_mac(str(one), python) for one in forks))


def pipfile_lock(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what Pipfile.lock resolved to."""
    data = parse_json(text)
    version = data.get("_meta", {}).get("requires", {}).get("python_version")
    if version:
        yield Requirement(PYTHON, f"=={version}.*", source)
    for name, row in [*data.get("default", {}).items(), *data.get("develop", {}).items()]:
        if is_known(name) and row.get("version") and holds_on_a_mac(row.get("markers", ""), python):
            yield Requirement(canonical(name), str(row["version"]), source, is_locked=True)


def pixi_lock(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what pixi.lock resolved to for Apple silicon, where it did, else for whichever platform it names first."""
    found: dict[str, dict[str, str]] = {}
    for platform, name, version in _CONDA_FILE.findall(text):
        found.setdefault(canonical(name), {}).setdefault(platform, version)
    for name, version, tags in _WHEEL_FILE.findall(text):
        found.setdefault(canonical(name), {}).setdefault(
            "osx-arm64" if "macosx" in tags and "arm64" in tags else "any", version.split("+")[0]
        )
    for name, versions in found.items():
        if is_known(name) or name == PYTHON:
            version = next((versions[one] for one in ("osx-arm64", "noarch", "any") if one in versions), next(iter(versions.values())))
            yield Requirement(name, f"=={version}", source, is_locked=True)


def conda_lock(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what conda-lock resolved to, for Apple silicon first."""
    rows = [row for row in parse_yaml(text, source).get("package", ()) if isinstance(row, dict) and "version" in row]
    for row in sorted(rows, key=lambda row: row.get("platform") != "osx-arm64"):
        name = canonical(str(row.get("name", "")))
        if is_known(name) or name == PYTHON:
            yield Requirement(name, f"=={row['version']}", source, is_locked=True)
