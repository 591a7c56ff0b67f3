"""Statements: what they write, and which of them the Target reaches."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from mpslint.facts.facts import Choice, Import
from mpslint.facts.joined import same, truth
from mpslint.facts.values import (
    MAYBE,
    UNKNOWN,
    Argument,
    Bound,
    Class,
    Function,
    Guard,
    Instance,
    Items,
    Known,
    Mapping,
    Module,
    Symbol,
    Unknown,
    Value,
    is_weak,
    method_of,
)
from mpslint.program import choices, effects, fields, listed
from mpslint.program.assignments import annotated_assignment, assign_statement, augmented_assignment, delete_statement, evaluate_annotations
from mpslint.program.exits import Raised, ends, leave, may_raise, raises
from mpslint.program.flow import ENDS, guard_rest, if_statement, match_statement, tested
from mpslint.program.loops import for_loop, while_loop
from mpslint.program.machine import Walker
from mpslint.program.tries import NO_MODULE, try_statement, with_statement
from mpslint.program.walk import walk
from mpslint.tensors.arguments import CallArguments


def execute(m: Walker, body: Sequence[ast.stmt]) -> bool:
    """Walk statements in order; return whether the path leaves them early (return, raise, break, continue)."""
    before = m.context
    try:
        leaves = False
        for statement in body:  # each is some frames of the recursion, and `any` of them would be one more
            leaves = execute_one(m, statement)
            if leaves:
                break
        return leaves
    finally:
        m.context = before


def execute_one(m: Walker, statement: ast.stmt) -> bool:
    """Walk one statement; return whether the path leaves there. The context is then that of the statements after it."""
    if m.is_dead:
        return True
    m.steps += 1
    m.facts.uses.reached.add(statement)
    handler = _HANDLERS.get(type(statement))
    operands = len(m.operands)
    try:
        leaves = handler is not None and handler(m, statement)
    except Raised as error:
        raises(m, error, statement)
        leaves = False
    del m.operands[operands:]
    is_dead, m.is_dead = m.is_dead, False
    return leaves or is_dead


def _expression(m: Walker, node: ast.Expr) -> bool:
    m.dropped = node.value
    value = m.value(node.value)
    if isinstance(value, Instance) and value.name in ENDS:
        ends(m, node)
        leave(m, "raise", "SystemExit")
        return True
    return False


def _function(m: Walker, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = tuple(_decorator(m, decorator) for decorator in node.decorator_list)
    defaults = tuple(m.value(default) for default in node.args.defaults)
    keyword_defaults = tuple(None if default is None else m.value(default) for default in node.args.kw_defaults)
    evaluate_annotations(m, [*(one.annotation for one in walk(node.args) if isinstance(one, ast.arg)), node.returns])
    function = Function(node, m.frame, decorators, defaults, keyword_defaults)
    m.functions[id(node)] = function
    if decorators and effects.may_swallow(node):
        m.methods.add("__exit__")  # what a library makes of it may be a manager
    m.bind(node.name, _decorated(m, node, function))
    return False


def _decorated(m: Walker, node: ast.FunctionDef | ast.AsyncFunctionDef, function: Function) -> Value:
    """Return what the decorators make of a function: those of the program are followed, and those of outside leave it what it is."""
    result: Value = function
    for written, decorator in zip(reversed(node.decorator_list), reversed(function.decorators), strict=True):
        if isinstance(written, ast.Attribute) and isinstance(own := m.looked_at(written.value), Function) and own.is_a("property"):
            setter = function if written.attr == "setter" else own.setter
            if written.attr == "getter":
                own, setter = Function(node, function.frame, own.decorators, function.defaults, function.keyword_defaults), own.setter
            return own.with_accessors(setter, function if written.attr == "deleter" else own.deleter)
        if isinstance(decorator, Symbol) and decorator.name in m.platform.dispatchers:
            m.store.lose(result)
            result = UNKNOWN  # what is registered with it later is called in its place
        elif _is_own(decorator):
            result = _call_decorator(m, written, decorator, result)
        elif isinstance(decorator, Unknown):
            m.store.lose(result)
    return result


def _is_own(decorator: Value) -> bool:
    """Return whether a decorator is the program's own: what it makes of a function or a class is followed."""
    is_function = isinstance(decorator, (Function, Class)) or method_of(decorator, "__call__") is not None
    return is_function or (isinstance(decorator, Bound) and decorator.function is not None)


def _decorator(m: Walker, node: ast.expr) -> Value:
    """Return what a decorator is; one that counts as a call without parentheses is recorded as that call."""
    value = m.value(node)
    if isinstance(value, Symbol) and value.name in m.platform.bare_decorators:
        m.value(ast.copy_location(ast.Call(node, [], []), node))
    return value


