"""Functions of the program: their bodies are walked with the values that a call gives them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.joined import join_all
from mpslint.facts.values import (
    UNKNOWN,
    Bound,
    Class,
    DictEntry,
    Frame,
    Function,
    FunctionNode,
    Instance,
    Items,
    Known,
    Mapping,
    Symbol,
    Unknown,
    Value,
    count_made,
    settled,
    weakened,
)
from mpslint.program import effects, implicit, listed
from mpslint.program.exits import Departure, Exit, Raised, cut, marks
from mpslint.program.machine import DEEPEST_CALL, Walker
from mpslint.program.stubs import hooks as stubs
from mpslint.program.walk import assigning
from mpslint.tensors.gone_through import depth_of
from mpslint.tensors.loaders import generated
from mpslint.tensors.traits import is_module

MOST_KEPT = 128  # results that a function keeps which says nothing else


def _is_within_itself(m: Walker, function: Function, positional: Sequence[Value]) -> bool:
    """Return whether a function runs within itself too often to be followed: what goes into lists and dicts that it is given comes to an
    end (batches, an object of settings for each dict in a dict), and modules hold modules of their own class, of which each runs once."""
    within = [given for node, given in m.running if node is function.node]
    if not within or _goes_down(within, positional):
        return False
    own = positional[0] if positional else UNKNOWN
    return function.name == "__init__" or not is_module(own) or any(given[:1] and given[0] is own for given in within)


def _goes_down(within: Sequence[Sequence[Value]], positional: Sequence[Value]) -> bool:
    """Return whether the first or second argument, or what is given by name, is less deep with each call within the others."""
    depths = [(depth_of(one), [depth_of(given[at]) for given in within if at < len(given)]) for at, one in enumerate(positional)]
    return any(len(outer) == len(within) and own < min(outer) for own, outer in depths)


def call_function(
    m: Walker,
    function: Function,
    positional: Sequence[Value],
    keywords: dict[str, Value],
    is_open: bool,
    node: ast.AST | None,
    is_called: bool = True,
) -> Value:
    """Walk the body of a function of the program with these arguments, and return what it returns.

    With `is_open`, parameters that are not given are not known; a default is then only a default. What is decorated so that it runs once
    for the same arguments does so.
    """
    if not (is_called and ((function.born,) in m.kept or keeps_results(m, function))):
        return _walk(m, function, positional, keywords, is_open, node, is_called)
    given = tuple(one.value for one in positional if isinstance(one, Known))
    named = tuple((name, one.value) for name, one in keywords.items() if isinstance(one, Known))
    is_bare = len(given) == 1 and not named and type(given[0]) in (int, str)  # as Python tells 1 from 1.0 and True there, and only there
    key = (function.born, given[0] if is_bare else (given, named))
    before = m.kept.get(key)
    is_told = not is_open and len(given) + len(named) == len(positional) + len(keywords) and (function.born,) not in m.kept
    if isinstance(before, Unknown) or not is_told:
        result: Value = UNKNOWN
        implicit.called(m, [*positional, *keywords.values()], implicit.COMPARING)
        m.store.write(m.kept, (function.born,), UNKNOWN)  # from here on it may have run for any arguments
        with m.perhaps():
            result = _walk(m, function, positional, keywords, is_open, node, is_called)
        m.store.lose(result)
        return result if isinstance(result, Symbol) else UNKNOWN
    if before is None:
        before = settled(_walk(m, function, positional, keywords, is_open, node, is_called))
        m.store.write(m.kept, key, before)
    return before


def keeps_results(m: Walker, function: Function) -> bool:
    """Return whether a function is decorated so that it runs once for the same arguments; one that may forget some is noted as such."""
    found = [one for one in function.decorators if isinstance(one, (Symbol, Instance)) and one.name in m.platform.keepers]
    calls = [one.call for one in found if isinstance(one, Instance) and one.call is not None]
    sizes = [one for call in calls for one in call.given]
    is_unknown = any(isinstance(one, Unknown) or (isinstance(one, Instance) and one.name[:1] == "?") for one in function.decorators)
    if is_unknown or not all(isinstance(one, Known) and (one.value is None or one.value >= MOST_KEPT) for one in sizes):
        m.kept[function.born,] = UNKNOWN
    return is_unknown or bool(found)


def _walk(
    m: Walker,
    function: Function,
    positional: Sequence[Value],
    keywords: dict[str, Value],
    is_open: bool,
    node: ast.AST | None,
    is_called: bool,
) -> Value:
    functions = m.context.functions
    given = (function, *positional, *keywords.values())
    measured = [*positional[:2], Items("tuple", dict(enumerate(keywords.values())))]
    is_left = len(functions) >= DEEPEST_CALL or (m.is_exhausted and id(function.node) in m.analysed)
    if is_left or _is_within_itself(m, function, measured):
        effects.not_followed(m, given)
        m.facts.uses.not_followed.add(function.node)
        return UNKNOWN
    if not m.is_silent:
        m.analysed.add(id(function.node))
    frame = m.new_frame(function.frame, own_names(function.node))
    _bind_parameters(m, function, frame, positional, keywords, is_open or not is_called, node)
    before = m.frame
    m.frame = frame
    is_later = is_called and (isinstance(function.node, ast.AsyncFunctionDef) or effects.is_generator(function.node))
    ways = marks(m)
    if is_later:
        m.store.begin()
        yielded, begun, m.yields, m.begun = m.yields, m.begun, [], count_made()
    outer = m.context
    m.context = outer.entered(function.node, function.decorators, is_called, node)
    m.running.append((function.node, measured))
    try:
        if isinstance(function.node, ast.Lambda):
            return m.value(function.node.body)
        result = _body_result(m, function.node)
        if is_later:
            m.store.lose(result)
            result = generated([known for _, known in m.yields])
        return result
    finally:
        m.frame, m.context = before, outer
        m.running.pop()
        if is_later:
            m.is_dead, m.yields, m.begun = False, yielded, begun
            cut(m, ways)
            written = m.store.undo()
            effects.never_sure_again(m, {at: one for at, one in written.items() if one[0] is not frame.slots})
            effects.not_followed(m, given, is_lasting=True)


def own_names(node: FunctionNode) -> frozenset[str]:
    """Return the names that are a function's own, as it binds them somewhere."""
    known = vars(node)  # the runs of a project walk the same nodes
    if "own_names" not in known:
        found: set[str] = set()
        outside: set[str] = set()
        stack: list[ast.AST] = [] if isinstance(node, ast.Lambda) else list(node.body)
        while stack:
            one = stack.pop()
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(one.name)
                continue
            if isinstance(one, (ast.Global, ast.Nonlocal)):
                outside.update(one.names)
            elif isinstance(one, ast.Name):
                found.add(one.id)
            elif isinstance(one, ast.ExceptHandler) and one.name:
                found.add(one.name)
            elif isinstance(one, (ast.Import, ast.ImportFrom)):
                found.update(alias.asname or alias.name.split(".")[0] for alias in one.names)
            stack += assigning(one)
        known["own_names"] = frozenset(found - outside)
    names: frozenset[str] = known["own_names"]
    return names


