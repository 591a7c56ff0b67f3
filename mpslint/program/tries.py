"""`try` and `with`: which handlers an exception reaches, and what runs whichever way a block is left."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from mpslint.core.grouped import grouped
from mpslint.facts.facts import Handler
from mpslint.facts.joined import truth
from mpslint.facts.values import UNKNOWN, Class, Function, Instance, Items, Known, OneOf, Symbol, Unknown, Value
from mpslint.program import implicit
from mpslint.program.assignments import assign
from mpslint.program.exits import MOST_RAISED, Departure, Exit, cut, leave, marks, may_raise
from mpslint.program.flow import ends_program
from mpslint.program.machine import Walker
from mpslint.program.places import MISSING, Place, Writes, unknown_for, value_at

NO_MODULE = "builtins.ModuleNotFoundError"
MANAGING = frozenset({"close", "__enter__", "__exit__"})  # `closing(file)` asks for the first
"""The methods that a manager may call of what it was given."""
LONGEST_READ = 3
"""Statements of a `try` block that reads a configuration file and does little else."""


def try_statement(m: Walker, node: Any) -> bool:
    """Walk a `try` block and its handlers; what holds afterwards is what holds on every path that goes on."""
    if not node.finalbody:
        return _guarded(m, node)
    return in_any_case(m, lambda: _guarded(m, node), lambda _: m.execute_block(m, node.finalbody), passes=True)


def in_any_case(m: Walker, block: Callable[[], bool], last: Callable[[bool], bool], passes: bool = False) -> bool:
    """Walk a block, and on each way out of it what comes last, which ends the path itself where it says so.

    `last` is told whether the block may have been left by an exception, which goes on behind it where it `passes`. What it notes holds
    whichever way the block was left: where there are several, it is noted of what all of them may have written.
    """
    before = marks(m)
    outer = next((target for target in reversed(m.exits) if "raise" in target.kinds), None)
    with m.leaving("raise", stops=outer is not None and outer.stops, passes=passes) as (own, written):
        leaves = block()
    departed: list[tuple[Exit | None, Departure]] = [*cut(m, before)]
    _end_history(m, own, written)
    departed += [(outer, path) for path in own.paths]
    is_silent = m.is_silent
    m.is_silent = is_silent or len(departed) > leaves
    try:
        for target, path in departed:
            with m.store.path():
                m.store.redo(path.writes)
                if not last(path.kind == "raise") and target is not None:
                    target.paths.append(Departure(path.kind, path.name, path.value, m.store.since(target.journal)))
    finally:
        silent, m.is_silent = m.is_silent, is_silent
    if silent and not is_silent:
        ways = marks(m)
        with m.store.path():
            m.store.merge(*([] if leaves else [written]), *(path.writes for _, path in departed))
            last(any(path.kind == "raise" for _, path in departed))
        cut(m, ways)
    if leaves and departed:
        return True
    m.store.redo(written)
    m.is_silent = silent
    try:
        return last(False) or leaves
    finally:
        m.is_silent = is_silent


def _guarded(m: Walker, node: Any) -> bool:
    """Walk a `try` block, its handlers and its `else`.

    A configuration file that the run reads is there, so a short block that reads it goes on behind itself, not in its handlers.
    """
    read_before = m.project.configs_read if m.project is not None else 0
    caught = [_exceptions(m, handler) for handler in node.handlers]
    saving = tuple(name for handler, one in zip(node.handlers, caught, strict=True) if not ends_program(handler.body) for name in one)
    raised, leaves, writes = _raising(m, node, saving)
    imports_only = _only_imports(node.body) and not any(path.name == NO_MODULE for path in raised)
    reads_config = m.project is not None and m.project.configs_read > read_before and len(node.body) <= LONGEST_READ and not leaves
    paths = []
    if not leaves:
        with m.store.path() as normal_writes:
            m.store.redo(writes)
            leaves = m.execute_block(m, node.orelse)
        if not leaves:
            paths.append(normal_writes)
    for handler, exceptions in zip(node.handlers, caught, strict=True):
        if not m.is_silent:
            m.facts.handlers.append(Handler(handler, exceptions, m.context))
        fits = [(path, _catches(exceptions, path.name)) for path in raised]
        reaching = [path.writes for path, answer in fits if answer is not False]
        raised = [path for path, answer in fits if answer is not True]
        ways = marks(m)
        with m.store.path() as handler_writes, m.silently(imports_only):
            m.store.merge(*(reaching or [writes, {}]))
            if handler.name:
                m.bind(handler.name, UNKNOWN)
            with m.within(in_handler=True), nullcontext() if reaching else m.leaving("raise"):  # what nothing comes to ends nothing
                handler_leaves = m.execute_block(m, handler.body)
            if handler.name:  # whichever way leads out, Python deletes the name
                slots = m.home_of(handler.name).slots
                m.store.delete(slots, handler.name)
                for target, known in zip(m.exits, ways, strict=True):
                    for path in target.paths[known:]:
                        path.writes[id(slots), handler.name] = (slots, handler.name, MISSING)
        if imports_only or reads_config or not reaching:
            cut(m, ways)
        elif not handler_leaves:
            paths.append(handler_writes)
    return _left_by(m, raised, paths)


def _left_by(m: Walker, raised: Sequence[Departure], paths: Sequence[Writes]) -> bool:
    """Leave by the exceptions that nothing here catches, and go on with what other paths wrote; return whether there are none.

    Many paths leave as one for each exception: blocks within one another would hand on more and more of them.
    """
    ways = [(path.name, path.writes) for path in raised]
    for name, writes in grouped(ways).items() if len(ways) > MOST_RAISED else [(name, [written]) for name, written in ways]:
        with m.store.path():
            m.store.merge(*writes)
            leave(m, "raise", name)
    if paths:
        m.store.merge(*paths)
    return not paths


def _raising(m: Walker, node: Any, saving: tuple[str, ...]) -> tuple[list[Departure], bool, Writes]:
    """Walk the block of a `try`; return the paths on which it raises, whether its end is never reached, and what it wrote there.

    `saving` are the exceptions behind which the program goes on: a handler that raises again, or exits, saves nothing.
    """
    with (
        m.leaving("raise", passes=not node.handlers) as (target, writes),
        m.within(handlers=(*m.context.handlers, saving) if saving else m.context.handlers),
    ):
        leaves = m.execute_block(m, node.body)
    _end_history(m, target, writes)
    return target.paths, leaves, writes


def _end_history(m: Walker, target: Exit, writes: Writes) -> None:
    """Where a block may have raised at too many points, make one path of all: nothing is known of what it wrote."""
    if target.is_vague:
        m.store.histories = [one for one in m.store.histories if one is not target.history]
        named = [path for path in target.paths if path.name]
        places: dict[object, tuple[Place, object]] = {**target.history}
        places.update({at: (place, key) for at, (place, key, _) in writes.items()})
        unknown: Any = {at: (place, key, unknown_for(place, value_at(place, key))) for at, (place, key) in places.items()}
        target.paths = [Departure("raise", "", UNKNOWN, unknown), *named]


def _catches(handled: Sequence[str], raised: str) -> bool | None:
    """Return whether an `except` clause catches an exception; None where that is not known."""
    if not raised:
        return True if {"", "builtins.BaseException"} & set(handled) else None
    kind = getattr(builtins, raised, None)
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        return None
    answer: bool | None = False
    for name in handled:
        other = (
            BaseException if not name else getattr(builtins, name.removeprefix("builtins."), None) if name.startswith("builtins.") else None
        )
        if not isinstance(other, type):
            answer = None
        elif issubclass(kind, other):
            return True
    return answer


def with_statement(m: Walker, node: ast.With | ast.AsyncWith) -> bool:
    """Walk a `with` block under its managers; those of the program's own classes are entered and left as Python does."""
    return _with_items(m, node, list(node.items))


