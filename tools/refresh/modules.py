"""What a release changes below its `__init__.py`: modules that are gone, and the least versions of other packages that it asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from packaging.version import Version

from .wheels import Wheels

_LEAST = re.compile(r"^MIN_([A-Z]+)_VERSION *= *[\"'](\d[\w.]*)[\"']", re.MULTILINE)


def defines(wheels: Wheels, package: str, module: str, name: str, release: str) -> bool | None:
    """Return whether a module right below a package defines a name; None for a release that can't be read."""
    if not wheels.has(package, release):
        return None
    text = wheels.text(package, release, f"{package.replace('-', '_')}/{module}.py")
    return text is not None and re.search(rf"^(?:def|class) {name}\b", text, re.MULTILINE) is not None


def gone_modules(wheels: Wheels, package: str, old: str, new: str) -> Iterator[str]:
    """Yield one line for each public module right below a package that the newer of two releases lacks, with the names that it had."""
    folder = package.replace("-", "_")
    before, after = (_modules(wheels.files(package, release), folder) for release in (old, new))
    for module in sorted(set(before) - set(after)):
        tree = ast.parse(wheels.text(package, old, before[module]) or "")
        names = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        yield f"{folder}.{module}: {package} {new} lacks the module; add its names by hand: {', '.join(names) or 'none'}"


def _modules(files: Sequence[str], folder: str) -> dict[str, str]:
    """Return the public modules right below a folder, with their files."""
    found = (re.fullmatch(rf"{folder}/([a-z]\w*)(?:\.py|/__init__\.py)", path) for path in files)
    return {match.group(1): match.group() for match in found if match is not None}


def too_new(wheels: Wheels, package: str, release: str, releases: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield one line for each version that a release asks of another package in its code and that the index doesn't have yet."""
    for path in wheels.files(package, release):
        for name, least in _LEAST.findall((wheels.text(package, release, path) or "") if path.endswith(".py") else ""):
            listed = releases.get(name.lower(), ())
            if listed and Version(least) > Version(listed[-1]):
                yield f"{package} {release} asks for {name.lower()} {least} ({path}), and the newest is {listed[-1]}"