def _class(m: Walker, node: ast.ClassDef) -> bool:
    decorators = tuple(m.value(decorator) for decorator in node.decorator_list)
    bases = tuple(m.value(base) for base in node.bases)
    if any(isinstance(base, Known) and not base.source for base in bases):
        raise Raised("TypeError")
    keywords = {one.arg or "": m.value(one.value) for one in node.keywords}
    before = m.frame
    m.frame = m.new_frame(before)
    m.frame.is_class = True
    try:
        leaves = execute(m, node.body)
        slots = m.frame.slots
    finally:
        m.frame = before
    if leaves:
        return True
    annotated, kinds = fields.names_of_fields(m, node.body)
    makers = [one for one in keywords.values() if isinstance(one, Class)]
    cls = Class(node, dict(slots), bases, (*decorators, *makers), annotated, kinds, before)
    for name in [one for one in slots if (id(slots), one) in m.store.unsure]:
        m.store.unsure.add((id(cls.slots), name))
        if cls.above(name) is not None:  # on the other paths it has its base's
            m.store.lose(cls.slots[name])
            cls.slots[name] = MAYBE
    if [one for one in cls.bases_above() if one in bases] != list(bases):
        raise Raised("TypeError")  # a base that comes before one that derives from it
    outside = {one.name for one in cls.bases_above() if isinstance(one, Symbol)}
    if outside & (m.platform.enumerations | m.platform.closed_enumerations):
        listed.hold_enumerated(m, node)
    if outside & m.platform.enumerations and len(outside) == 1:
        cls.slots = dict(_members(cls))
    if any(isinstance(slots.get(one), (Items, Mapping)) for one in annotated):
        may_raise(m)  # a dataclass takes no list as a default
    for value in (*slots.values(), *(m.functions.get(id(one)) for one in node.body)):
        for function in (value, value.setter, value.deleter) if isinstance(value, Function) else ():
            if function is not None and function.cls is None and function.frame.slots is slots:
                function.cls = cls
                m.methods.add(function.name)
                function.frame = before
    m.holding.update(name for name, held in slots.items() if isinstance(held, (Class, Instance)))
    for name, held in list(cls.slots.items()):
        if (told := method_of(held, "__set_name__")) is not None:
            m.calls.call_function(m, told, [held, cls, Known(name)], {}, False, node)
    if isinstance(hook := cls.above("__init_subclass__"), Function):
        m.calls.call_function(m, hook, [cls], {name: value for name, value in keywords.items() if name != "metaclass"}, False, node)
    for keyword in (one for one in node.keywords if one.arg == "metaclass" and not isinstance(keywords["metaclass"], (Class, Symbol))):
        _call_decorator(m, keyword.value, keywords["metaclass"], cls)  # it makes the class
    if any(not isinstance(one, (Class, Symbol)) for one in cls.bases_above()):
        effects.change_any_attribute(m, cls)  # what isn't known may make members of the values, as an enumeration does
    if makers:
        effects.not_followed(m, [*makers, *(method for one in makers for method in one.slots.values()), cls])
        if any(one.lookup(name) is not None for one in makers for name in ("__new__", "__prepare__")):
            effects.change_any_attribute(m, cls)
    m.bind(node.name, _decorated_class(m, node, cls))
    return False


def _members(cls: Class) -> dict[str, Value]:
    """Return what the names in a class of an enumeration are: objects of the class that have a name and a value, one for each value."""
    found: dict[str, Value] = {}
    for name, value in cls.slots.items():
        same_value = (one for one in found.values() if isinstance(one, Instance) and one.cls is cls and same(one.slots["value"], value))
        made = next(same_value, None) or Instance(cls.node.name, cls=cls, slots={"name": Known(name), "value": value})
        found[name] = made if name[:1] != "_" and not isinstance(value, (Function, Class)) else value
    return found


def _decorated_class(m: Walker, node: ast.ClassDef, cls: Class) -> Value:
    """Return what the decorators make of a class: those of the program are followed, and those of outside leave it what it is."""
    result: Value = cls
    for written, decorator in zip(reversed(node.decorator_list), reversed(cls.decorators[: len(node.decorator_list)]), strict=True):
        if _is_own(decorator):
            result = _call_decorator(m, written, decorator, result)
    return result


def _call_decorator(m: Walker, written: ast.expr, decorator: Value, decorated: Value) -> Value:
    call = ast.copy_location(ast.Call(written, [], []), written)
    return m.calls.call_value(m, decorator, None, CallArguments((Argument(decorated, None),), {}, False), call)


def _return(m: Walker, node: ast.Return) -> bool:
    value = m.value(node.value) if node.value is not None else Known(None, node)
    choices.returned(m, value)
    leave(m, "return", value=value)
    return True