def _with_items(m: Walker, node: ast.With | ast.AsyncWith, items: Sequence[ast.withitem]) -> bool:
    if not items:
        return m.execute_block(m, node.body)
    item, *others = items
    value = m.value(item.context_expr)
    if isinstance(value, Instance) and value.name in m.platform.suppressors and isinstance(item.context_expr, ast.Call):
        return try_statement(m, _as_try(node, item.context_expr, others))
    entered, exit_method = value, None
    prefix = "a" if isinstance(node, ast.AsyncWith) else ""
    if isinstance(value, Instance) and value.cls is not None:
        enter, exit_method = (value.cls.lookup(f"__{prefix}{verb}__") for verb in ("enter", "exit"))
        if isinstance(enter, Function):
            entered = m.calls.call_function(m, enter, [value], {}, False, item.context_expr)
    else:
        implicit.called(m, [value], MANAGING)
    if isinstance(value, (Known, Items, OneOf, Unknown)):
        may_raise(m)
        m.store.lose(value)
        entered = UNKNOWN if not isinstance(value, Unknown) else value
    if item.optional_vars is not None:
        assign(m, item.optional_vars, entered, item.context_expr, node)

    def left(given: Value) -> Value:
        if isinstance(exit_method, Function):
            return m.calls.call_function(m, exit_method, [value, given, given, given], {}, False, item.context_expr)
        implicit.called(m, [value], MANAGING)
        return UNKNOWN

    may_be_own = (isinstance(value, (OneOf, Unknown)) and "__exit__" in m.methods) or _may_swallow(m, value)
    with m.within(managers=(*m.context.managers, value)):
        if isinstance(exit_method, Function) or may_be_own:
            return _left(m, left, lambda: _with_items(m, node, others))
        leaves = _with_items(m, node, others)
        implicit.called(m, [value], MANAGING)
        return leaves


