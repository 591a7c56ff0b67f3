"""Statements: what they write, and which of them the Target reaches."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from mpslint.program import environment
from mpslint.program.expressions import assign_loop_target, combine, get_item
from mpslint.program.facts import Accumulation, AttributeWrite, Choice, Guard, Handler, Import
from mpslint.program.machine import Machine
from mpslint.program.values import (
    LOOP,
    UNKNOWN,
    Class,
    Entry,
    Frame,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    Names,
    Symbol,
    Value,
    alternatives_of,
    is_weak,
    truth,
)
from mpslint.program.walk import children, walk

ENDS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit"})
"""Calls after which nothing runs."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def execute(m: Machine, body: Sequence[ast.stmt]) -> bool:
    """Walk statements in order; return whether the path leaves them early (return, raise, break, continue)."""
    before = m.context
    try:
        for statement in body:
            m.steps += 1
            handler = _HANDLERS.get(type(statement))
            if handler is None:
                continue
            if handler(m, statement):
                return True
        return False
    finally:
        m.context = before


def _expression(m: Machine, node: ast.Expr) -> bool:
    value = m.value(node.value)
    return isinstance(value, Instance) and value.name in ENDS


def _assign(m: Machine, node: ast.Assign) -> bool:
    value = m.value(node.value)
    for target in node.targets:
        assign(m, target, value, node.value, node)
    return False