def _body_result(m: Walker, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
    """Walk the body of a function, and return what it returns; what holds then is what holds on every path on which it returns."""
    target = Exit(("return",), len(m.store.journals))
    m.exits.append(target)
    m.store.begin()
    is_kept = True
    try:
        leaves = m.execute_block(m, node.body)
        is_kept = not target.paths
    finally:
        m.exits.pop()
        if is_kept:
            m.store.keep()
        else:
            written = m.store.undo()
    paths = target.paths if leaves else [Departure("return", "", Known(None, node), {} if is_kept else written), *target.paths]
    if not is_kept:
        m.store.merge(*(path.writes for path in paths))
    if not paths and m.is_in_try:
        m.is_dead = True
    values = [path.value for path in paths]
    result = join_all(values)
    if isinstance(result, Unknown):
        m.store.lose((dict(enumerate(values)), True))
    return result


def _keeps_parameters(decorator: Value) -> bool:
    """Return whether a decorator is the program's own, or one of Python's that say what a method gets: no other one calls the function."""
    if isinstance(decorator, Symbol):
        return decorator.name.startswith("builtins.")
    return isinstance(decorator, (Function, Class, Bound)) or (isinstance(decorator, Instance) and decorator.cls is not None)


def _bind_parameters(
    m: Walker,
    function: Function,
    frame: Frame,
    positional: Sequence[Value],
    keywords: dict[str, Value],
    is_open: bool,
    node: ast.AST | None,
) -> None:
    parameters = function.node.args
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    bound: dict[str, Value] = dict(zip(names, positional, strict=False))
    rest = list(positional[len(names) :])
    extra = {}
    for name, value in keywords.items():
        if name in names[len(parameters.posonlyargs) :] or any(name == parameter.arg for parameter in parameters.kwonlyargs):
            bound[name] = value
        else:
            extra[name] = value
    is_sure = isinstance(node, ast.Call) and not is_open and all(map(_keeps_parameters, function.decorators))
    is_given_twice = len(bound) < len(keywords) - len(extra) + min(len(positional), len(names))
    if is_sure and (is_given_twice or (rest and parameters.vararg is None) or (extra and parameters.kwarg is None)):
        raise Raised("TypeError")
    defaults = dict(zip(names[len(names) - len(function.defaults) :], function.defaults, strict=False))
    for parameter, default in zip(parameters.kwonlyargs, function.keyword_defaults, strict=False):
        names.append(parameter.arg)
        if default is not None:
            defaults[parameter.arg] = default
    for parameter in parameters.kwonlyargs[len(function.keyword_defaults) :]:
        names.append(parameter.arg)
    options = stubs.given_by_decorators(m, function)
    for name in names:
        if name not in bound:
            if is_sure and name not in defaults and name not in options:
                raise Raised("TypeError")
            given = options.get(name, defaults.get(name, UNKNOWN))
            bound[name] = weakened(given) if is_open and name not in options else given
    if parameters.vararg is not None:
        bound[parameters.vararg.arg] = Items("tuple", dict(enumerate(rest)), None, is_open)
    if parameters.kwarg is not None:
        written = {one.arg: one.value for one in node.keywords} if isinstance(node, ast.Call) else {}
        bound[parameters.kwarg.arg] = Mapping({name: DictEntry(value, written.get(name)) for name, value in extra.items()}, None, is_open)
    # Python itself reads no annotation: a decorator may, or what calls the function from outside (`typer.run(main)`).
    is_checked = bool(m.instead) and (bool(function.decorators) or node is None)
    for parameter in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs) if is_checked else ():
        listed.hold(m, parameter.annotation, bound.get(parameter.arg, UNKNOWN))
    frame.slots.update({name: settled(value) for name, value in bound.items()})
