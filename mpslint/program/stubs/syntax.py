"""The statements and expressions that can be in a stub, the functions and methods of Python's own, and what each does."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from mpslint.facts.values import Argument
from mpslint.program.operators import BINARY, COMPARE
from mpslint.program.stubs.evaluate import MOST_LENGTH, MOST_STEPS, Evaluator, unsupported
from mpslint.program.stubs.host import Host
from mpslint.program.stubs.language import (
    NO_DEFAULT,
    Break,
    Continue,
    Definition,
    Left,
    Return,
    Scope,
    StubClass,
    StubError,
    StubFunction,
    StubObject,
    bound,
)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (len, int, float, str, bool, list, dict, tuple, set, enumerate, zip, range, reversed, any, all, min, max, sorted)
}


def _is_instance(value: Any, kinds: Any) -> bool:
    """Return whether a value is of a class of Python, or of a stub, or of one of several."""
    several = kinds if isinstance(kinds, tuple) else (kinds,)
    own = value.cls.lineage() if isinstance(value, StubObject) else ()
    return any(one in own if isinstance(one, StubClass) else isinstance(value, one) for one in several)


FUNCTIONS["isinstance"] = _is_instance
METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        (
            "lower upper strip lstrip rstrip split rsplit partition rpartition startswith endswith replace removeprefix removesuffix "
            "isdigit isidentifier join count find"
        ).split()
    ),
    list: frozenset("append extend insert pop index copy".split()),
    dict: frozenset("get items keys values update pop setdefault copy".split()),
    set: frozenset("add update discard isdisjoint".split()),
}
OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    **{one: BINARY[one] for one in (ast.Add, ast.Sub, ast.BitOr, ast.BitAnd)},
    **COMPARE,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def refuse_others(tree: ast.Module, path: str) -> None:
    """Raise StubError for the first statement, expression or operator of a text that can't be in a stub, and for a decorator."""
    for node in ast.walk(tree):
        for part in (node, getattr(node, "op", None), *getattr(node, "ops", ())):
            kind = part.__class__
            if isinstance(part, (ast.stmt, ast.expr, ast.operator, ast.cmpop)) and kind not in CARRIED:
                raise StubError(f"{path}:{node.lineno}: {kind.__name__} can't be in a stub")  # type: ignore[attr-defined]
        if decorators := getattr(node, "decorator_list", ()):
            raise StubError(f"{path}:{decorators[0].lineno}: a decorator can't be in a stub")


def _lookup(e: Evaluator, node: ast.Name, scope: Scope) -> Any:
    where: Scope | None = scope
    while where is not None:
        if node.id in where.names:
            return where.names[node.id]
        where = where.outer
    if node.id not in FUNCTIONS:
        raise StubError(f"{scope.path}:{node.lineno}: {node.id} is not defined")
    return FUNCTIONS[node.id]


def _attribute(e: Evaluator, node: ast.Attribute, scope: Scope) -> Any:
    base = e.value(node.value, scope)
    if isinstance(base, StubObject):
        if node.attr in base.slots:
            return base.slots[node.attr]
        if (found := base.cls.lookup(node.attr)) is not None:
            return bound(found, base)
    elif isinstance(base, str) and node.attr in ("join", "replace"):
        return getattr(BoundedText(base), f"{node.attr}_")
    elif node.attr in METHODS.get(type(base), ()) or node.attr in getattr(base, "STUB_METHODS", ()):
        return getattr(base, node.attr)
    raise AttributeError(f"no {node.attr}")


def _call(e: Evaluator, node: ast.Call, scope: Scope) -> Any:
    if (
        isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Call)
        and getattr(node.func.value.func, "id", "") == "super"
    ):
        return _call_above(e, node, scope)
    return e.call(e.value(node.func, scope), *_given(e, node, scope))