def _raise(m: Walker, node: ast.Raise) -> bool:
    value, _ = [m.value(one) if one is not None else UNKNOWN for one in (node.exc, node.cause)]
    name = value.name if isinstance(value, (Symbol, Instance)) else ""
    ends(m, node)
    leave(m, "raise", name.removeprefix("builtins.") if name.startswith("builtins.") else "")
    return True


def _jump(m: Walker, node: ast.Break | ast.Continue) -> bool:
    leave(m, "break" if isinstance(node, ast.Break) else "continue")
    return True


def _assert(m: Walker, node: ast.Assert) -> bool:
    test = tested(m, node.test)
    answer = truth(test)
    if isinstance(test, Known) and test.source and not test.weak and answer is not None and not m.is_silent:
        m.facts.choices.append(Choice(node, test.source, answer, None, m.context))
    if answer is False:
        ends(m, node)
    if answer is not True:
        with m.store.path():
            if node.msg is not None:
                m.value(node.msg)
            may_raise(m)
    if answer is None or (answer is False and is_weak(test)):  # what follows runs where the test is true: it is `if not test: raise`
        guard_rest(m, Guard(node.test, True, answer, is_check=True))
    return answer is False and isinstance(test, Known) and not test.weak and bool(test.source)


def _import(m: Walker, node: ast.Import) -> bool:
    may_raise(m)
    for alias in node.names:
        if m.project is not None and (module := m.project.load(m, alias.name, 0)) is not None:
            top = module if alias.asname or "." not in alias.name else m.project.load(m, alias.name.split(".")[0], 0)
            m.bind(alias.asname or alias.name.split(".")[0], top if top is not None else UNKNOWN)
            continue
        name = m.platform.normalise(alias.name)
        m.bind(alias.asname or alias.name.split(".")[0], Symbol(name if alias.asname else alias.name.split(".")[0]))
        _note_import(m, alias.name, node)
    return any(_fails(m, alias.name, node) for alias in node.names)


def _import_from(m: Walker, node: ast.ImportFrom) -> bool:
    may_raise(m)
    if m.project is not None and (module := m.project.load(m, node.module or "", node.level)) is not None:
        return _import_from_project(m, module, node)
    if node.level or node.module is None:
        for alias in node.names:
            m.bind(alias.asname or alias.name, Symbol(f".{node.module or ''}.{alias.name}"))
        return False
    for alias in node.names:
        if alias.name == "*":
            m.stars.append(node.module)
            continue
        name = m.platform.imported(node.module, alias.name)
        value: Value = Known(m.platform.values[name], node, source=name) if name in m.platform.values else Symbol(name)
        m.bind(alias.asname or alias.name, value)
    _note_import(m, node.module, node)
    return _fails(m, node.module, node)


def _fails(m: Walker, module: str, node: ast.stmt) -> bool:
    """Return whether an import ends the path on a Mac. One at the top of a program ends all of it, which is said at the import alone."""
    if not m.platform.lacks(module):
        return False
    if m.context.handlers:
        raises(m, Raised(NO_MODULE), node)
    return bool(m.context.functions or m.context.guards) and not m.context.handlers


def _import_from_project(m: Walker, module: Module, node: ast.ImportFrom) -> bool:
    """Carry out `from module import ...` of a module of the project; a name that it does not have may be an outside one's."""
    for alias in node.names:
        if alias.name == "*":
            told = module.slots.get("__all__")
            names = [item.value for item in told.values() if isinstance(item, Known)] if isinstance(told, Items) else None
            for name in names if names is not None else [name for name in module.slots if isinstance(name, str) and name[:1] != "_"]:
                if name in module.slots:
                    m.bind(name, module.slots[name])
            m.stars.extend(star for star in module.stars if star not in m.stars)
            continue
        m.bind(alias.asname or alias.name, m.attribute(module, alias.name, None))
    return False


def _note_import(m: Walker, name: str, node: ast.stmt) -> None:
    if not m.is_silent:
        m.facts.imports.append(Import(name, node, m.context))


def _declare(m: Walker, node: ast.Global | ast.Nonlocal) -> bool:
    (m.frame.declared_global if isinstance(node, ast.Global) else m.frame.declared_nonlocal).update(node.names)
    return False


_HANDLERS: dict[type[ast.stmt], Callable[[Walker, Any], bool]] = {
    ast.Expr: _expression,
    ast.Assign: assign_statement,
    ast.AnnAssign: annotated_assignment,
    ast.AugAssign: augmented_assignment,
    ast.Delete: delete_statement,
    ast.If: if_statement,
    ast.For: for_loop,
    ast.AsyncFor: for_loop,
    ast.While: while_loop,
    ast.With: with_statement,
    ast.AsyncWith: with_statement,
    ast.Try: try_statement,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _jump,
    ast.Continue: _jump,
    ast.Assert: _assert,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Global: _declare,
    ast.Nonlocal: _declare,
    ast.Match: match_statement,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = try_statement