def _may_swallow(m: Walker, value: Value) -> bool:
    """Return whether a manager of outside may swallow an exception: one that is known to, or one of a package that isn't known."""
    if not isinstance(value, (Instance, Symbol)) or (isinstance(value, Instance) and value.cls is not None):
        return False
    return value.name in m.platform.swallowers or value.name.split(".")[0] not in sys.stdlib_module_names | m.known_roots


def _as_try(node: ast.With | ast.AsyncWith, manager: ast.Call, others: Sequence[ast.withitem]) -> ast.Try:
    """Return the `try` that a `with` means whose manager swallows the exceptions that it is given."""
    inner: list[ast.stmt] = [ast.copy_location(type(node)(list(others), node.body), node)] if others else node.body
    caught = ast.ExceptHandler(ast.copy_location(ast.Tuple(manager.args, ast.Load()), manager), None, [ast.copy_location(ast.Pass(), node)])
    return ast.copy_location(ast.Try(inner, [ast.copy_location(caught, manager)], [], []), node)


def _left(m: Walker, left: Callable[[Value], Value], block: Callable[[], bool]) -> bool:
    """Walk a block and then `__exit__`, which may swallow the exception that left the block; `left` is given the exception."""

    def last(is_raised: bool) -> bool:
        answer = left(UNKNOWN if is_raised else Known(None))
        if m.is_dead:
            m.is_dead = False
            return True
        if is_raised and truth(answer) is not False:
            leave(m, "swallow")
            return truth(answer) is True
        return False

    with m.leaving("raise", "swallow") as (own, written):  # what leaves the block is asked for first
        leaves = in_any_case(m, block, last)
    return _left_by(m, [path for path in own.paths if path.kind == "raise"], [*([] if leaves else [written]), *own.of("swallow")])


def _only_imports(body: Sequence[ast.stmt]) -> bool:
    """Return whether a block imports, and otherwise only writes down that it did (`HAS_CONFIG = True`), which nothing stops."""
    rest = [statement for statement in body if not isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass))]
    noted = all(isinstance(one, (ast.Assign, ast.AnnAssign)) and isinstance(one.value, (ast.Constant, ast.Name)) for one in rest)
    return len(rest) < len(body) and noted and isinstance(body[0], (ast.Import, ast.ImportFrom))


def _exceptions(m: Walker, handler: ast.ExceptHandler) -> tuple[str, ...]:
    """Return the qualified names that an `except` clause catches; '' for one that catches everything."""
    if handler.type is None:
        return ("",)
    value = m.value(handler.type)
    values = value.values() if isinstance(value, Items) else [value]
    return tuple(v.name if isinstance(v, Symbol) else v.node.name if isinstance(v, Class) else "?" for v in values)