def _annotated(m: Machine, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        assign(m, node.target, m.value(node.value), node.value, node)
    return False


def assign(m: Machine, target: ast.expr, value: Value, value_node: ast.expr, statement: ast.stmt) -> None:
    """Write a value to a name, an attribute, an item, or the parts of a tuple."""
    if isinstance(target, ast.Name):
        m.bind(target.id, value)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(m, target, value, value_node, statement)
    elif isinstance(target, ast.Subscript):
        _assign_item(m, target, value, value_node, statement)
    elif isinstance(target, ast.Starred):
        assign(m, target.value, UNKNOWN, value_node, statement)
    elif isinstance(target, (ast.Tuple, ast.List)):
        nodes = value_node.elts if isinstance(value_node, (ast.Tuple, ast.List)) else ()
        for index, element in enumerate(target.elts):
            part = get_item(m, value, Known(index)) if isinstance(value, (Items, Instance)) else UNKNOWN
            assign(m, element, part, nodes[index] if index < len(nodes) else value_node, statement)


def _assign_attribute(m: Machine, target: ast.Attribute, value: Value, value_node: ast.expr, statement: ast.stmt) -> None:
    receiver = m.value(target.value)
    for owner in alternatives_of(receiver):
        if isinstance(owner, (Instance, Class)):
            m.store.write(owner.slots, target.attr, value)
    if not m.is_silent:
        m.facts.attributes.append(AttributeWrite(statement, target.value, target.attr, receiver, value, value_node, m.context))


def _assign_item(m: Machine, target: ast.Subscript, value: Value, value_node: ast.expr, statement: ast.stmt) -> None:
    receiver, index = m.value(target.value), m.value(target.slice)
    if (isinstance(receiver, Symbol) and receiver.name == environment.ENVIRONMENT) or (
        isinstance(receiver, Instance) and receiver.name == environment.ENVIRONMENT
    ):
        environment.write(m, index, value, statement, value_node, "python" if isinstance(receiver, Symbol) else "child")
    elif isinstance(receiver, Mapping):
        if isinstance(index, Known) and index.value.__hash__ is not None:
            m.store.write(receiver.slots, index.value, Entry(value, value_node))
        else:
            receiver.is_open = True
    elif isinstance(receiver, Items):
        if isinstance(index, Known) and isinstance(index.value, int) and index.value in receiver.slots:
            m.store.write(receiver.slots, index.value, value)
        else:
            receiver.open = True
    elif isinstance(receiver, Instance):
        key = index.value if isinstance(index, Known) and isinstance(index.value, str) else "item"
        m.store.write(receiver.slots, key, value)


def _augmented(m: Machine, node: ast.AugAssign) -> bool:
    load = ast.copy_location(_as_load(node.target), node.target)
    old, new = m.value(load), m.value(node.value)
    if isinstance(node.op, ast.Add) and not m.is_silent:
        m.facts.accumulations.append(Accumulation(node, node.target, new, node.value, m.context))
    if isinstance(node.op, ast.BitOr) and isinstance(old, Symbol) and old.name == environment.ENVIRONMENT and isinstance(new, Mapping):
        for key, entry in new.slots.items():
            if isinstance(entry, Entry) and entry.node is not None:
                environment.write(m, Known(key), entry.value, entry.node, entry.node)
        return False
    assign(m, node.target, combine(m, old, node.op, new, node), node.value, node)
    return False


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    assert isinstance(target, ast.Subscript)
    return ast.Subscript(target.value, target.slice, ast.Load())


def _delete(m: Machine, node: ast.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            m.store.delete(m.frame.slots, target.id)
        elif isinstance(target, ast.Subscript):
            receiver, index = m.value(target.value), m.value(target.slice)
            if isinstance(receiver, Mapping) and isinstance(index, Known):
                m.store.delete(receiver.slots, index.value)
            elif isinstance(receiver, Symbol) and receiver.name == environment.ENVIRONMENT and isinstance(index, Known):
                m.store.delete(m.module.slots, ("environment", index.value))
    return False


def _if(m: Machine, node: ast.If) -> bool:
    test = m.value(node.test)
    answer = truth(test)
    if _asks_for_main(node.test):
        with m.within(under_main=True):
            return execute(m, node.body if answer is not False else node.orelse)
    if answer is None:
        return _undecided(m, node.test, node.body, node.orelse)
    if is_weak(test):
        return _by_default(m, node, answer)
    if isinstance(test, Known) and test.source and not m.is_silent:
        m.facts.choices.append(Choice(node, test.source, answer, None, m.context))
    leaves = execute(m, node.body if answer else node.orelse)
    # A Mac that is turned away at the door (`if not cuda: raise`) still gets the rest read: it runs once that is mended.
    return leaves and not (isinstance(test, Known) and test.source and ends_program(node.body if answer else node.orelse))


def ends_program(body: Sequence[ast.stmt]) -> bool:
    """Return whether a block ends in a `raise` or in a call after which nothing runs."""
    last = body[-1] if body else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in ENDS or ast.unparse(last.value.func) in ("exit", "quit")
    return isinstance(last, ast.Raise)


def _asks_for_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _undecided(m: Machine, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> bool:
    """Walk both ways, each as if the other were not there, and keep what holds either way."""
    paths = []
    for taken, block in ((True, body), (False, orelse)):
        m.store.begin()
        try:
            with m.guarded(test, taken):
                leaves = execute(m, block)
        finally:
            writes = m.store.undo()
        paths.append((leaves, writes))
    (first_leaves, first), (second_leaves, second) = paths
    if first_leaves and second_leaves:
        return True
    if first_leaves or second_leaves:
        m.store.redo(second if first_leaves else first)
        _guard_rest(m, Guard(test, not first_leaves))
        return False
    m.store.merge(first, second)
    return False


def _guard_rest(m: Machine, guard: Guard) -> None:
    """The statements after an `if` that left run under its other answer (`execute` puts the context back at its end)."""
    m.context = dataclasses.replace(m.context, guards=(*m.context.guards, guard))


def _by_default(m: Machine, node: ast.If, answer: bool) -> bool:
    """Walk the path that no option takes for its facts only, then the default one."""
    taken, other = (node.body, node.orelse) if answer else (node.orelse, node.body)
    m.store.begin()
    try:
        with m.guarded(node.test, not answer, answer):
            other_leaves = execute(m, other)
    finally:
        writes = m.store.undo()
    m.store.begin()
    try:
        with m.guarded(node.test, answer, answer):
            leaves = execute(m, taken)
    finally:
        default_writes = m.store.undo()
    if leaves and not other_leaves:
        m.store.redo(writes)
        _guard_rest(m, Guard(node.test, not answer, answer))
        return False
    m.store.redo(default_writes)
    return leaves


def _for(m: Machine, node: ast.For | ast.AsyncFor) -> bool:
    iterated = m.value(node.iter)
    if not m.is_silent:
        m.facts.loops.append((node, iterated, m.context))
    runs = isinstance(iterated, Items) and bool(iterated.slots) and not iterated.open
    return _loop(m, node, lambda: assign_loop_target(m, node.target, iterated), runs)


def _while(m: Machine, node: ast.While) -> bool:
    test = m.value(node.test)
    answer = truth(test)
    if answer is False and not is_weak(test):
        return execute(m, node.orelse)
    if not m.is_silent:
        m.facts.loops.append((node, UNKNOWN, m.context))
    return _loop(m, node, lambda: None, answer is True)


def _loop(m: Machine, node: ast.For | ast.AsyncFor | ast.While, begin: Callable[[], None], runs: bool) -> bool:
    """Walk a loop's body once, knowing nothing of the names it assigns, as it may be any round but the first."""
    m.store.begin()
    try:
        for name in _assigned_in(m, node):
            if name in m.frame.slots:
                m.store.write(m.frame.slots, name, LOOP)
        begin()
        with m.within(loops=(*m.context.loops, node)):
            execute(m, node.body)
    finally:
        writes = m.store.undo()
    if runs:
        m.store.redo(writes)
    else:
        m.store.merge(writes, {})
    execute(m, node.orelse)
    return False


def _assigned_in(m: Machine, node: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """Return the names that a loop's body assigns, those in nested functions left out."""
    if id(node) not in m.written:
        found: set[str] = set()
        stack: list[ast.AST] = list(node.body)
        while stack:
            inner = stack.pop()
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                found.add(inner.id)
            elif not isinstance(inner, SCOPES):
                stack += children(inner)
        m.written[id(node)] = frozenset(found)
    return m.written[id(node)]


def _with(m: Machine, node: ast.With | ast.AsyncWith) -> bool:
    managers = m.context.managers
    for item in node.items:
        with m.within(managers=managers):
            value = m.value(item.context_expr)
        managers = (*managers, value)
        if item.optional_vars is not None:
            assign(m, item.optional_vars, value, item.context_expr, node)
    with m.within(managers=managers):
        return execute(m, node.body)


def _try(m: Machine, node: Any) -> bool:
    caught = tuple(name for handler in node.handlers for name in _exceptions(m, handler))
    m.store.begin()
    try:
        with m.within(handlers=(*m.context.handlers, caught)):
            leaves = execute(m, node.body)
    finally:
        writes = m.store.undo()
    imports_only = all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in node.body)
    paths = []
    for handler in node.handlers:
        names = _exceptions(m, handler)
        if not m.is_silent:
            m.facts.handlers.append(Handler(handler, names, m.context))
        m.store.begin()
        before, m.is_silent = m.is_silent, m.is_silent or imports_only
        try:
            m.store.merge(writes, {})
            if handler.name:
                m.bind(handler.name, UNKNOWN)
            with m.within(in_handler=True):
                handler_leaves = execute(m, handler.body)
        finally:
            m.is_silent = before
            handler_writes = m.store.undo()
        if not handler_leaves and not imports_only:
            paths.append(handler_writes)
    if not leaves:
        m.store.begin()
        try:
            m.store.redo(writes)
            leaves = execute(m, node.orelse)
        finally:
            normal_writes = m.store.undo()
        if not leaves:
            paths.insert(0, normal_writes)
    if paths:
        m.store.merge(*paths)
    finally_leaves = execute(m, node.finalbody)
    return finally_leaves or not paths


def _exceptions(m: Machine, handler: ast.ExceptHandler) -> tuple[str, ...]:
    """Return the qualified names that an `except` clause catches; '' for one that catches everything."""
    if handler.type is None:
        return ("",)
    value = m.value(handler.type)
    values = value.values() if isinstance(value, Items) else [value]
    return tuple(v.name if isinstance(v, Symbol) else v.node.name if isinstance(v, Class) else "?" for v in values)


def _function(m: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = tuple(m.value(decorator) for decorator in node.decorator_list)
    defaults = tuple(m.value(default) for default in node.args.defaults)
    keyword_defaults = tuple(None if default is None else m.value(default) for default in node.args.kw_defaults)
    function = Function(node, m.frame, decorators, defaults, keyword_defaults)
    m.functions[id(node)] = function
    m.bind(node.name, function)
    return False


def _class(m: Machine, node: ast.ClassDef) -> bool:
    bases = tuple(m.value(base) for base in node.bases)
    decorators = tuple(m.value(decorator) for decorator in node.decorator_list)
    before = m.frame
    m.frame = Frame(Names(), before)
    try:
        execute(m, node.body)
        slots = m.frame.slots
    finally:
        m.frame = before
    annotated = [s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
    cls = Class(node, slots, bases, decorators, tuple(annotated))
    for value in slots.values():
        if isinstance(value, Function) and value.cls is None:
            value.cls = cls
            value.frame = before
    m.bind(node.name, cls)
    return False


def _return(m: Machine, node: ast.Return) -> bool:
    value = m.value(node.value) if node.value is not None else Known(None, node)
    if m.returns:
        m.returns[-1].append(value)
    return True


def _raise(m: Machine, node: ast.Raise) -> bool:
    if node.exc is not None:
        m.value(node.exc)
    return True


def _leave(m: Machine, node: ast.stmt) -> bool:
    return True


def _assert(m: Machine, node: ast.Assert) -> bool:
    test = m.value(node.test)
    answer = truth(test)
    if isinstance(test, Known) and test.source and not test.weak and answer is not None and not m.is_silent:
        m.facts.choices.append(Choice(node, test.source, answer, None, m.context))
    return False


def _import(m: Machine, node: ast.Import) -> bool:
    for alias in node.names:
        name = m.platform.normalise(alias.name)
        m.bind(alias.asname or alias.name.split(".")[0], Symbol(name if alias.asname else alias.name.split(".")[0]))
        _note_import(m, alias.name, node)
    return False


def _import_from(m: Machine, node: ast.ImportFrom) -> bool:
    if node.level or node.module is None:
        for alias in node.names:
            m.bind(alias.asname or alias.name, Symbol(f".{node.module or ''}.{alias.name}"))
        return False
    for alias in node.names:
        if alias.name == "*":
            m.star_modules.append(node.module)
            continue
        name = m.platform.imported(node.module, alias.name)
        value: Value = Known(m.platform.values[name], node, source=name) if name in m.platform.values else Symbol(name)
        m.bind(alias.asname or alias.name, value)
    _note_import(m, node.module, node)
    return False


def _note_import(m: Machine, name: str, node: ast.stmt) -> None:
    if not m.is_silent:
        m.facts.imports.append(Import(name, node, m.context))


def _global(m: Machine, node: ast.Global) -> bool:
    m.frame.declared_global.update(node.names)
    return False


def _match(m: Machine, node: Any) -> bool:
    m.value(node.subject)
    paths = []
    for case in node.cases:
        m.store.begin()
        try:
            for inner in walk(case.pattern):
                name = getattr(inner, "name", None) or getattr(inner, "rest", None)
                if isinstance(name, str):
                    m.bind(name, UNKNOWN)
            with m.guarded(node.subject, True):
                leaves = execute(m, case.body)
        finally:
            writes = m.store.undo()
        if not leaves:
            paths.append(writes)
    m.store.merge(*paths, {})
    return False


_HANDLERS: dict[type[ast.stmt], Callable[[Machine, Any], bool]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _leave,
    ast.Continue: _leave,
    ast.Assert: _assert,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Global: _global,
    ast.Match: _match,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try
