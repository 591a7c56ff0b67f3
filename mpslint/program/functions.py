"""Functions of the program: their bodies are walked with the values that a call gives them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.joined import join_all
from mpslint.facts.values import (
    UNKNOWN,
    DictEntry,
    Frame,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    Value,
    weakened,
)
from mpslint.program import commands, config_files
from mpslint.program.machine import DEEPEST_CALL, Walker

DEEPEST_SETTINGS = 3
"""Objects of settings within one another whose constructor is followed."""


def _composed(m: Walker, function: Function) -> Value | None:
    """Return the configuration that a decorator (`@hydra.main(...)`) gives a function; None where none does."""
    for decorator in function.decorators:
        call = decorator.call if isinstance(decorator, Instance) else None
        if call is not None and m.platform.typed_commands.intersection(call.names):
            return commands.typed_parameter(m, function)
        if call is None or not m.platform.composers.intersection(call.names):
            continue
        if "config_path" not in call.keywords and not call.arguments:
            return commands.typed_parameter(m, function)
        given = [call.keywords[name].value if name in call.keywords else UNKNOWN for name in ("config_path", "config_name")]
        texts = [value.value for value in given if isinstance(value, Known) and isinstance(value.value, str)]
        config = m.project.compose_config(m, texts[0], texts[1]) if len(texts) == 2 and m.project is not None else None
        return config_files.as_object(config) if isinstance(config, Mapping) else None
    return None


def _own_depth(function: Function) -> int:
    """Return how often a function may run within itself: a constructor of settings makes an object for each dict in a dict."""
    is_plain = function.cls is not None and all(one in ("builtins.dict", "builtins.object") for one in function.cls.outside_bases())
    return DEEPEST_SETTINGS if is_plain and function.name == "__init__" else 0


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

    With `is_open`, parameters that are not given are not known; a default is then only a default.
    """
    functions = m.context.functions
    if (
        functions.count(function.node) > _own_depth(function)
        or len(functions) >= DEEPEST_CALL
        or (m.is_exhausted and id(function.node) in m.analysed)
    ):
        return UNKNOWN
    if is_called and not m.relevance.is_worth_following(function, (*positional, *keywords.values())):
        return UNKNOWN
    if not m.is_silent:
        m.analysed.add(id(function.node))
    frame = m.new_frame(function.frame)
    _bind_parameters(m, function, frame, positional, keywords, is_open or not is_called, node)
    before = m.frame
    m.frame = frame
    outer = m.context
    m.context = outer.entered(function.node, function.decorators, is_called, node)
    try:
        if isinstance(function.node, ast.Lambda):
            result = m.value(function.node.body)
        else:
            m.returns.append([])
            leaves = _walk_body(m, function.node.body)
            returned = m.returns.pop()
            if not leaves:
                returned.append(Known(None, function.node))
            result = join_all(returned)
            if isinstance(function.node, ast.AsyncFunctionDef) or id(function.node) in m.generators:
                result = UNKNOWN
    finally:
        m.frame, m.context = before, outer
    return result


def _walk_body(m: Walker, body: Sequence[ast.stmt]) -> bool:
    """Walk the statements of a function, and return whether the path leaves; a return that may have come before changes what they write."""
    outer, m.departed = m.departed, []
    context, opened = m.context, []
    leaves = False
    try:
        for statement in body:
            leaves = m.execute_one(m, statement)
            if leaves:
                break
            if m.departed:  # what follows is one way, and what returned is another
                opened.append(m.departed)
                m.departed = []
                m.store.begin()
    finally:
        for departed in reversed(opened):
            m.store.merge(m.store.undo(), *departed)
        m.departed, m.context = outer, context
    return leaves


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
        if name in names or any(name == parameter.arg for parameter in parameters.kwonlyargs):
            bound[name] = value
        else:
            extra[name] = value
    defaults = dict(zip(names[len(names) - len(function.defaults) :], function.defaults, strict=False))
    for parameter, default in zip(parameters.kwonlyargs, function.keyword_defaults, strict=False):
        names.append(parameter.arg)
        if default is not None:
            defaults[parameter.arg] = default
    for parameter in parameters.kwonlyargs[len(function.keyword_defaults) :]:
        names.append(parameter.arg)
    options = commands.option_values(m, function)
    if names and names[0] not in bound and (composed := _composed(m, function)) is not None:
        bound[names[0]] = composed
    for name in names:
        if name not in bound:
            given = defaults.get(name, options.get(name, UNKNOWN))
            bound[name] = weakened(given) if is_open and name not in options else given
    if parameters.vararg is not None:
        bound[parameters.vararg.arg] = Items("tuple", dict(enumerate(rest)), None, is_open)
    if parameters.kwarg is not None:
        written = {one.arg: one.value for one in node.keywords} if isinstance(node, ast.Call) else {}
        bound[parameters.kwarg.arg] = Mapping({name: DictEntry(value, written.get(name)) for name, value in extra.items()}, None, is_open)
    frame.slots.update(bound)
