"""Which lines of a Python text a Mac certainly doesn't run: those below a test for the system, its GPU, or the place that it is run in.

The text is not followed. A test is decided by the answers of `rules/platform/answers.yaml` and `shell.yaml`, and by names that are given
one of these once: enough for the lines of a notebook and for the programs that a script starts, which are read before any run is known.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.source.document import Snippet

UNDECIDED = object()
"""What stands for a value that is not known."""
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_TEXT_METHODS = ("lower", "upper", "strip", "startswith", "endswith")


def parsed(text: str) -> ast.Module | None:
    """Return the tree of a Python text; None where it doesn't parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def reached(snippets: Sequence[Snippet], text: str, python: str) -> tuple[Snippet, ...]:
    """Return the lines for a shell that a Mac may run, of those in a text whose Python is given."""
    if not any(_is_indented(text, snippet.span) for snippet in snippets):
        return tuple(snippets)
    tree = parsed(python)
    lines = unreached_lines(tree) if tree is not None else frozenset()
    return tuple(snippet for snippet in snippets if python.count("\n", 0, snippet.span.start) + 1 not in lines)


def _is_indented(text: str, span: Span) -> bool:
    return text[text.rfind("\n", 0, span.start) + 1 : span.start][:1] in (" ", "\t")


def unreached_lines(tree: ast.Module) -> frozenset[int]:
    """Return the numbers of the lines, from 1, that a Mac certainly doesn't run."""
    decider, nodes = _Decider(), list(ast.walk(tree))
    decider.learn(nodes)
    return frozenset(line for node in nodes for block in decider.unreached(node) for line in _lines(block))


def _lines(block: Sequence[ast.stmt]) -> range:
    return range(block[0].lineno, (block[-1].end_lineno or block[-1].lineno) + 1) if block else range(0)


@record(eq=False)
class _Decider:
    """What is known of the names of a text."""

    imported: dict[str, str] = field(default_factory=dict)
    given: dict[str, list[ast.expr | None]] = field(default_factory=dict)

    def learn(self, nodes: Sequence[ast.AST]) -> None:
        """Note what names are given, except by what fails on a Mac for an import."""
        failing = [one for one in nodes if isinstance(one, ast.Try) and _fails(one)]
        failed = {id(node) for one in failing for part in one.body for node in ast.walk(part)}
        for node in nodes:
            if id(node) in failed:
                continue
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    self.imported[bound] = above + alias.name if above or alias.asname else bound
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.given.setdefault(target.id, []).append(node.value)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                self.given.setdefault(node.id, []).append(None)
            elif isinstance(node, ast.arg):
                self.given.setdefault(node.arg, []).append(None)
        for name, values in self.given.items():  # an assignment stands there twice, by itself and by its target
            self.given[name] = [value for value in values if value is not None] if values.count(None) == len(values) / 2 else [None]

    def unreached(self, node: ast.AST) -> Iterator[Sequence[ast.stmt]]:
        """Yield the blocks of a statement that a Mac doesn't run."""
        if isinstance(node, ast.If):
            value = self.value(node.test)
            if value is not UNDECIDED:
                yield node.orelse if value else node.body
        elif isinstance(node, ast.Match):
            subject, was_taken = self.value(node.subject), False
            for case in node.cases:
                fits = None if subject is UNDECIDED else takes(case, subject)
                if was_taken or fits is False:
                    yield case.body
                was_taken = was_taken or fits is True
        elif isinstance(node, ast.Try) and _fails(node):
            first = next(index for index, one in enumerate(node.body) if _names_absent(one))
            yield node.body[first + 1 :]
            yield node.orelse

    def value(self, node: ast.expr, depth: int = 4) -> Any:
        """Return what an expression is on a Mac, or UNDECIDED."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.value(node.operand, depth)
            return UNDECIDED if inner is UNDECIDED else not inner
        if isinstance(node, ast.BoolOp):
            values = [self.value(one, depth) for one in node.values]
            ends = isinstance(node.op, ast.Or)
            if any(value is not UNDECIDED and bool(value) is ends for value in values):
                return ends
            return UNDECIDED if UNDECIDED in values else not ends
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node, depth)
        if isinstance(node, ast.Call):
            return self._called(node, depth)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            values = [self.value(one, depth) for one in node.elts]
            return UNDECIDED if UNDECIDED in values else tuple(values)
        if isinstance(node, ast.Name) and node.id in self.given:
            last = self.given[node.id][-1] if len(self.given[node.id]) == 1 else None
            return self.value(last, depth - 1) if last is not None and depth else UNDECIDED
        answers = platform_data("answers")
        name = self._dotted(node)
        return answers["values"].get(name, answers["attributes"].get(name, UNDECIDED))

    def _compared(self, node: ast.Compare, depth: int) -> Any:
        left, right = self.value(node.left, depth), self.value(node.comparators[0], depth)
        compare = node.ops[0]
        if isinstance(compare, (ast.In, ast.NotIn)) and left in platform_data("answers")["absent_modules"]:
            return isinstance(compare, ast.NotIn)  # in sys.modules, in str(get_ipython()), in os.environ
        if left is UNDECIDED or right is UNDECIDED:
            return UNDECIDED
        try:
            return _COMPARISONS[type(compare)](left, right)
        except TypeError:
            return UNDECIDED

    def _called(self, node: ast.Call, depth: int) -> Any:
        name, given = self._dotted(node.func), [self.value(one, depth) for one in node.args]
        answers: Mapping[str, Any] = platform_data("answers")
        if name in answers["results"]:
            return UNDECIDED if isinstance(answers["results"][name], list) else answers["results"][name]
        if name in answers["finders"] and given:
            return None if given[0] in platform_data("shell")["missing"] else UNDECIDED
        if name in answers["file_questions"] and given and isinstance(given[0], str):
            absent = tuple(platform_data("shell")["absent"])
            return False if f"{given[0]}/".startswith(absent) or given[0].startswith(absent) else UNDECIDED
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS and UNDECIDED not in given:
            text = self.value(node.func.value, depth)
            if isinstance(text, str) and all(isinstance(one, (str, tuple)) for one in given):
                return getattr(text, node.func.attr)(*given)
        return UNDECIDED

    def _dotted(self, node: ast.expr) -> str:
        """Return the qualified name of an expression, calls left out: `platform.uname.system` for `platform.uname().system`."""
        if isinstance(node, ast.Name):
            return self.imported.get(node.id, "")
        if isinstance(node, ast.Call):
            return self._dotted(node.func)
        if isinstance(node, ast.Attribute):
            above = self._dotted(node.value)
            return f"{above}.{node.attr}" if above else ""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.value, ast.Call):
            return f"{self._dotted(node.value)}.{node.slice.value!r}"  # `platform.uname()[0]`
        return ""


def takes(case: ast.match_case, value: Any) -> bool | None:
    """Return whether a case of a `match` takes a value; None where that isn't certain."""
    if case.guard is not None:
        return None
    patterns: Sequence[Any] = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
    if all(isinstance(one, ast.MatchValue) and isinstance(one.value, ast.Constant) for one in patterns):
        return any(one.value.value == value for one in patterns)
    return True if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None else None


def _fails(node: ast.Try) -> bool:
    """Return whether a `try` imports what no Mac has."""
    return any(map(_names_absent, node.body))


def _names_absent(statement: ast.stmt) -> bool:
    absent = platform_data("answers")["absent_modules"]
    if isinstance(statement, ast.ImportFrom):
        return statement.module in absent or any(f"{statement.module}.{one.name}" in absent for one in statement.names)
    return isinstance(statement, ast.Import) and any(alias.name in absent for alias in statement.names)
