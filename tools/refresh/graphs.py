"""`graph_cache.yaml`: which functions of torch keep compiled graphs, from the symbols of `libtorch_cpu.dylib` in the macOS wheels.

A function that builds a graph passes a lambda to the cache, or declares the cached type inside itself: the mangled names of both
begin with the function's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.version import Version

from .arguments import Rebuilt
from .operators import _last_of_minors, _minor
from .tables import parsed
from .wheels import Wheels

LIBRARY = "torch/lib/libtorch_cpu.dylib"
_SYMBOL = re.compile(rb"_[_A-Za-z0-9$.]*MPSGraph[_A-Za-z0-9$.]*")
_LOCAL = re.compile(r"Z(?=N2at6native)")
_PASSED_OVER = ("mps", "_GLOBAL__N_1")


def graph_functions(library: bytes) -> frozenset[str]:
    """Return the functions of `at::native` that keep a graph in the cache, by the symbols of the library."""
    symbols = {found.decode() for found in _SYMBOL.findall(library) if b"CachedGraph" in found}
    names = ("::".join(_nested(symbol[found.end() :])) for symbol in symbols for found in _LOCAL.finditer(symbol))
    return frozenset(name for name in names if name)


def _nested(mangled: str) -> Iterator[str]:
    """Yield the identifiers of a nested name (`N2at6native8relu_mpsE`) behind `at::native`, without namespaces that say nothing."""
    at, place = 1, 0
    while at < len(mangled) and mangled[at].isdigit():
        length = re.match(r"\d+", mangled[at:])
        assert length is not None
        start = at + length.end()
        at = start + int(length.group())
        name = mangled[start:at]
        if place > 1 and name not in _PASSED_OVER:
            yield name
        place += 1
        if mangled[at : at + 1] == "L":
            at += 1


def graphs(path: Path, wheels: Wheels, releases: Iterable[str], bounds: bool) -> Rebuilt:
    """Return `graph_cache.yaml` as the wheels have it: rows end where their function is no longer there, and new functions are added."""
    done = Rebuilt(path.read_text(encoding="utf-8"))
    table = parsed(done.text)
    listed = [one for one in releases if Version(one) >= Version(str(table["first"]))]
    read = (_last_of_minors(listed) if bounds else listed[-1:]) if listed else []
    untracked = set(table.get("untracked", ()))
    for release in read:
        library = wheels.data("torch", release, LIBRARY)
        if library is None:
            done.unread += 1
            continue
        minor, found = _minor(release), graph_functions(library)
        before = _minor(_previous(release, listed))
        rows = table["functions"]
        for name in sorted({row["function"] for row in rows}):
            spans = [(Version(row["since"]), Version(row.get("until", "9999"))) for row in rows if row["function"] == name]
            said = any(since <= Version(minor) <= until for since, until in spans)
            done.checked += 1
            if said and name not in found:
                done.text, edits = re.subn(
                    rf'(- \{{function: "{re.escape(name)}", since: "[\d.]+", )(?!until)', rf'\g<1>until: "{before}", ', done.text
                )
                done.lines.append(
                    f"{name}: torch {release} keeps no graphs there; {f'ends with {before}' if edits else 'correct it by hand'}"
                )
            elif name in found and not said:
                done.lines.append(f"{name}: torch {release} keeps graphs there, against the table")
        for name in sorted(found - {row["function"] for row in rows} - untracked):
            untracked.add(name)
            done.text = f'{done.text.rstrip()}\n  - {{function: "{name}", since: "{minor}", ops: []}}\n' if not bounds else done.text
            done.lines.append(f"{name}: torch {release} keeps graphs there; say which operators lead to it")
    return done


def _previous(release: str, listed: Iterable[str]) -> str:
    """Return the last release of the minor version before that of a release; the release itself where there is none."""
    earlier = [one for one in listed if Version(one).release[:2] < Version(release).release[:2]]
    return max(earlier, key=Version) if earlier else release
