"""`names.yaml` and `environment.yaml`: the names of torch.mps and torch.accelerator, and the variables that libtorch reads, by release."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.version import Version

from .arguments import Rebuilt
from .graphs import LIBRARY
from .operators import _last_of_minors, _minor
from .tables import parsed
from .wheels import Wheels

_VARIABLE = re.compile(rb"PYTORCH_(?:ENABLE_|DEBUG_)?MPS_[A-Z_]*[A-Z]")


def module_names(path: Path, wheels: Wheels, releases: Iterable[str], bounds: bool) -> Rebuilt:
    """Return `names.yaml` with the names that the modules of torch list in `__all__`, and what is said against its rows."""
    done = Rebuilt(path.read_text(encoding="utf-8"))
    for release in _read(releases, bounds):
        for module, rows in parsed(done.text).items():
            text = wheels.text("torch", release, f"{module.replace('.', '/')}/__init__.py") if "." in module else None
            if text is None:
                done.unread += "." in module
                continue
            folder = module.replace(".", "/")
            below = {one for one in rows if wheels.text("torch", release, f"{folder}/{one}.py") is not None}
            _compare(done, module, f'  {{name}}: {{{{since: "{_minor(release)}"}}}}', rows, release, public(text), defined(text) | below)
    return done


def variables(path: Path, wheels: Wheels, releases: Iterable[str], bounds: bool) -> Rebuilt:
    """Return `environment.yaml` with the variables that are among the strings of libtorch, and what is said against its rows."""
    done = Rebuilt(path.read_text(encoding="utf-8"))
    for release in _read(releases, bounds):
        library = wheels.data("torch", release, LIBRARY)
        if library is None:
            done.unread += 1
            continue
        found = {one.decode() for one in _VARIABLE.findall(library)}
        rows = parsed(done.text)["variables"]
        _compare(done, "variables", f'  {{name}}: {{{{since: "{_minor(release)}"}}}}', rows, release, found, found)
    return done


def public(text: str) -> set[str]:
    """Return what a module lists in `__all__`."""
    lists = (node.value for node in ast.parse(text).body if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets))
    return {one.value for found in lists if isinstance(found, ast.List) for one in found.elts if isinstance(one, ast.Constant)}


def defined(text: str) -> set[str]:
    """Return every name that the top of a module binds: what it defines, imports or assigns."""
    return set(_bound(ast.parse(text)))


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _compare(done: Rebuilt, owner: str, row: str, rows: dict[str, dict[str, str]], release: str, listed: set[str], found: set[str]) -> None:
    """Add a row for each listed name that has none, and a line for each row that a release contradicts."""
    for name, said in rows.items():
        is_said = Version(str(said["since"])) <= Version(release)
        done.checked += 1
        if is_said != (name in found | listed):
            done.lines.append(f"{owner}.{name}: torch {release} {'lacks' if is_said else 'has'} it, against the table; correct it by hand")
    for name in sorted(listed - rows.keys()):
        done.text = re.sub(
            rf"(^{re.escape(owner)}:\n(?:  .*\n)*)",
            lambda head, name=name: head[1] + row.format(name=name) + "\n",
            done.text,
            count=1,
            flags=re.MULTILINE,
        )
        done.lines.append(f"{owner}.{name}: new in torch {release}")


def _read(releases: Iterable[str], bounds: bool) -> list[str]:
    listed = sorted(releases, key=Version)
    return _last_of_minors(listed) if bounds else listed[-1:]
