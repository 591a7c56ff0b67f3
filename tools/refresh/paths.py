"""The names in the tables that are kept by hand (`torch.nn.functional.grid_sample`): whether the packages have them.

A name is looked up among all that the wheel of its package defines: files, folders, functions, classes and what is assigned. One that only
the release before had is gone; one that neither has is of older releases, or is made while the package runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .arguments import Scope
from .configurations import check_autocast, check_configurations
from .operators import _minor
from .tables import parsed, read
from .wheels import LimitReached, Wheels

REBUILT = frozenset(
    ["arguments", "environment", "graph_cache", "names", "operators", "removed_names", "requirements", "traced_lines", "versions"]
)
"""The tables that other steps rebuild."""
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)|^[ \t]*(?:self\.)?(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
_CALLING = frozenset(["__call__", "__bool__"])
"""What is asked of an object by no name of its own."""
_SAID = re.compile(r":(?:func|class|meth):`~?([\w.]+)`")


def names_in(value: Any) -> Iterator[str]:
    """Yield the qualified names among the keys and values of a table."""
    if isinstance(value, str) and _NAME.fullmatch(value):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from (*names_in(key), *names_in(one))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from names_in(one)


def defined_in(wheels: Wheels, package: str, release: str) -> set[str]:
    """Return every name that a release of a package has; none where it has no wheel."""
    found: set[str] = set()
    for path in wheels.files(package, release):
        if path.endswith((".py", ".pyi")):
            found.update(re.split(r"[/.]", path))
            found.update(first or second for first, second in _DEFINED.findall(wheels.text(package, release, path) or ""))
    return found


def check_paths(platform: Path, wheels: Wheels, scope: Scope) -> tuple[list[str], int]:
    """Return the lines to print, of names in hand-kept tables that are gone, and how many entries are what classes and symbols say."""
    written: dict[str, set[str]] = {}
    for path in sorted(platform.rglob("*.yaml")):
        for name in names_in(parsed(path.read_text(encoding="utf-8"))) if path.stem not in REBUILT else ():
            written.setdefault(name, set()).add(path.stem)
    lines, found, older, unread, right = [], 0, [], 0, 0
    for package, releases in scope.releases.items():
        names = sorted(name for name in written if name.partition(".")[0] == package.replace("-", "_"))
        before = scope.before.get(package)
        try:
            has = defined_in(wheels, package, releases[-1]) if names and releases else set()
            had = defined_in(wheels, package, before) if names and before not in (None, *releases[-1:]) else set()
        except LimitReached:
            has = had = set()
        for name in names:
            parts = {*name.split(".")[1:]} - _CALLING
            found += parts <= has
            unread += not has
            if has and not parts <= has:
                older.append(name)
                if parts <= had:
                    where = ", ".join(sorted(written[name]))
                    lines.append(f"{name} ({where}.yaml): gone in {package} {releases[-1]}; correct it by hand")
    lines.append(f"{found} names found, {len(older)} of older releases or made while a package runs, {unread} unread")
    for package, check in (("torch", _undetermined), ("torch", check_autocast), ("transformers", check_configurations)):
        try:
            told, number = check(platform, wheels, scope.releases[package][-1]) if scope.releases.get(package) else ([], 0)
        except LimitReached:
            continue
        lines += told
        right += number
    return lines, right


def _undetermined(platform: Path, wheels: Wheels, release: str) -> tuple[list[str], int]:
    """Return the lines to print, of what torch's documentation says raises on MPS under deterministic algorithms and no row of
    `operator_calls.yaml` does; no entry counts, as such rows give their sources."""
    rows = read(platform / "operator_calls.yaml").get("calls", ())
    text = wheels.text("torch", release, "torch/__init__.py") if rows else None
    told = {name for row in rows if row["kind"] == "nondeterministic" for name in (*row.get("call", ()), *row.get("method", ()))}
    said = set(_raising(text or ""))
    lacking = (name for name in sorted(said) if name not in told and name.rpartition(".")[2] not in told)
    lines = [f"{name}: raises on MPS in torch {_minor(release)} under deterministic algorithms; add a row that says so" for name in lacking]
    return [*lines, f"{len(said)} operators that raise on MPS under deterministic algorithms"], 0


def _raising(text: str) -> Iterable[str]:
    """Return the names in the list of what always raises on MPS, in the documentation of `use_deterministic_algorithms`."""
    start = text.find("def use_deterministic_algorithms(")
    items = re.split(r"\n\s+\* ", text[start : text.find('"""', text.find('"""', start) + 3)])[1:] if start >= 0 else []
    return (name for item in items if "MPS" in item and "some cases" not in item for name in _SAID.findall(item.partition(" when ")[0]))
