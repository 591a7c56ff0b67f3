"""Writes what was read from the index into `rules/platform/`, and says what changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

from .requirements import rows_of

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


def versions_text(text: str, releases: Mapping[str, Sequence[str]], date: str) -> str:
    """Return the text of versions.yaml with another date and other rows of `newest` and `released`; every other line stays as it was."""
    known = parsed(text)
    listed = {name: rows for name, rows in releases.items() if rows}
    rows = {
        "newest": {**known["newest"], **{name: one[-1] for name, one in listed.items()}},
        "released": {**known.get("released", {}), **{name: " ".join(one) for name, one in listed.items()}},
    }
    for key, values in rows.items():
        block = "".join(f'  {name}: "{value}"\n' for name, value in values.items())
        text = re.sub(rf"^{key}:\n(?:  .*\n)*", lambda _, key=key, block=block: f"{key}:\n{block}", text, count=1, flags=re.MULTILINE)
    before = str(known.get("date", ""))
    return text.replace(before, date) if before else text


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


def changes(rules: Path, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each key of versions.yaml that changed, with the reason, and the rules that speak about its package."""
    for key in (*before, *(key for key in after if key not in before)):
        old, new = before.get(key), after.get(key)
        if old != new and key not in ("newest", "released"):
            yield f"{key}: {old} -> {new}"
    touched: list[str] = []
    for key, differs in (("newest", _newer), ("released", _listed)):
        old, new = before.get(key, {}), after.get(key, {})
        for name in dict.fromkeys((*old, *new)):
            if str(old.get(name)) != str(new.get(name)):
                yield f"{key}.{name}: {differs(str(old.get(name, '')), str(new.get(name, '')))}"
                touched.append(name)
    for name in dict.fromkeys(touched):
        spoken = re.compile(rf"\b{re.escape(name)} *(?:[<>=!]=?|\d)")
        found = sorted(path.name.split("-")[0] for path in rules.glob("*/MPS*.yaml") if spoken.search(path.read_text(encoding="utf-8")))
        yield f"{name}: rules that speak about it: {', '.join(found)}" if found else f"{name}: no rule speaks about it"


def _newer(old: str, new: str) -> str:
    """Say why the newest version of a package is another one."""
    if old and Version(new) < Version(old):
        return f"{old} -> {new}: the index lists nothing newer than {new}; was {old} withdrawn?"
    return f"{old or 'not tracked'} -> {new}, the newest on the index with a file for a Mac"


def _listed(old: str, new: str) -> str:
    """Say which releases of a package came and went."""
    came, went = (sorted(set(one.split()) - set(other.split()), key=Version) for one, other in ((new, old), (old, new)))
    said = [f"{' '.join(came)} listed by the index"] if came else []
    return "; ".join([*said, *([f"{' '.join(went)} no longer listed, or thinned to the last of each minor version"] if went else [])])
