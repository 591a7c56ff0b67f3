"""The rules of the house that a tool can hold: imports point one way, each outside library has one door."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mpslint"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = """
    core target source facts config tensors project program settings rule checks engine+rewrite
    session doctor diagnose estimate verify run report server jupyter cli api __main__ __init__
""".split()
"""From the bottom to the top; `+` joins two that build on each other: a check plans its fixes, a fix checks what it wrote."""

DOORS = {
    "click": ("cli", "jupyter"),
    "rich": ("report", "cli/_progress.py", "verify"),
    "libcst": ("program/newer_syntax.py",),
    "torch": ("verify", "run"),
    "transformers": ("verify", "run"),
    "nbformat": ("source/notebook_format.py",),
    "pygls": ("server",),
    "lsprotocol": ("server",),
    "yaml": ("core/knowledge.py", "config/yaml_source.py"),
}


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a file, which several tests look through."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@functools.cache
def imports_of(path: Path) -> list[str]:
    """Return the dotted modules that a file imports anywhere, in order."""
    found = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def layer_of(part: str) -> int:
    """Return the position of a module or folder of the package in LAYERS."""
    for number, names in enumerate(LAYERS):
        if part in names.split("+"):
            return number
    raise AssertionError(f"mpslint/{part} is in no layer: add it to LAYERS in {Path(__file__).name}")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    """A module imports only from its own layer or from the layers before it."""
    own = layer_of(path.relative_to(PACKAGE).parts[0].removesuffix(".py"))
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "mpslint" and len(parts) > 1 and (PACKAGE / parts[1]).is_dir() | (PACKAGE / f"{parts[1]}.py").is_file():
            assert layer_of(parts[1]) <= own, f"{path.relative_to(ROOT)} imports {name}, which is in a later layer"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_outside_library_has_one_door(path: Path) -> None:
    """An outside library is imported only where the design says so."""
    where = str(path.relative_to(PACKAGE))
    for name in imports_of(path):
        doors = DOORS.get(name.split(".")[0])
        assert doors is None or where.startswith(doors), f"mpslint/{where} imports {name}; its doors are {doors}"


@pytest.mark.parametrize("path", sorted((ROOT / "rules").rglob("*.yaml")), ids=lambda path: str(path.relative_to(ROOT)))
def test_knowledge_is_read_alike_without_libyaml(path: Path) -> None:
    """PyYAML's own parser refuses a question mark that libyaml takes; where a wheel of PyYAML lacks libyaml, nothing would run."""
    text = path.read_text(encoding="utf-8")

    assert yaml.load(text, yaml.SafeLoader) == yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


OPENERS = ("core/outside.py", "core/own_folder.py", "source/temporary.py", "source/writer.py", "verify/", "run/")
"""Where files are opened: the reader of strangers' files, what writes our own, and the parts that execute code anyway."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_of_strangers_have_one_reader(path: Path) -> None:
    """Nothing else opens a file: a repository may hold a pipe, a device or 50 GB under any name."""
    calls = [node.func for node in nodes_of(path) if isinstance(node, ast.Call)]
    names = {call.attr for call in calls if isinstance(call, ast.Attribute)} & {"read_text", "read_bytes", "write_text", "write_bytes"}
    names |= {call.id for call in calls if isinstance(call, ast.Name)} & {"open"}
    assert not names or str(path.relative_to(PACKAGE)).startswith(OPENERS), f"{path.relative_to(ROOT)} opens files by {names}"


def _inner_imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports anywhere, itself left out."""
    found = {name for name in imports_of(path) if name.startswith("mpslint.")}
    modules = {name if _file_of(name).is_file() else name.rpartition(".")[0] for name in found}
    return {name for name in modules if _file_of(name).is_file() and _file_of(name) != path}


def _file_of(module: str) -> Path:
    place = ROOT.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def test_no_files_import_each_other_in_a_circle() -> None:
    """Whoever reads a file reads what it rests on first; imports in functions and for types count too."""
    front = PACKAGE / "__init__.py"  # it says the version, and loads everything else when it is asked for
    left = {path: {_file_of(name) for name in _inner_imports(path)} for path in MODULES if path != front}
    while leaves := [path for path, rests_on in left.items() if not rests_on & left.keys()]:
        for path in leaves:
            del left[path]
    assert not left, f"these import each other: {sorted(str(path.relative_to(ROOT)) for path in left)}"


def test_a_class_name_is_defined_once() -> None:
    """One word means one thing. The library's own Finding and Edit are what `mpslint.check` gives."""
    where: dict[str, list[str]] = {}
    for path in MODULES:
        if path != PACKAGE / "api.py":
            for node in nodes_of(path):
                if isinstance(node, ast.ClassDef):
                    where.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: files for name, files in where.items() if len(files) > 1} == {}
