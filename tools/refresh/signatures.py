"""What a class or function of a wheel takes, and which names a package exports: read from the source, never imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .wheels import Wheels

_DEEPEST = 6
"""Base classes followed upwards."""


def parameters(wheels: Wheels, package: str, version: str, name: str) -> frozenset[str] | None:
    """Return the names of the arguments that a class takes, its bases in the same package included.

    None where the class is not there, or takes any name (`**kwargs`): then nothing can be said.
    """
    found = _class(wheels, package, version, name)
    return _taken(wheels, package, version, found, 0) if found is not None else None


def _taken(wheels: Wheels, package: str, version: str, node: ast.ClassDef, depth: int) -> frozenset[str] | None:
    """Return what the constructor of a class takes: its own `__init__`'s, or a dataclass's fields and those of its bases."""
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            if one.args.kwarg is not None:
                return None
            plain = {argument.arg for argument in (*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs)}
            return frozenset(plain - {"self"}) | _deprecated(one)
    fields = {one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}
    for base in node.bases:
        above = _class(wheels, package, version, ast.unparse(base).rsplit(".", 1)[-1]) if depth < _DEEPEST else None
        inherited = _taken(wheels, package, version, above, depth + 1) if above is not None else frozenset()
        fields |= inherited or frozenset()
    return frozenset(fields)


def _deprecated(function: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a decorator such as `deprecate_kwarg("tokenizer", ...)` still takes."""
    decorators = [one for one in function.decorator_list if isinstance(one, ast.Call) and "deprecat" in ast.unparse(one.func)]
    texts = [one.value for call in decorators for one in ast.walk(call) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return frozenset(text for text in texts if text.isidentifier())


def _class(wheels: Wheels, package: str, version: str, name: str) -> ast.ClassDef | None:
    """Return the definition of a class, wherever in the package; the one nearest to the top where there are several.

    A class that moved to the experiments is often imported from there under its name with an underscore before it.
    """
    for wanted in dict.fromkeys((name, name.lstrip("_"))):
        for text in _modules_with(wheels, package, version, rf"^class {re.escape(wanted)}\b"):
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and node.name == wanted and not _is_alias_of(node, wanted):
                    return node
    return None


def _is_alias_of(node: ast.ClassDef, name: str) -> bool:
    """Return whether a class only stands for the one of the same name elsewhere (`class KTOConfig(_KTOConfig)` without fields)."""
    holds = any(isinstance(one, (ast.AnnAssign, ast.FunctionDef)) and getattr(one, "name", "") != "__post_init__" for one in node.body)
    return not holds and [ast.unparse(base) for base in node.bases] == [f"_{name}"]


def _modules_with(wheels: Wheels, package: str, version: str, pattern: str) -> Iterator[str]:
    """Yield the modules in which a line matches: those with the shortest path first, experiments last, tests never."""
    search = re.compile(pattern, re.MULTILINE)
    paths = [path for path in wheels.files(package, version) if path.endswith(".py") and not re.search(r"(^|/)tests?/", path)]
    for path in sorted(paths, key=lambda path: ("/experimental/" in path, path.count("/"), path)):
        text = wheels.text(package, version, path) or ""
        if search.search(text):
            yield text


def exported(wheels: Wheels, package: str, version: str) -> frozenset[str]:
    """Return the names that `from PACKAGE import NAME` finds: imported, defined or listed in `__init__.py`, or listed for lazy import.

    A lazy package finds names by the `__all__` of its modules; those of experiments are not found that way.
    """
    module = package.replace("-", "_")
    text = wheels.text(package, version, f"{module}/__init__.py")
    if text is None:
        return frozenset()
    names = set(_named(ast.parse(text)))
    if "define_import_structure" in text:
        for path in wheels.files(package, version):
            if path.startswith(f"{module}/models/") and path.endswith(".py"):
                names |= set(_listed(wheels.text(package, version, path) or ""))
    return frozenset(names)


def _named(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module binds at its top level or mentions as texts in its lists."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value


_ALL = re.compile(r"^__all__(?:: [\w\[\]]+)? *\+?= *[\[(](.*?)[\])]", re.MULTILINE | re.DOTALL)


def _listed(text: str) -> Iterator[str]:
    """Yield the names in the `__all__` lists of a module."""
    for found in _ALL.finditer(text):
        yield from re.findall(r"[\"'](\w+)[\"']", found.group(1))
