"""Writes what was read from the index into `rules/platform/`, and says what changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

from .requirements import rows_of

WIDTH = 136

VERSIONS_HEAD = """\
# What this knowledge covers: the newest version of each package, as of {date}, which is the Target where nothing else says which is used.
# tools/refresh_knowledge.py writes `date`, `newest` and `released`, except for macOS and Python, which are kept by hand.
"""
REQUIREMENTS_HEAD = """\
# What each release requires of the other packages that mpslint knows, and of Python, from its metadata. Written by
# tools/refresh_knowledge.py; don't edit. A row holds from its release on, until the next row.
# `requires`: pip installs nothing else. `works_with`: the least that the extras for training ask for (`transformers[torch]`).
# For packages with compiled wheels, `python` is the range of Pythons that have a wheel for Apple silicon.
"""


def read(path: Path) -> dict[str, Any]:
    """Return what a YAML file holds; nothing of one that is not there."""
    data = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
    return data or {}


def parsed(text: str) -> dict[str, Any]:
    """Return what a YAML text holds."""
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def known_rows(requirements: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the needs by package and release that the table in force holds."""
    packages = requirements.get("packages", {})
    return {
        name: {row["from"]: {key: value for key, value in row.items() if key != "from"} for row in rows} for name, rows in packages.items()
    }


def versions_text(versions: Mapping[str, Any], releases: Mapping[str, Sequence[str]], date: str) -> str:
    """Return versions.yaml with new releases."""
    released = {**versions.get("released", {}), **{name: " ".join(listed) for name, listed in releases.items() if listed}}
    newest = {**versions["newest"], **{name: listed[-1] for name, listed in releases.items() if listed}}
    lines = [VERSIONS_HEAD.format(date=date).rstrip(), f'date: "{date}"', "newest:"]
    lines += [f'  {name}: "{version}"' for name, version in newest.items()]
    for key, comment in (
        ("also_installed_as", "# Other names under which a package is installed."),
        ("formerly", "# The package on the index that earlier releases of a package are found under."),
        ("native", "# Packages with compiled wheels: each release has some for a few Pythons."),
        ("since", "# The oldest release that is of interest."),
    ):
        if versions.get(key):
            lines += [comment, yaml.safe_dump({key: versions[key]}, default_flow_style=None, sort_keys=False, width=WIDTH).rstrip()]
    lines += [
        "# Releases, oldest first: a range such as `torch>=2.1,<2.5` in a requirements file stands for the newest one in it.",
        "released:",
    ]
    lines += [f'  {name}: "{text}"' for name, text in released.items()]
    return "\n".join(lines) + "\n"


def requirements_text(known: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return requirements.yaml of the needs by package and release."""
    lines = [REQUIREMENTS_HEAD.rstrip(), "packages:"]
    for name, rows in known.items():
        if not rows:
            continue
        lines += [f"  {name}:", *(f"    - {_flow(row)}" for row in rows_of(rows))]
    return "\n".join(lines) + "\n"


def changed_rows(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line for each package whose rows changed, with the releases from which another row holds."""
    for name, known in after.items():
        old, new = rows_of(before.get(name, {})), rows_of(known)
        differing = sorted({row["from"] for row in [*old, *new] if row not in old or row not in new}, key=Version)
        if differing:
            yield f"{name}: rows from {', '.join(differing)}"
    yield from (f"{name}: no longer tracked" for name in before if name not in after)


def _flow(row: Mapping[str, Any]) -> str:
    """Return a row on one line."""
    parts = [f'from: "{row["from"]}"']
    for key in ("requires", "works_with"):
        if row.get(key):
            parts.append(f"{key}: {{{', '.join(f'{name}: {chr(34)}{spec}{chr(34)}' for name, spec in row[key].items())}}}")
    return f"{{{', '.join(parts)}}}"


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each package whose newest version changed."""
    for name, version in after["newest"].items():
        old = before.get("newest", {}).get(name)
        if str(old) != str(version):
            yield f"{name}: {old or 'not tracked'} -> {version}"
            if old is not None and Version(str(version)) < Version(str(old)):
                yield f"{name}: the index lists nothing newer than {version}; was {old} withdrawn?"


def rules_about(rules: Path, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rules whose versions or sources speak about a package with a new minor version: what to read again."""
    new = [name for name, version in after["newest"].items() if _minor(before["newest"].get(name)) != _minor(version)]
    for name in new if before.get("newest") else ():
        spoken = re.compile(rf"\b{re.escape(name)} *(?:[<>=!]=?|\d)")
        found = sorted(
            path.name.split("-")[0] for path in rules.glob("*/*.yaml") if path.name[:3].isupper() and spoken.search(_plain(path))
        )
        if found:
            yield f"{name}: rules that speak about it: {', '.join(found)}"


def _minor(version: object) -> tuple[int, ...]:
    return Version(str(version)).release[:2] if version else ()


def _plain(path: Path) -> str:
    return path.read_text(encoding="utf-8")
