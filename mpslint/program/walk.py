"""Every node of a syntax tree, as `ast.walk` gives them but three times as fast: without the contexts (`Load`), which say nothing."""

from __future__ import annotations

import ast
import bisect
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
MOST_WAYS = 20
"""Ways into one statement that are looked for; then all of it is read, as in a chain of 400 calls each way is as long as the chain."""


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


class Parents(Mapping[ast.AST, ast.AST]):
    """The node that each node below some statements is right below: found out on the way to a node, as most are never asked about."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self._body = list(body)
        self._starts = [first_line(statement) or statement.lineno for statement in body]
        self._tops = frozenset(self._body)
        self._nodes: list[list[ast.AST] | None] = [None] * len(self._body)
        self._times = [0] * len(self._body)
        self._found: dict[ast.AST, ast.AST] = {}

    def __getitem__(self, node: ast.AST) -> ast.AST:
        if node not in self._found and node not in self._tops:
            line = getattr(node, "lineno", None)
            index = bisect.bisect_right(self._starts, line) - 1 if line is not None else -1
            while index > 0 and self._starts[index] == self._starts[index - 1]:
                self._find(node, index)  # several statements on one line
                index -= 1
            if index >= 0:
                self._find(node, index)
            if node not in self._found:
                len(self)  # a node without a place, or one that is not below these statements
        return self._found[node]

    def statement_of(self, node: ast.AST) -> ast.AST:
        """Return the one of the statements that a node is in, by its line where no other is there."""
        line = getattr(node, "lineno", None)
        index = bisect.bisect_right(self._starts, line) - 1 if line is not None else -1
        above = self._body[index - 1] if index > 0 else None
        if index >= 0 and line is not None and (above is None or (above.end_lineno or line) < self._starts[index]):
            return self._body[index]
        while (parent := self.get(node)) is not None:
            node = parent
        return node

    def __iter__(self) -> Iterator[ast.AST]:
        for index in range(len(self._body)):
            yield from self._read_statement(index)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _find(self, wanted: ast.AST, index: int) -> None:
        """Note what is right below what on the way from a statement to a node with a place, where that is not known yet."""
        self._times[index] += 1
        if self._times[index] > MOST_WAYS:
            self._read_statement(index)
            return
        first, last = wanted.lineno, wanted.end_lineno  # type: ignore[attr-defined]
        stack: list[ast.AST] = [self._body[index]]
        while stack:
            node = stack.pop()
            for child in children(node):
                self._found[child] = node
                if child is wanted:
                    return
                if getattr(child, "end_lineno", last) >= last and (first_line(child) or first) <= first:
                    stack.append(child)

    def _read_statement(self, index: int) -> list[ast.AST]:
        """Return the nodes below a statement, once it is known what each is right below."""
        known = self._nodes[index]
        if known is not None:
            return known
        nodes = self._nodes[index] = []
        found = self._found
        stack: list[ast.AST] = [self._body[index]]
        while stack:
            node = stack.pop()
            for value in node.__dict__.values():
                for child in value if value.__class__ is list else (value,):
                    if isinstance(child, ast.AST) and child.__class__ not in _CONTEXTS:
                        found[child] = node
                        nodes.append(child)
                        if child.__class__ not in _LEAVES:
                            stack.append(child)
        return nodes


def walk(*nodes: ast.AST) -> Iterable[ast.AST]:
    """Return nodes and everything below them, those nearer to the top first."""
    found = list(nodes)
    for node in found:
        if node.__class__ not in _LEAVES:
            found += children(node)
    return found