def _given(e: Evaluator, node: ast.Call, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
    named: dict[str, Any] = {}
    for one in node.keywords:
        named.update({one.arg: e.value(one.value, scope)} if one.arg is not None else e.value(one.value, scope))
    return list(_items(e, node.args, scope)), named


def _call_above(e: Evaluator, node: ast.Call, scope: Scope) -> Any:
    """Return what `super().method(...)` gives."""
    assert isinstance(node.func, ast.Attribute)
    receiver, owner = next(iter(scope.names.values())), _lookup(e, ast.copy_location(ast.Name("__class__"), node), scope)
    above = next((cls.names[node.func.attr] for cls in owner.lineage()[1:] if node.func.attr in cls.names), None)
    return e.call(bound(above, receiver), *_given(e, node, scope)) if above is not None else None


def _items(e: Evaluator, nodes: Sequence[ast.expr], scope: Scope) -> Iterator[Any]:
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from e.value(node.value, scope)
        else:
            yield e.value(node, scope)


def _dict(e: Evaluator, node: ast.Dict, scope: Scope) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        found.update({e.value(key, scope): e.value(value, scope)} if key is not None else e.value(value, scope))
    return found


class BoundedText(str):
    """A text whose methods don't make much of little."""

    def join_(self, parts: Sequence[str]) -> str:
        """Join texts."""
        return self.join(parts) if sum(len(one) + len(self) for one in parts) <= MOST_LENGTH else too_long()

    def replace_(self, old: str, new: str, *count: int) -> str:
        """Replace a text by another."""
        return self.replace(old, new, *count) if len(self) + (self.count(old) + 1) * len(new) <= MOST_LENGTH else too_long()


def too_long() -> NoReturn:
    raise ValueError(f"a value of more than {MOST_LENGTH:,} items")


def _apply(op: ast.AST, left: Any, right: Any) -> Any:
    if op.__class__ not in OPERATORS:
        raise TypeError(f"{op.__class__.__name__} can't be in a stub")
    if not isinstance(op, (ast.Is, ast.IsNot)) and (isinstance(left, Argument) or isinstance(right, Argument)):
        raise TypeError("a value of the program is compared: ask for `plain` of it")
    return OPERATORS[op.__class__](left, right)


def _compare(e: Evaluator, node: ast.Compare, scope: Scope) -> bool:
    left = e.value(node.left, scope)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = e.value(comparator, scope)
        if not isinstance(op, (ast.Is, ast.IsNot)):
            e.weigh((left, () if isinstance(right, (dict, set)) and isinstance(op, (ast.In, ast.NotIn)) else right))
        if not _apply(op, left, right):
            return False
        left = right
    return True


def _boolean(e: Evaluator, node: ast.BoolOp, scope: Scope) -> Any:
    for operand in node.values[:-1]:
        value = e.value(operand, scope)
        if e.is_true(value, operand, scope) is isinstance(node.op, ast.Or):
            return value
    return e.value(node.values[-1], scope)


def _text(e: Evaluator, node: ast.JoinedStr, scope: Scope) -> str:
    parts = [e.value(one.value if isinstance(one, ast.FormattedValue) else one, scope) for one in node.values]
    e.weigh(parts)
    return BoundedText().join_([str(one) for one in parts])


def _tuple(e: Evaluator, node: ast.Tuple, scope: Scope) -> tuple[Any, ...]:
    made = tuple(_items(e, node.elts, scope))
    e.weigh(made)
    return made


def _operated(e: Evaluator, node: ast.BinOp | ast.AugAssign, left: Any, right: Any) -> Any:
    """Return what an operator makes of two values."""
    e.weigh((left, right))
    return _apply(node.op, left, right)


def _rounds(e: Evaluator, generators: Sequence[ast.comprehension], scope: Scope) -> Iterator[Scope]:
    """Yield the scope of each round of a comprehension."""
    if not generators:
        yield scope
        return
    first, *rest = generators
    for item in e.value(first.iter, scope):
        inner = Scope(scope.path, {}, scope)
        _bind(e, first.target, item, inner)
        if all(e.truth(test, inner) for test in first.ifs):
            yield from _rounds(e, rest, inner)


def _bind(e: Evaluator, target: ast.expr, value: Any, scope: Scope) -> None:
    if isinstance(target, ast.Name):
        scope.names[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        values = list(value)
        at = next((index for index, one in enumerate(target.elts) if isinstance(one, ast.Starred)), None)
        if at is not None:
            taken = len(values) - len(target.elts) + 1
            values = [*values[:at], values[at : at + taken], *values[at + taken :]]
        for one, item in zip(target.elts, values, strict=True):
            _bind(e, one.value if isinstance(one, ast.Starred) else one, item, scope)
    elif isinstance(target, ast.Subscript):
        e.value(target.value, scope)[e.value(target.slice, scope)] = value
    elif isinstance(target, ast.Attribute) and isinstance(base := e.value(target.value, scope), StubObject):
        base.slots[target.attr] = value
        if base.instance is not None and (mapping := getattr(value, "mapping", None)) is not None:
            base.instance.slots["stub", target.attr] = mapping
    else:
        unsupported(e, target, scope)


def _function(e: Evaluator, node: Definition, scope: Scope) -> StubFunction:
    parameters = node.args
    every = (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs, *([parameters.vararg] if parameters.vararg else ()))
    plain = frozenset(one.arg for one in every if isinstance(one.annotation, ast.Name) and one.annotation.id == "plain")
    defaults = tuple(e.value(one, scope) for one in parameters.defaults)
    return StubFunction(
        node, scope, defaults, tuple(NO_DEFAULT if one is None else e.value(one, scope) for one in parameters.kw_defaults), plain
    )


def _class(e: Evaluator, node: ast.ClassDef, scope: Scope) -> None:
    made = StubClass(node.name, {}, tuple(e.value(base, scope) for base in node.bases))
    inner = Scope(scope.path, {}, scope)
    e.execute(node.body, inner)
    for value in inner.names.values():
        if isinstance(value, StubFunction):
            value.scope, value.owner = Scope(scope.path, {"__class__": made}, scope), made
    made.names.update(inner.names)
    scope.names[node.name] = made


def _loop(e: Evaluator, node: ast.For | ast.While, scope: Scope) -> None:
    rounds = iter(e.value(node.iter, scope)) if isinstance(node, ast.For) else None
    while True:
        if isinstance(node, ast.While):
            if not e.truth(node.test, scope):
                break
        else:
            item = next(rounds, e)  # type: ignore[arg-type]
            if item is e:
                break
            _bind(e, node.target, item, scope)
        try:
            e.execute(node.body, scope)
        except Continue:
            continue
        except Break:
            return
    e.execute(node.orelse, scope)


def _assign(e: Evaluator, node: ast.Assign, scope: Scope) -> None:
    value = e.value(node.value, scope)
    for target in node.targets:
        _bind(e, target, value, scope)


def _add_to(e: Evaluator, node: ast.AugAssign, scope: Scope) -> None:
    read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target) if isinstance(node.target, ast.Name) else node.target
    _bind(e, node.target, _operated(e, node, e.value(read, scope), e.value(node.value, scope)), scope)


def _import(e: Evaluator, node: ast.ImportFrom, scope: Scope) -> None:
    for alias in node.names:
        if node.module != "__future__":
            scope.names[alias.asname or alias.name] = e.import_name(node.module or "", alias.name)


def _leave(kind: type[Left]) -> Callable[[Evaluator, Any, Scope], None]:
    def leave(e: Evaluator, node: Any, scope: Scope) -> None:
        raise kind()

    return leave


def _return(e: Evaluator, node: ast.Return, scope: Scope) -> None:
    raise Return(e.value(node.value, scope) if node.value is not None else None)


def _slice(e: Evaluator, node: ast.Slice, scope: Scope) -> slice:
    return slice(*(e.value(one, scope) if one is not None else None for one in (node.lower, node.upper, node.step)))


def _unary(e: Evaluator, node: ast.UnaryOp, scope: Scope) -> Any:
    if isinstance(node.op, ast.Not):
        return not e.truth(node.operand, scope)
    return -e.value(node.operand, scope) if isinstance(node.op, ast.USub) else unsupported(e, node, scope)


STATEMENTS: dict[type[ast.AST], Callable[[Evaluator, Any, Scope], None]] = {
    ast.Expr: lambda e, node, scope: e.value(node.value, scope),
    ast.Assign: _assign,
    ast.AugAssign: _add_to,
    ast.If: lambda e, node, scope: e.execute(node.body if e.truth(node.test, scope) else node.orelse, scope),
    ast.For: _loop,
    ast.While: _loop,
    ast.FunctionDef: lambda e, node, scope: scope.names.update({node.name: _function(e, node, scope)}),
    ast.ClassDef: _class,
    ast.ImportFrom: _import,
    ast.Return: _return,
    ast.Break: _leave(Break),
    ast.Continue: _leave(Continue),
    ast.Pass: lambda e, node, scope: None,
}
EXPRESSIONS: dict[type[ast.AST], Callable[[Evaluator, Any, Scope], Any]] = {
    ast.Constant: lambda e, node, scope: node.value,
    ast.Name: _lookup,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.List: lambda e, node, scope: list(_items(e, node.elts, scope)),
    ast.Tuple: _tuple,
    ast.Set: lambda e, node, scope: set(_items(e, node.elts, scope)),
    ast.Dict: _dict,
    ast.Subscript: lambda e, node, scope: e.value(node.value, scope)[e.value(node.slice, scope)],
    ast.Slice: _slice,
    ast.BinOp: lambda e, node, scope: _operated(e, node, e.value(node.left, scope), e.value(node.right, scope)),
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: lambda e, node, scope: e.value(node.body if e.truth(node.test, scope) else node.orelse, scope),
    ast.JoinedStr: _text,
    ast.Lambda: _function,
    ast.ListComp: lambda e, node, scope: [e.value(node.elt, inner) for inner in _rounds(e, node.generators, scope)],
    ast.GeneratorExp: lambda e, node, scope: [e.value(node.elt, inner) for inner in _rounds(e, node.generators, scope)],
    ast.SetComp: lambda e, node, scope: {e.value(node.elt, inner) for inner in _rounds(e, node.generators, scope)},
    ast.DictComp: lambda e, node, scope: {
        e.value(node.key, inner): e.value(node.value, inner) for inner in _rounds(e, node.generators, scope)
    },
}
CARRIED = {*STATEMENTS, *EXPRESSIONS, *OPERATORS, ast.Starred, ast.FormattedValue}
"""What can be in a stub."""


def evaluator(import_name: Callable[[str, str], Any], host: Host, most_steps: int = MOST_STEPS) -> Evaluator:
    """Return what carries out stubs for a call. `import_name` gives what a stub imports from another module."""
    return Evaluator(STATEMENTS, EXPRESSIONS, (len, bool, _is_instance), import_name, host, most_steps)
