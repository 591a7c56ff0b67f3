"""Every node of a syntax tree, as `ast.walk` gives them but three times as fast: without the contexts (`Load`), which say nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

_CONTEXTS = frozenset({ast.Load, ast.Store, ast.Del})
_OPERATORS = frozenset(kind for group in (ast.operator, ast.cmpop, ast.boolop, ast.unaryop) for kind in group.__subclasses__())
"""One object each in all trees of a process: what another tool writes there (pyflakes does) leads into a tree of its own."""
_LEAVES = _OPERATORS | {ast.Name, ast.Constant, ast.alias, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal}
"""More than half of all nodes: what has no nodes below it but a context."""
_NAMED_BY: Mapping[type[ast.AST], str] = {
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar), "name"),
    ast.MatchMapping: "rest",
    ast.arg: "arg",
}
"""The field in which nodes hold the name that they bind."""
_WORDS = ("id", "attr", "arg", "name", "rest")
"""The fields of nodes that hold a name."""


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right below a node, in the order of its fields."""
    found: list[ast.AST] = []
    if node.__class__ in _LEAVES:
        return found
    for value in node.__dict__.values():
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and value.__class__ not in _CONTEXTS:
            found.append(value)
    return found


def assigning(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a statement, or of a target, that may assign names: not its expressions, which most nodes are part of."""
    if isinstance(node, ast.Assign):
        return list(node.targets)
    if isinstance(node, (ast.Tuple, ast.List)):
        return list(node.elts)
    if isinstance(node, ast.withitem):
        return [node.optional_vars] if node.optional_vars is not None else []
    if isinstance(node, ast.expr):
        return [node.value] if isinstance(node, ast.Starred) else []
    target = getattr(node, "target", None)
    return [inner for inner in children(node) if inner is target or not isinstance(inner, ast.expr)]


def bound_by(node: ast.AST) -> tuple[str, ...]:
    """Return the names that a node by itself gives a meaning: in the scope around it, a parameter in its function."""
    if isinstance(node, ast.Name):
        return (node.id,) if isinstance(node.ctx, ast.Store) else ()
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return tuple((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    name = getattr(node, _NAMED_BY[node.__class__]) if node.__class__ in _NAMED_BY else None
    return (name,) if name else ()


def called_name(node: ast.AST) -> str:
    """Return the last name of what a call calls, or ''."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def at_once(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement that run with it: not those in functions and classes."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += children(node)


def first_line(node: ast.AST) -> int | None:
    """Return the line that a node begins on, decorators included; None for one without a place."""
    decorators = getattr(node, "decorator_list", None)
    line: int | None = getattr(node, "lineno", None)
    return min([decorator.lineno for decorator in decorators], default=line) if decorators else line


class Parents(dict[ast.AST, ast.AST]):
    """The node that each node below some statements is right below."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        """Walk the statements."""
        super().__init__()
        for node in (found := list[ast.AST](body)):
            below = children(node)
            self.update(dict.fromkeys(below, node))
            found += below


def words_of(node: ast.AST) -> Iterable[str]:
    """Return the names that a node by itself writes, or the text that it is."""
    if isinstance(node, ast.Constant):
        return (node.value,) if isinstance(node.value, str) else ()
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {word for alias in node.names for word in (*alias.name.split("."), alias.asname) if word}
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return node.names
    return (value for key in _WORDS if isinstance(value := getattr(node, key, None), str))


def walk(*nodes: ast.AST) -> Iterable[ast.AST]:
    """Return nodes and everything below them, those nearer to the top first."""
    found = list(nodes)
    for node in found:
        if node.__class__ not in _LEAVES:
            found += children(node)
    return found
